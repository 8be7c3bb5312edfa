// The operator's sign-in: the admin token, valid for twelve hours, and a name for the log of changes.
import type { Answer, EndpointSpec, GatewayRequest } from "../../../core/endpoint.ts";
import { browserEndpoint, fieldsOf, ownPath, seeOther, tooOften } from "../../oauth/forms.ts";
import { isCsrf } from "../../oauth/sessions.ts";
import { html } from "../html.ts";
import { field } from "../kit/forms.ts";
import { pageAnswer } from "../kit/page.ts";
import type { Door } from "../kit/sections.ts";
import { problem } from "../kit/shown.ts";
import { OPENID_SIGN_IN, type OperatorDoor, openIdSignIn } from "./openid-sign-in.ts";
import type { OperatorSessions } from "./operator-sessions.ts";

const SIGN_INS_PER_MINUTE = 10;
const NAME_CHARS_MAX = 60;
const HOME = "/console";

export interface SignInParts {
  readonly sessions: OperatorSessions;
  readonly isAdmin: (authorization: string) => boolean;
  /** Counts in this minute's window; false: the limit is reached. */
  readonly take: (what: string, limit: number) => Promise<boolean>;
  readonly addressKey: (address: string) => string;
  readonly operators: OperatorDoor | null;
}

/** Whether a form came from a page of the host that it was sent to. */
export function isOwnOrigin({ headers }: GatewayRequest): boolean {
  const origin = headers.get("origin");
  return origin !== undefined && URL.canParse(origin) && new URL(origin).host === headers.get("host");
}

function page({ operators }: SignInParts, next: string, wrong: string | null): Answer {
  const other =
    operators === null
      ? ""
      : html`<p><a class="button" href="${OPENID_SIGN_IN}?next=${encodeURIComponent(next)}">Sign in with ${operators.provider.host}</a></p>`;
  const body = html`<div class="card">${problem(wrong)}${other}<form method="post" action="/console/sign-in"><input type="hidden" name="next" value="${next}">
${field({ name: "token", label: "Admin token", note: "data/admin.token", type: "password", required: true, placeholder: "tg_admin_..." })}
${field({ name: "name", label: "Your name", note: "for the log of changes", value: "", placeholder: "operator" })}
<div class="buttons"><button>Sign in</button></div></form></div><p class="soft">You stay signed in for twelve hours, in this browser.</p>`;
  return pageAnswer({ title: "Operator console", isNarrow: true }, body, wrong === null ? 200 : 401);
}

async function signIn(parts: SignInParts, request: GatewayRequest) {
  const { sessions, isAdmin, take, addressKey } = parts;
  const { token = "", name = "", next } = fieldsOf(request.body);
  const to = ownPath(next, HOME);
  if (!isOwnOrigin(request)) return page(parts, to, "This form came from another site. Sign in here.");
  if (!(await take(`console ${addressKey(request.address)}`, SIGN_INS_PER_MINUTE))) {
    throw tooOften(SIGN_INS_PER_MINUTE);
  }
  if (!isAdmin(`Bearer ${token.trim()}`))
    return page(parts, to, "This is not the admin token of this gateway. Copy it from data/admin.token.");
  const typed = name.trim().slice(0, NAME_CHARS_MAX);
  return seeOther(to, [await sessions.begin(request, { name: typed === "" ? "operator" : typed, isProven: false })]);
}

export function operatorSignIn(parts: SignInParts, door: Door): readonly EndpointSpec[] {
  return [
    ...(parts.operators === null ? [] : openIdSignIn(parts.operators, parts.sessions)),
    browserEndpoint("GET", "/console/sign-in", async (request) =>
      page(parts, ownPath(request.query.get("next"), HOME), null),
    ),
    browserEndpoint("POST", "/console/sign-in", (request) => signIn(parts, request)),
    browserEndpoint("POST", "/console/sign-out", async (request) => {
      const session = await parts.sessions.of(request);
      const isOurs = session !== null && isOwnOrigin(request) && isCsrf(session, fieldsOf(request.body).csrf);
      return isOurs ? seeOther("/console/sign-in", [await parts.sessions.end(request)]) : door.toSignIn(request);
    }),
  ];
}
