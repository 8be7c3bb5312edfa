// The pages on which a person signs in and sets what a client may spend, and the check that a form came from one of them.
import type { KeyLimits } from "../../core/account-rows.ts";
import type { Answer, GatewayRequest } from "../../core/endpoint.ts";
import { type Answering, fieldsOf, isForeign, pageAnswer, toSignIn } from "../oauth/forms.ts";
import type { Linked } from "../oauth/identities.ts";
import type { OpenIdProvider } from "../oauth/openid-provider.ts";
import type { Asking } from "../oauth/server.ts";
import { isCsrf, type Session } from "../oauth/sessions.ts";
import { type Html, html } from "../web/html.ts";
import { type Field, field, PERIODS, postForm } from "../web/kit/forms.ts";
import { contentSecurityPolicy, pageText } from "../web/kit/page.ts";
import { problem as problemShown } from "../web/kit/shown.ts";
import type { PeopleParts } from "./oauth.ts";

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

function page(title: string, body: Html, status = 200, leadsTo: string | null = null): Answer {
  const text = pageText({ title, isNarrow: true }, html`<div class="card">${body}</div>`);
  return pageAnswer({ text, contentSecurityPolicy: contentSecurityPolicy(placeOf(leadsTo)) }, status);
}

export function messagePage(title: string, words: string, status = 200): Answer {
  return page(title, html`<p>${words}</p>`, status);
}

/** One option for what a client may call, as a person reads it: "models and search". */
export interface Choice extends Pick<KeyLimits, "services" | "models"> {
  readonly id: string;
  readonly words: string;
}

export interface ConsentForm extends Asking {
  readonly action: string;
  /** The code that a device shows, to compare; null: the client is not a device. */
  readonly userCode: string | null;
}

export function consentPage(
  { client, action, userCode, leadsTo }: ConsentForm,
  choices: readonly Choice[],
  csrf: string,
  problem: string | null = null,
): Answer {
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
  return page(`${client.name} asks for access to your account`, body, problem === null ? 200 : 400, leadsTo);
}

const plainForm = (action: string, csrf: string, words: string, hidden: Readonly<Record<string, string>> = {}) =>
  postForm({ action, csrf, act: "", hidden }, [], words, { kind: "plain" });

type Provider = Pick<OpenIdProvider, "host"> | null;

export function signInPage(next: string, provider: Provider, problem: string | null = null): Answer {
  const other =
    provider === null
      ? ""
      : html`<p><a class="button" href="/sign-in/oidc?next=${encodeURIComponent(next)}">Sign in with ${provider.host}</a></p>`;
  const body = html`${problemShown(problem)}${other}
<form method="post" action="/sign-in"><input type="hidden" name="next" value="${next}">
<label for="key">Primary key of your account</label>
<input id="key" name="key" type="password" autocomplete="current-password" placeholder="tg_sk_..." required autofocus spellcheck="false">
<div class="buttons"><button>Sign in</button></div></form>
<p class="soft">You stay signed in for twelve hours, in this browser.</p>`;
  return page("Sign in", body, problem === null ? 200 : 401);
}

/** `home`: where to continue; `linked`: the provider's people who can sign in to the account. */
export function signedInPage(
  { csrf, accountId }: Session,
  home: string,
  provider: Provider,
  linked: readonly Linked[],
): Answer {
  const own = home === "/sign-in" ? "" : html`<p><a href="${home}">Open its pages</a></p>`;
  const rows = linked.map(
    ({ id, words }) =>
      html`<p><code>${words}</code> signs in with ${provider?.host ?? ""}. ${plainForm("/sign-in/oidc/unlink", csrf, "Remove", { id })}</p>`,
  );
  const link = `Link your sign-in at ${provider?.host}`;
  const links = provider === null ? "" : html`${rows}<p>${plainForm("/sign-in/oidc/link", csrf, link)}</p>`;
  return page(
    "You are signed in",
    html`<p>Your account is <code>${accountId}</code>.</p>${own}${links}${plainForm("/sign-out", csrf, "Sign out")}`,
  );
}

export function userCodePage(problem: string | null = null): Answer {
  const code = field({ name: "user_code", label: "Code on the device", placeholder: "XXXX-XXXX", required: true });
  const form = html`<form method="get" action="/oauth/device">${code}<div class="buttons"><button>Continue</button></div></form>`;
  return page("Connect a device", html`${problemShown(problem)}${form}`, problem === null ? 200 : 404);
}

export function goOnPage(to: string, host: string): Answer {
  const body = html`<p>${host} tells us who you are. <a class="button" href="${to}">Continue to ${host}</a></p>`;
  return page("One more step", body);
}

export function foreignForm(base: string): Answer {
  return messagePage("This form came from elsewhere", `Nothing was done. Open the page anew, at ${base}.`, 403);
}

/** A form of a signed-in person, with the token that only our pages have. */
export function signedForm(
  { sessions, base }: Pick<PeopleParts, "sessions" | "base">,
  change: (request: GatewayRequest, session: Session) => Promise<Answer>,
): Answering {
  return async (request) => {
    const session = await sessions.of(request);
    if (session === null) return toSignIn(request);
    const isOurs = !isForeign(request, base()) && isCsrf(session, fieldsOf(request.body).csrf);
    return isOurs ? change(request, session) : foreignForm(base());
  };
}
