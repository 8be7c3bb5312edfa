// The pages on which a person signs in and sets what a client may spend: forms in the common page frame.
import type { ConsentPage, Page, Pages } from "../oauth/pages.ts";
import { type Html, html } from "./html.ts";
import { type Field, field, PERIODS, postForm } from "./kit/forms.ts";
import { contentSecurityPolicy, pageText } from "./kit/page.ts";
import { problem as problemShown } from "./kit/shown.ts";

const DAYS = [
  ["1", "tomorrow"],
  ["30", "30 days from now"],
  ["90", "90 days from now"],
  ["365", "a year from now"],
] as const;

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
  const fields = [
    { name: "dollars", label: "Spending limit", note: "dollars", type: "number", value: "1", required: true },
    { name: "period", label: "in", options: PERIODS },
    { name: "what", label: "on", options: choices.map(({ id, words }) => [id, words] as const) },
    { name: "days", label: "until", value: "30", options: DAYS },
    { name: "label", label: "Name of the key", value: client.name, required: true },
  ] as const satisfies readonly Field[];
  const body = html`${problemShown(problem)}
<form method="post" action="${action}"><input type="hidden" name="csrf" value="${csrf}">${code}
<div class="fields">${fields.map((one) => field(one))}</div>
<div class="buttons"><button name="decision" value="allow">Allow</button><button class="plain" name="decision" value="deny" formnovalidate>Refuse</button></div></form>
<p class="soft">You can pause, change or revoke it at any time under Keys.</p>`;
  return pageOf(`${client.name} asks for access to your account`, body, leadsTo);
}

const plainForm = (action: string, csrf: string, words: string, hidden: Readonly<Record<string, string>> = {}) =>
  postForm({ action, csrf, act: "", hidden }, [], words, { kind: "plain" });

/** The provider's people linked to the account, and how to link another. */
function links({ host, linked }: NonNullable<Parameters<Pages["signedIn"]>[0]["provider"]>, csrf: string): Html {
  const rows = linked.map(
    ({ id, words }) =>
      html`<p><code>${words}</code> signs in with ${host}. ${plainForm("/sign-in/oidc/unlink", csrf, "Remove", { id })}</p>`,
  );
  return html`${rows}<p>${plainForm("/sign-in/oidc/link", csrf, `Link your sign-in at ${host}`)}</p>`;
}

/** Renders the pages; `home`: where to continue after a sign-in without a destination. */
export function personPages(home: string): Pages {
  const own = home === "/sign-in" ? "" : html`<p><a href="${home}">Open its pages</a></p>`;
  return {
    consent,
    signIn: ({ next, problem, provider }) =>
      pageOf(
        "Sign in",
        html`${problemShown(problem)}${provider === null ? "" : html`<p><a class="button" href="/sign-in/oidc?next=${encodeURIComponent(next)}">Sign in with ${provider.host}</a></p>`}
<form method="post" action="/sign-in"><input type="hidden" name="next" value="${next}">
<label for="key">Primary key of your account</label>
<input id="key" name="key" type="password" autocomplete="current-password" placeholder="tg_sk_..." required autofocus spellcheck="false">
<div class="buttons"><button>Sign in</button></div></form>
<p class="soft">You stay signed in for twelve hours, in this browser.</p>`,
      ),
    userCode: ({ problem }) =>
      pageOf(
        "Connect a device",
        html`${problemShown(problem)}<form method="get" action="/oauth/device">${field({ name: "user_code", label: "Code on the device", placeholder: "XXXX-XXXX", required: true })}<div class="buttons"><button>Continue</button></div></form>`,
      ),
    message: ({ title, words }) => pageOf(title, html`<p>${words}</p>`),
    goOn: ({ to, host }) =>
      pageOf(
        "One more step",
        html`<p>${host} tells us who you are. <a class="button" href="${to}">Continue to ${host}</a></p>`,
      ),
    signedIn: ({ csrf, accountId, provider }) =>
      pageOf(
        "You are signed in",
        html`<p>Your account is <code>${accountId}</code>.</p>${own}${provider === null ? "" : links(provider, csrf)}${plainForm("/sign-out", csrf, "Sign out")}`,
      ),
  };
}
