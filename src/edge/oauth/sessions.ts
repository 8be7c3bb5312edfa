// A signed-in person: a cookie whose hash names a record of twelve hours. A session acts as the account's primary key.
import { hash, randomBytes, timingSafeEqual } from "node:crypto";
import type { GatewayRequest } from "../../core/endpoint.ts";
import { isRecord, stringOf } from "../../core/json.ts";
import type { Books } from "../../money/accounts/books.ts";
import type { Records } from "../../platform/records/records.ts";

const TOKEN_BYTES = 32;
const SESSION_SECONDS = 12 * 3_600;
const COOKIE_CHARS_MAX = 8_192;

export interface Session {
  readonly id: string;
  readonly accountId: string;
  readonly keyId: string;
  /** The masked token that every change must carry, in a field or in `x-csrf-token`. */
  readonly csrf: string;
}

export type Sessions = ReturnType<typeof createSessions>;

/** A request's cookie by name (RFC 6265, 5.4); of duplicates the first counts. */
export function cookieOf(request: Pick<GatewayRequest, "headers">, name: string): string | null {
  const all = (request.headers.get("cookie") ?? "").slice(0, COOKIE_CHARS_MAX).split(";");
  const found = all.map((one) => one.trim()).find((one) => one.startsWith(`${name}=`));
  return found === undefined ? null : found.slice(name.length + 1);
}

/** Masks a session's token anew for each response, so that the size of a compressed page reveals nothing about it (BREACH). */
export function maskedCsrf(csrf: string): string {
  const token = Buffer.from(csrf, "base64url");
  const pad = randomBytes(token.length);
  return Buffer.concat([pad, token.map((byte, at) => byte ^ (pad[at] ?? 0))]).toString("base64url");
}

/** The token behind a masked one. */
export function unmaskedCsrf(masked: string): string {
  const bytes = Buffer.from(masked, "base64url");
  const [pad, token] = [bytes.subarray(0, bytes.length / 2), bytes.subarray(bytes.length / 2)];
  return Buffer.from(token.map((byte, at) => byte ^ (pad[at] ?? 0))).toString("base64url");
}

/** Whether a form's token is the session's; both are masked. */
export function isCsrf({ csrf }: Pick<Session, "csrf">, sent: string | null | undefined): boolean {
  const [wanted, given] = [csrf, sent ?? ""].map((masked) => Buffer.from(unmaskedCsrf(masked))) as [Buffer, Buffer];
  return wanted.length > 0 && wanted.length === given.length && timingSafeEqual(wanted, given);
}

/** Sessions whose cookie's hash names a record of twelve hours. `cookie` returns the header that sets one of this name. */
export function cookieSessions(
  records: Records,
  kind: string,
  { name, cookie }: { name: () => string; cookie(request: GatewayRequest, token: string, seconds: number): string },
) {
  const idOf = (request: GatewayRequest) => {
    const token = cookieOf(request, name());
    return token === null || token === "" ? null : hash("sha256", token, "hex");
  };
  async function forget(request: GatewayRequest): Promise<void> {
    const id = idOf(request);
    if (id !== null) await records.delete(kind, id);
  }
  return {
    async begin(request: GatewayRequest, about: object): Promise<string> {
      await forget(request);
      const [token, csrf] = [1, 2].map(() => randomBytes(TOKEN_BYTES).toString("base64url")) as [string, string];
      const id = hash("sha256", token, "hex");
      const value = JSON.stringify({ ...about, csrf });
      await records.put({ kind, id, payer: null, value, ttlMs: SESSION_SECONDS * 1_000, ifVersion: 0 });
      return cookie(request, token, SESSION_SECONDS);
    },
    /** The details passed to `begin`, and the masked token. */
    async of(request: GatewayRequest): Promise<(Record<string, unknown> & { id: string; csrf: string }) | null> {
      const id = idOf(request);
      const kept = id === null ? null : await records.get(kind, id);
      const value: unknown = kept === null ? null : JSON.parse(kept.value);
      return id === null || !isRecord(value) ? null : { ...value, id, csrf: maskedCsrf(stringOf(value.csrf) ?? "") };
    },
    async end(request: GatewayRequest): Promise<string> {
      await forget(request);
      return cookie(request, "", 0);
    },
  };
}

/** A cookie of the whole host. */
export function hostCookie(of: string, base: () => string) {
  const isSecure = () => base().startsWith("https:");
  // The prefix makes browsers refuse the cookie from any other host and without TLS (RFC 6265bis, 4.1.3.2).
  const name = () => `${isSecure() ? "__Host-" : ""}tollgate_${of}`;
  const set = (value: string, seconds: number) =>
    `${name()}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${isSecure() ? "; Secure" : ""}`;
  return { name, set };
}

export function createSessions(records: Records, books: Books, base: () => string) {
  const { name, set } = hostCookie("session", base);
  const kept = cookieSessions(records, "session", { name, cookie: (_request, ...of) => set(...of) });
  return {
    end: kept.end,
    /** The session cookie to set. Ends the session of the request, if any. */
    async begin(request: GatewayRequest, accountId: string, keyId: string) {
      // The hint changes with the secret, so sessions opened with an old secret end with it.
      const hint = (await books.key(accountId, keyId))?.hint ?? "";
      return kept.begin(request, { accountId, keyId, hint });
    },
    /** Returns the session; null if there is none, or if its key has changed. */
    async of(request: GatewayRequest): Promise<Session | null> {
      const found = await kept.of(request);
      if (found === null) return null;
      const { id, csrf } = found;
      const [accountId, keyId] = [stringOf(found.accountId) ?? "", stringOf(found.keyId) ?? ""];
      const key = await books.key(accountId, keyId);
      return key === null || key.hint !== found.hint ? null : { id, accountId, keyId, csrf };
    },
  };
}
