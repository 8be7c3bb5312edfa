// An operator signed in on the admin listener: a cookie whose hash names a record of twelve hours. The session ends with the sign-out, and
// when the token or the list of operators changes.
import { hash } from "node:crypto";
import type { GatewayRequest } from "../../../core/endpoint.ts";
import { stringOf } from "../../../core/json.ts";
import type { Records } from "../../../platform/records/records.ts";
import { cookieSessions } from "../../oauth/sessions.ts";

const COOKIE = "tollgate_console";

export interface Operator {
  readonly name: string;
  /** The OpenID provider proved the name; otherwise it was typed at the sign-in, and several persons may share one token. */
  readonly isProven: boolean;
}

export type OperatorSessions = ReturnType<typeof createOperatorSessions>;

/** `operators`: the claims that admit operators of the OpenID provider, as text. A session ends when they or the token change. */
export function createOperatorSessions(records: Records, adminToken: string, operators: string, base: () => string) {
  const hintOf = (text: string) => hash("sha256", text, "hex").slice(0, 16);
  const byToken = hintOf(`console ${adminToken}`);
  const byProvider = hintOf(`console ${adminToken} ${operators}`);
  const kept = cookieSessions(records, "operator-session", {
    name: () => COOKIE,
    // Strict: a link from another site cannot open the console of a signed-in operator.
    cookie: (request, token, seconds) => {
      const from = request.headers.get("origin") ?? base();
      const secure = from.startsWith("https:") ? "; Secure" : "";
      return `${COOKIE}=${token}; Path=/console; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`;
    },
  });
  return {
    end: kept.end,
    /** The session cookie to set. Ends the session of the request, if any. */
    begin: (request: GatewayRequest, { name, isProven }: Operator) =>
      kept.begin(request, { name, hint: isProven ? byProvider : byToken }),
    async of(request: GatewayRequest) {
      const found = await kept.of(request);
      if (found === null || (found.hint !== byToken && found.hint !== byProvider)) return null;
      return { name: stringOf(found.name) ?? "", csrf: found.csrf, isProven: found.hint === byProvider };
    },
  };
}
