// An operator signed in on the admin listener: a cookie whose hash names a record of twelve hours. The session ends with the sign-out, and
// when the token or the list of operators changes.
import { hash, randomBytes } from "node:crypto";
import type { GatewayRequest } from "../../../core/endpoint.ts";
import { isRecord, stringOf } from "../../../core/json.ts";
import type { Records } from "../../../platform/records/records.ts";
import { cookieOf, maskedCsrf, SESSION_SECONDS } from "../../oauth/sessions.ts";

const KIND = "operator-session";
const TOKEN_BYTES = 32;
const COOKIE = "tollgate_console";

/** The acting operator. */
export interface Operator {
  readonly name: string;
  /** The OpenID provider proved the name; otherwise it was typed at the sign-in, and several persons may share one token. */
  readonly isProven: boolean;
}

export interface OperatorSession extends Operator {
  readonly csrf: string;
}

/** A session ends when any of this changes. */
export interface SessionsOf {
  readonly adminToken: string;
  /** The claims that admit operators of the OpenID provider, as text. */
  readonly operators: string;
  /** Our own URL. */
  readonly base: () => string;
}

export interface OperatorSessions {
  /** The session cookie to set. Ends the session of the request, if any. */
  begin(request: GatewayRequest, operator: Operator): Promise<string>;
  of(request: GatewayRequest): Promise<OperatorSession | null>;
  /** The header that deletes the cookie. */
  end(request: GatewayRequest): Promise<string>;
}

export function createOperatorSessions(
  records: Records,
  { adminToken, operators, base }: SessionsOf,
): OperatorSessions {
  const hintOf = (text: string) => hash("sha256", text, "hex").slice(0, 16);
  const byToken = hintOf(`console ${adminToken}`);
  const byProvider = hintOf(`console ${adminToken} ${operators}`);
  // Strict: a link from another site cannot open the console of a signed-in operator.
  const cookie = (request: GatewayRequest, token: string, seconds: number) => {
    const from = request.headers.get("origin") ?? base();
    const secure = from.startsWith("https:") ? "; Secure" : "";
    return `${COOKIE}=${token}; Path=/console; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`;
  };
  const idOf = (request: GatewayRequest) => {
    const token = cookieOf(request, COOKIE);
    return token === null || token === "" ? null : hash("sha256", token, "hex");
  };
  const forget = async (request: GatewayRequest) => {
    const id = idOf(request);
    if (id !== null) await records.delete(KIND, id);
  };
  return {
    async begin(request, { name, isProven }) {
      await forget(request);
      const token = randomBytes(TOKEN_BYTES).toString("base64url");
      const hint = isProven ? byProvider : byToken;
      const value = JSON.stringify({ name, csrf: randomBytes(TOKEN_BYTES).toString("base64url"), hint });
      const id = hash("sha256", token, "hex");
      await records.put({ kind: KIND, id, payer: null, value, ttlMs: SESSION_SECONDS * 1_000, ifVersion: 0 });
      return cookie(request, token, SESSION_SECONDS);
    },
    async of(request) {
      const id = idOf(request);
      const kept = id === null ? null : await records.get(KIND, id);
      const value: unknown = kept === null ? null : JSON.parse(kept.value);
      if (!isRecord(value) || (value.hint !== byToken && value.hint !== byProvider)) return null;
      const csrf = maskedCsrf(stringOf(value.csrf) ?? "");
      return { name: stringOf(value.name) ?? "", csrf, isProven: value.hint === byProvider };
    },
    async end(request) {
      await forget(request);
      return cookie(request, "", 0);
    },
  };
}
