// The pages on which a person signs in and sets what a client may spend: forms in the common page frame.
import type { ConsentPage, Page, Pages } from "../oauth/pages.ts";
import { type Html, html } from "./html.ts";
import { contentSecurityPolicy, pageText } from "./kit/page.ts";
import { problem as problemShown } from "./kit/shown.ts";

/** Browsers apply the page's form policy to the redirect after the form too, so the policy must contain the client's own URL. */
function placeOf(leadsTo: string | null): string {
  const url = leadsTo === null ? null : URL.parse(leadsTo);
  if (url === null) return "";
  return url.protocol.startsWith("http") ? ` ${url.origin}` : ` ${url.protocol}`;
}

function pageOf(title: string, body: Html, leadsTo: string | null = null): Page {
  return {
    text: pageText({ title, isNarrow: true }, html`<div class="card">${body}</div>`),
    contentSecurityPolicy: contentSecurityPolicy(placeOf(leadsTo)),
  };
}

function consent({ client, choices, csrf, action, userCode, leadsTo, problem }: ConsentPage): Page {
  const code =
    userCode === null
      ? html`<p class="soft">The answer goes to <code>${client.place}</code>. If you did not start this, refuse.</p>`
      : html`<p>Your device shows the code <strong><code>${userCode}</code></strong>. If it shows another code, or you did not start this, refuse.</p><input type="hidden" name="user_code" value="${userCode}">`;
  const what = choices.map(({ id, words }) => html`<option value="${id}">${words}</option>`);
  const body = html`${problemShown(problem)}
<form method="post" action="${action}">
<input type="hidden" name="csrf" value="${csrf}">
${code}
<label for="dollars">Spending limit in dollars</label>
<div class="fields"><input id="dollars" name="dollars" inputmode="decimal" value="1" required pattern="[0-9]{1,7}([.][0-9]{1,2})?">
<select name="period" aria-label="In each"><option value="day">a day</option><option value="week">a week</option><option value="month">a month</option></select></div>
<label for="what">on</label>
<select id="what" name="what">${what}</select>
<label for="days">until</label>
<select id="days" name="days"><option value="1">tomorrow</option><option value="30" selected>30 days from now</option><option value="90">90 days from now</option><option value="365">a year from now</option></select>
<label for="label">Name of the key</label>
<input id="label" name="label" value="${client.name}" maxlength="100" required>
<div class="buttons"><button name="decision" value="allow">Allow</button><button class="plain" name="decision" value="deny" formnovalidate>Refuse</button></div>
</form>
<p class="soft">You can pause, change or revoke it at any time under Keys.</p>`;
  return pageOf(`${client.name} asks for access to your account`, body, leadsTo);
}

/** The provider's people linked to the account, and how to link another. */
function links({ host, linked }: NonNullable<Parameters<Pages["signedIn"]>[0]["provider"]>, csrf: string): Html {
  const rows = linked.map(
    ({ id, words }) =>
      html`<form method="post" action="/sign-in/oidc/unlink"><input type="hidden" name="csrf" value="${csrf}"><input type="hidden" name="id" value="${id}"><p><code>${words}</code> signs in to it by ${host}. <button class="plain">Remove</button></p></form>`,
  );
  return html`${rows}
<form method="post" action="/sign-in/oidc/link"><input type="hidden" name="csrf" value="${csrf}"><div class="buttons"><button class="plain">Link your sign-in at ${host}</button></div></form>`;
}

/** Renders the pages; `home`: where to continue after a sign-in without a destination. */
export function personPages(home: string): Pages {
  const own = home === "/sign-in" ? "" : html`<p><a href="${home}">Its page</a></p>`;
  return {
    consent,
    signIn: ({ next, problem, provider }) =>
      pageOf(
        "Sign in",
        html`${problemShown(problem)}${provider === null ? "" : html`<p><a class="button" href="/sign-in/oidc?next=${encodeURIComponent(next)}">Sign in by ${provider.host}</a></p>`}
<form method="post" action="/sign-in">
<input type="hidden" name="next" value="${next}">
<label for="key">Primary key of your account</label>
<input id="key" name="key" type="password" autocomplete="current-password" placeholder="tg_sk_..." required autofocus spellcheck="false">
<div class="buttons"><button>Sign in</button></div>
</form>
<p class="soft">You stay signed in for twelve hours, in this browser.</p>`,
      ),
    userCode: ({ problem }) =>
      pageOf(
        "Connect a device",
        html`${problemShown(problem)}
<form method="get" action="/oauth/device">
<label for="user_code">Code on the device</label>
<input id="user_code" name="user_code" autocomplete="off" autocapitalize="characters" placeholder="XXXX-XXXX" required autofocus spellcheck="false">
<div class="buttons"><button>Go on</button></div>
</form>`,
      ),
    message: ({ title, words }) => pageOf(title, html`<p>${words}</p>`),
    goOn: ({ to, host }) =>
      pageOf(
        "One more step",
        html`<p><a class="button" href="${to}">Go on to ${host}</a>, which says who you are.</p>`,
      ),
    signedIn: ({ csrf, accountId, provider }) =>
      pageOf(
        "You are signed in",
        html`<p>To the account <code>${accountId}</code>.</p>${own}${provider === null ? "" : links(provider, csrf)}
<form method="post" action="/sign-out"><input type="hidden" name="csrf" value="${csrf}"><div class="buttons"><button class="plain">Sign out</button></div></form>`,
      ),
  };
}
