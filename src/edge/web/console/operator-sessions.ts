// An operator who has signed in on the admin listener: a cookie whose hash names a record of twelve hours. It ends with the sign-out, and when the token or the list of operators changes.
import { hash, randomBytes } from "node:crypto";
import type { GatewayRequest } from "../../../core/endpoint.ts";
import { isRecord, stringOf } from "../../../core/json.ts";
import type { Records } from "../../../platform/records/records.ts";
import { cookieOf, SESSION_SECONDS } from "../../oauth/sessions.ts";

const KIND = "operator-session";
const TOKEN_BYTES = 32;
const COOKIE = "tollgate_console";

/** Who acts. */
export interface Operator {
  readonly name: string;
  /** The OpenID provider has said so; else the name was typed at the sign-in, and one token may be several persons'. */
  readonly isProven: boolean;
}

export interface OperatorSession extends Operator {
  readonly csrf: string;
}

/** What a session ends with when it changes. */
export interface SessionsOf {
  readonly adminToken: string;
  /** Who may come by the OpenID provider, as text. */
  readonly operators: string;
  /** Our own address. */
  readonly base: () => string;
}

export interface OperatorSessions {
  /** The cookie that a browser is to keep. A session that the request came with ends. */
  begin(request: GatewayRequest, operator: Operator): Promise<string>;
  of(request: GatewayRequest): Promise<OperatorSession | null>;
  /** The cookie that makes the browser forget. */
  end(request: GatewayRequest): Promise<string>;
}

export function createOperatorSessions(
  records: Records,
  { adminToken, operators, base }: SessionsOf,
): OperatorSessions {
  const hintOf = (text: string) => hash("sha256", text, "hex").slice(0, 16);
  const byToken = hintOf(`console ${adminToken}`);
  const byProvider = hintOf(`console ${adminToken} ${operators}`);
  // Strict: no link from elsewhere opens the console of an operator who has signed in.
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
      const [name, csrf] = [stringOf(value.name) ?? "", stringOf(value.csrf) ?? ""];
      return { name, csrf, isProven: value.hint === byProvider };
    },
    async end(request) {
      await forget(request);
      return cookie(request, "", 0);
    },
  };
}
