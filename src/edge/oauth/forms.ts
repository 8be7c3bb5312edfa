// What the pages for people share: how to return a page, and how to read a form.
import type { Answer, EndpointShape, EndpointSpec, GatewayRequest } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";

const FORM_BYTES_MAX = 16 * 1024;

export type Answering = (request: GatewayRequest) => Promise<Answer>;

export function browserEndpoint(method: EndpointShape["method"], path: string, answer: Answering): EndpointSpec {
  const shape = { method, path, auth: "none", cookies: true, form: true, bodyBytesMax: FORM_BYTES_MAX } as const;
  return Object.assign({ answer: ({ request }: { request: GatewayRequest }) => answer(request) }, shape);
}

/** Of a page for one person: it cannot be framed, and must not reappear after the sign-out. */
const PAGE_HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "cache-control": "no-store",
  "x-frame-options": "DENY",
  // Not "no-referrer": browsers would then send our own forms with a null origin.
  "referrer-policy": "same-origin",
};

export function pageAnswer(
  { text, contentSecurityPolicy }: { readonly text: string; readonly contentSecurityPolicy: string },
  status = 200,
): Answer {
  const headers = { ...PAGE_HEADERS, "content-security-policy": contentSecurityPolicy };
  return { status, body: text, headers };
}

export function seeOther(location: string, cookies: readonly string[] = []): Answer {
  return { status: 303, body: "", headers: { location, "cache-control": "no-store" }, cookies };
}

/** A path on this host to continue at, never another host's URL. */
export function ownPath(next: string | null | undefined, home: string): string {
  return next != null && /^\/(?![/\\])[\w\-./?=&%]{0,300}$/.test(next) ? next : home;
}

export function tooOften(limit: number): GatewayError {
  return new GatewayError("rate_limited", { detail: { limit, window_seconds: 60 }, retryAfterSeconds: 60 });
}

/** Redirects a person to the sign-in, which returns to the requested page. `/sign-out` and the forms beside it have no page. */
export function toSignIn({ path, query }: GatewayRequest, signIn = "/sign-in"): Answer {
  const here = query.size === 0 ? path : `${path}?${query}`;
  return seeOther(/^(\/console)?\/sign-/.test(path) ? signIn : `${signIn}?next=${encodeURIComponent(here)}`);
}

/** Whether a form came from another site, by the origin that the browser sends. */
export function isForeign(request: GatewayRequest, base: string): boolean {
  return request.headers.get("origin") !== new URL(base).origin;
}

/** The fields of a form (application/x-www-form-urlencoded); of repeated names the last counts. */
export function fieldsOf(body: Buffer): Readonly<Record<string, string>> {
  return Object.fromEntries(new URLSearchParams(body.toString("utf8")));
}
