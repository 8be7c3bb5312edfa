// The page on which a person signs in with the account's primary key, and signs out.
import type { Answer, EndpointSpec, GatewayRequest } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import { fieldsOf } from "./choices-form.ts";
import { browserEndpoint, foreign, isForeign, ownPath, pageAnswer, seeOther, signedForm, tooOften } from "./forms.ts";
import type { PeopleParts } from "./oauth.ts";

/** Keys tried from one address per minute; a person needs one. */
const SIGN_INS_PER_MINUTE = 10;

async function signIn(parts: PeopleParts, request: GatewayRequest): Promise<Answer | GatewayError> {
  if (isForeign(request, parts.base())) return foreign(parts);
  const counted = `sign-in ${parts.addressKey(request.address)}`;
  if (!(await parts.take(counted, SIGN_INS_PER_MINUTE))) return tooOften(SIGN_INS_PER_MINUTE);
  const fields = fieldsOf(request.body);
  const next = ownPath(fields.next, parts.home);
  const caller = await parts.authenticate(`Bearer ${fields.key?.trim() ?? ""}`, request);
  if (caller instanceof GatewayError && caller.code !== "invalid_token") return caller;
  // A session may do what the primary key may, so only that key opens one.
  if (caller instanceof GatewayError || !caller.primary) {
    const problem = "This is not the primary key of an account here: the first one, which begins with tg_sk_.";
    return pageAnswer(parts.pages.signIn({ next, problem, provider: parts.openId?.provider ?? null }), 401);
  }
  const { accountId, keyId } = caller.payer;
  return seeOther(next, [await parts.sessions.begin(request, accountId, keyId)]);
}

/** `GET` and `POST /sign-in`, `POST /sign-out`. */
export function signInEndpoints(parts: PeopleParts): readonly EndpointSpec[] {
  const { sessions, pages, openId } = parts;
  return [
    browserEndpoint("GET", "/sign-in", async (request) => {
      const session = await sessions.of(request);
      const provider = openId?.provider ?? null;
      if (session === null) {
        const next = ownPath(request.query.get("next"), parts.home);
        return pageAnswer(pages.signIn({ next, problem: null, provider }));
      }
      const { csrf, accountId } = session;
      const linked = (await openId?.identities.list(accountId)) ?? [];
      return pageAnswer(pages.signedIn({ csrf, accountId, provider: provider && { host: provider.host, linked } }));
    }),
    browserEndpoint("POST", "/sign-in", (request) => signIn(parts, request)),
    browserEndpoint(
      "POST",
      "/sign-out",
      signedForm(parts, async (request) => seeOther("/sign-in", [await sessions.end(request)])),
    ),
  ];
}
