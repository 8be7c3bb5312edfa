// What the authorization server stores as records: codes, refresh tokens, clients. A grant exists as long as its key row.
import { type Adapter, type AdapterPayload, errors } from "oidc-provider";
import type { Clock } from "../../core/clock.ts";
import { GatewayError } from "../../core/errors.ts";
import { isRecord } from "../../core/json.ts";
import type { Records } from "../../platform/records/records.ts";
import type { ReadAccessToken } from "./access-tokens.ts";
import type { Grants } from "./grants.ts";

/** A registered client without any consent expires after this time, so that a flood of registrations ends by itself. */
export const UNUSED_CLIENT_MS = 86_400_000;
/** A client with consent stays this long after the last one. */
export const USED_CLIENT_MS = 400 * 86_400_000;

const USER_CODE = "oauth-user-code";

export interface AdapterParts {
  readonly records: Records;
  readonly grants: Grants;
  readonly clock: Clock;
  readonly readToken: ReadAccessToken;
}

/** The server rejects a three-part token when it looks up access tokens, so this turns it into one word. */
export function oneWord(token: string): string {
  return token.replaceAll(".", "~");
}

function payloadOf(text: string): AdapterPayload | undefined {
  const payload: unknown = JSON.parse(text);
  return isRecord(payload) ? payload : undefined;
}

/** Extends a registered client's life to that of a used one. */
export async function keepClient({ records }: Pick<AdapterParts, "records">, clientId: string): Promise<void> {
  const kept = await records.get("oauth-Client", clientId);
  if (kept === null) return;
  const { kind, id, value, version } = kept;
  // If it changed meanwhile, the next consent extends it.
  await records.put({ kind, id, payer: null, value, ttlMs: USED_CLIENT_MS, ifVersion: version });
}

/** The adapter of one of the server's models, such as `RefreshToken`. */
export function adapterOf(name: string, { records, grants, clock, readToken }: AdapterParts): Adapter {
  const kind = `oauth-${name}`;

  /** Access tokens are not stored: the token itself says what it stands for. */
  function readAccessToken(id: string): AdapterPayload | undefined {
    const read = readToken(id.replaceAll("~", "."));
    if (read === null || read instanceof GatewayError) return undefined;
    const { accountId, keyId: grantId, clientId, expiresAtMs } = read;
    return { kind: name, jti: id, accountId, grantId, clientId, exp: expiresAtMs / 1_000 };
  }

  async function find(id: string): Promise<AdapterPayload | undefined> {
    if (name === "AccessToken") return readAccessToken(id);
    const kept = await records.get(kind, id);
    const payload = kept === null ? undefined : payloadOf(kept.value);
    if (name !== "Grant" || payload === undefined) return payload;
    return (await grants.isGood(String(payload.accountId), id)) ? payload : undefined;
  }

  return {
    async upsert(id, payload, expiresIn) {
      const ttlMs = expiresIn ? expiresIn * 1_000 : UNUSED_CLIENT_MS;
      await records.put({ kind, id, payer: null, value: JSON.stringify(payload), ttlMs, ifVersion: null });
      if (payload.userCode === undefined) return;
      await records.put({ kind: USER_CODE, id: payload.userCode, payer: null, value: id, ttlMs, ifVersion: null });
    },
    find,
    async findByUserCode(userCode) {
      const named = await records.get(USER_CODE, userCode);
      return named === null ? undefined : find(named.value);
    },
    // The server's own sessions are never returned to it: each authorization starts with our sign-in.
    findByUid: async () => undefined,
    async consume(id) {
      const kept = await records.get(kind, id);
      const payload = kept === null ? undefined : payloadOf(kept.value);
      const used = () => new errors.InvalidGrant("it has been used already");
      if (kept === null || payload === undefined || payload.consumed !== undefined) throw used();
      const value = JSON.stringify(Object.assign(payload, { consumed: Math.floor(clock.epochMs() / 1_000) }));
      const ttlMs = kept.expiresAtMs === null ? null : Math.max(1, kept.expiresAtMs - clock.epochMs());
      // Of two concurrent uses, in any processes, one succeeds.
      if ((await records.put({ kind, id, payer: null, value, ttlMs, ifVersion: kept.version })) === null) throw used();
    },
    async destroy(id) {
      const payload = name === "Grant" ? await find(id) : undefined;
      await records.delete(kind, id);
      if (payload !== undefined) await grants.revoke(String(payload.accountId), id);
    },
    // Everything that belongs to a grant ends with the grant's own record.
    revokeByGrantId: async () => {},
  };
}
