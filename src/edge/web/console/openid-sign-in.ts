// The operator's sign-in with the OpenID provider: admits only people with one of the claims that the settings name.

import type { Answer, EndpointSpec, GatewayRequest } from "../../../core/endpoint.ts";
import type { ClaimRule } from "../../../platform/config.ts";
import { browserEndpoint, ownPath, seeOther } from "../../oauth/forms.ts";
import type { OpenIdProvider, SignedIn } from "../../oauth/openid-provider.ts";
import type { OpenIdWay } from "../../oauth/openid-way.ts";
import { html } from "../html.ts";
import { pageAnswer } from "../kit/page.ts";
import type { OperatorSessions } from "./operator-sessions.ts";

export const OPENID_SIGN_IN = "/console/sign-in/oidc";
export const OPENID_CALLBACK = `${OPENID_SIGN_IN}/callback`;
const HOME = "/console";

export interface OperatorDoor {
  readonly provider: Pick<OpenIdProvider, "host">;
  readonly way: OpenIdWay<{ readonly next: string }>;
  /** Any one of them is enough. */
  readonly rules: readonly ClaimRule[];
  readonly onStranger: (who: SignedIn) => void;
}

/** Whether a person has one of the claims. An e-mail address counts only if the provider has verified it. */
export function isOperator({ subject, email, claims }: SignedIn, rules: readonly ClaimRule[]): boolean {
  return rules.some(({ claim, value }) => {
    if (claim === "sub") return subject === value;
    if (claim === "email") return email?.toLowerCase() === value.toLowerCase();
    const told = Object.hasOwn(claims, claim) ? claims[claim] : undefined;
    return Array.isArray(told) ? told.includes(value) : told === value;
  });
}

function refused(status: number, words: string): Answer {
  const body = html`<div class="card"><p class="problem" role="alert">${words}</p><p><a class="button" href="/console/sign-in">Sign in again</a></p></div>`;
  return pageAnswer({ title: "You are not signed in", isNarrow: true }, body, status);
}

async function end(
  { provider: { host }, way, rules, onStranger }: OperatorDoor,
  sessions: OperatorSessions,
  request: GatewayRequest,
) {
  const ended = await way.end(request);
  if (ended === "lost")
    return refused(400, `${host} sent you back to a sign-in that this browser did not begin. Sign in again.`);
  if (ended === "away") return refused(503, `${host} cannot be reached. Sign in with the admin token, or try again.`);
  if (ended === "refused") return refused(400, `${host} did not say who you are. Sign in again.`);
  const { who, own } = ended;
  if (!isOperator(who, rules)) {
    onStranger(who);
    return refused(403, `${host} knows ${who.email ?? "you"}, but OIDC_OPERATORS does not name you as an operator.`);
  }
  const to = ownPath(own.next, HOME);
  const session = await sessions.begin(request, { name: who.email ?? who.subject, isProven: true });
  // Browsers omit the console's strict cookie on navigations from another site, so this page of our own continues to the console.
  const body = html`<div class="card"><p>${host} says that you are <strong>${who.email ?? who.subject}</strong>.</p><p><a class="button" href="${to}">Continue to the console</a></p></div>`;
  const answer = pageAnswer({ title: "You are signed in", isNarrow: true, again: { seconds: 0, to } }, body);
  return { ...answer, cookies: [session, way.forgotten()] };
}

export function openIdSignIn(door: OperatorDoor, sessions: OperatorSessions): readonly EndpointSpec[] {
  return [
    browserEndpoint("GET", OPENID_SIGN_IN, async (request) => {
      const begun = await door.way.begin(request, { next: ownPath(request.query.get("next"), HOME) });
      return begun === null
        ? refused(503, `${door.provider.host} cannot be reached. Sign in with the admin token, or try again.`)
        : seeOther(begun.url, [begun.cookie]);
    }),
    browserEndpoint("GET", OPENID_CALLBACK, (request) => end(door, sessions, request)),
  ];
}
