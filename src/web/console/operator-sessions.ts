// An operator who has signed in on the admin listener: a cookie whose hash names a record of twelve hours. It ends with the sign-out, and with the token.
import { hash, randomBytes } from "node:crypto";
import type { GatewayRequest } from "../../endpoint.ts";
import { isRecord, stringOf } from "../../json.ts";
import { cookieOf, SESSION_SECONDS } from "../../oauth/sessions.ts";
import type { Records } from "../../records/records.ts";

const KIND = "operator-session";
const TOKEN_BYTES = 32;
const COOKIE = "tollgate_console";

export interface OperatorSession {
  /** Who acts, as it was typed at the sign-in: one token may be several persons'. */
  readonly name: string;
  readonly csrf: string;
}

export interface OperatorSessions {
  /** The cookie that a browser is to keep. A session that the request came with ends. */
  begin(request: GatewayRequest, name: string): Promise<string>;
  of(request: GatewayRequest): Promise<OperatorSession | null>;
  /** The cookie that makes the browser forget. */
  end(request: GatewayRequest): Promise<string>;
}

export function createOperatorSessions(records: Records, adminToken: string): OperatorSessions {
  const hint = hash("sha256", `console ${adminToken}`, "hex").slice(0, 16);
  // Strict: no link from elsewhere opens the console of an operator who has signed in.
  const cookie = (request: GatewayRequest, token: string, seconds: number) => {
    const secure = request.headers.get("origin")?.startsWith("https:") === true ? "; Secure" : "";
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
    async begin(request, name) {
      await forget(request);
      const token = randomBytes(TOKEN_BYTES).toString("base64url");
      const value = JSON.stringify({ name, csrf: randomBytes(TOKEN_BYTES).toString("base64url"), hint });
      const id = hash("sha256", token, "hex");
      await records.put({ kind: KIND, id, payer: null, value, ttlMs: SESSION_SECONDS * 1_000, ifVersion: 0 });
      return cookie(request, token, SESSION_SECONDS);
    },
    async of(request) {
      const id = idOf(request);
      const kept = id === null ? null : await records.get(KIND, id);
      const value: unknown = kept === null ? null : JSON.parse(kept.value);
      if (!isRecord(value) || value.hint !== hint) return null;
      return { name: stringOf(value.name) ?? "", csrf: stringOf(value.csrf) ?? "" };
    },
    async end(request) {
      await forget(request);
      return cookie(request, "", 0);
    },
  };
}
