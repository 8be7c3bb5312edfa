// What the authorization server keeps, as records: codes, refresh tokens, clients. A grant is there as long as its key row is.
import { type Adapter, type AdapterPayload, errors } from "oidc-provider";
import type { Clock } from "../../core/clock.ts";
import { GatewayError } from "../../core/errors.ts";
import { isRecord } from "../../core/json.ts";
import type { Records } from "../../platform/records/records.ts";
import type { AccessTokens } from "./access-tokens.ts";
import type { Grants } from "./grants.ts";

/** A registered client that no person has agreed to by then is forgotten, so that a flood of registrations ends by itself. */
export const UNUSED_CLIENT_MS = 86_400_000;
/** One that a person has agreed to stays this long after the last time. */
export const USED_CLIENT_MS = 400 * 86_400_000;

const USER_CODE = "oauth-user-code";

export interface AdapterParts {
  readonly records: Records;
  readonly grants: Grants;
  readonly clock: Clock;
  readonly readToken: AccessTokens["read"];
}

/** The server refuses to look for an access token by its three parts, so it is given one word. */
export function oneWord(token: string): string {
  return token.replaceAll(".", "~");
}

function payloadOf(text: string): AdapterPayload | undefined {
  const payload: unknown = JSON.parse(text);
  return isRecord(payload) ? payload : undefined;
}

/** Keeps a registered client for as long as a used one is. */
export async function keepClient({ records }: Pick<AdapterParts, "records">, clientId: string): Promise<void> {
  const kept = await records.get("oauth-Client", clientId);
  if (kept === null) return;
  const { kind, id, value, version } = kept;
  // Where it has changed in between, the next consent keeps it.
  await records.put({ kind, id, payer: null, value, ttlMs: USED_CLIENT_MS, ifVersion: version });
}

/** The adapter of one of the server's models, such as `RefreshToken`. */
export function adapterOf(name: string, { records, grants, clock, readToken }: AdapterParts): Adapter {
  const kind = `oauth-${name}`;

  /** Access tokens are not kept: what one stands for is read from it. */
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
    // Sessions of the server's own are never handed back to it: each authorization begins with a sign-in of ours.
    findByUid: async () => undefined,
    async consume(id) {
      const kept = await records.get(kind, id);
      const payload = kept === null ? undefined : payloadOf(kept.value);
      const used = () => new errors.InvalidGrant("it has been used already");
      if (kept === null || payload === undefined || payload.consumed !== undefined) throw used();
      const value = JSON.stringify(Object.assign(payload, { consumed: Math.floor(clock.epochMs() / 1_000) }));
      const ttlMs = kept.expiresAtMs === null ? null : Math.max(1, kept.expiresAtMs - clock.epochMs());
      // Of two that come at once, at whichever processes, one has it.
      if ((await records.put({ kind, id, payer: null, value, ttlMs, ifVersion: kept.version })) === null) throw used();
    },
    async destroy(id) {
      const payload = name === "Grant" ? await find(id) : undefined;
      await records.delete(kind, id);
      if (payload !== undefined) await grants.revoke(String(payload.accountId), id);
    },
    // Whatever belongs to a grant ends with the grant's own record.
    revokeByGrantId: async () => {},
  };
}
