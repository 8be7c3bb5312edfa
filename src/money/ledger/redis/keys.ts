// Creates, changes and revokes keys in Redis; acknowledged only when a failover cannot lose the change.
import {
  type Accounts,
  KEYS_PER_ACCOUNT_MAX,
  type KeyCreation,
  type KeyPatch,
  type KeyRow,
  type NewKey,
  onPage,
} from "../../../core/account-rows.ts";
import { GatewayError } from "../../../core/errors.ts";
import type { LedgerPlace } from "./place.ts";
import {
  accountBase,
  accountKey,
  accountNow,
  changedKey,
  fieldsOf,
  type KeyProfile,
  keyIdsOf,
  profileOf,
  readAccount,
  type StoredKey,
  secretKey,
  someFields,
  storedKey,
  withPeriodSums,
} from "./rows.ts";
import type { LedgerLink } from "./script.ts";

/** Of concurrent writers to a key, each round lets one succeed, so this many can write at once. */
const KEY_WRITES_MAX = 100;
const RETRY_AFTER_SECONDS = 1;

type Keys = Pick<
  Accounts,
  "createKey" | "key" | "keyByHash" | "keys" | "patchKey" | "secretHash" | "rotateKey" | "deleteKey"
>;

/** Stores the secret's pointer before the key, so that an acknowledged key can always be found. */
export async function pointTo(link: LedgerLink, secretHash: string, accountId: string, keyId: string): Promise<void> {
  await link.call("SET", secretKey(secretHash), JSON.stringify([accountId, keyId]));
}

export function newKeyArguments(newKey: NewKey, primary: boolean) {
  const { keyId, ceilingNano, ceilingPeriod, externalId } = newKey;
  return {
    key_id: keyId,
    profile: JSON.stringify(profileOf(newKey, primary)),
    ceiling: ceilingNano ?? "",
    period: ceilingPeriod ?? "",
    external: externalId ?? "",
  };
}

/** Reads and changes the stored keys. */
function storedKeys({ link, run, time }: LedgerPlace) {
  async function read(accountId: string, keyId: string): Promise<StoredKey | null> {
    const names = [keyId, ...["paused", "ceiling", "period", "used", "created"].map((name) => `${keyId}:${name}`)];
    return storedKey(accountId, keyId, await someFields(link, `${accountBase(accountId)}:k`, names));
  }

  async function shown(stored: StoredKey | null): Promise<KeyRow | null> {
    return stored === null
      ? null
      : withPeriodSums(link, stored, await accountNow(link, stored.row.accountId, time().nowMs));
  }

  /** Changes a key if it still has the state that was read; after a concurrent change, reads it again. */
  async function change(
    accountId: string,
    keyId: string,
    patch: KeyPatch & Partial<KeyProfile>,
  ): Promise<StoredKey | null> {
    for (let tries = 0; tries < KEY_WRITES_MAX; tries++) {
      const before = await read(accountId, keyId);
      if (before === null) return null;
      const { profile, paused, ceiling, period } = before.written;
      const [outcome] = await run("write_key", accountKey(accountId), {
        key_id: keyId,
        profile_before: profile,
        paused_before: paused,
        ceiling_before: ceiling,
        period_before: period,
        ...changedKey(before, patch),
      });
      if (outcome === "written") return read(accountId, keyId);
      if (outcome === "missing") return null;
    }
    throw new GatewayError("ledger_unavailable", { retryAfterSeconds: RETRY_AFTER_SECONDS });
  }

  return { read, shown, change };
}

export function redisKeys(place: LedgerPlace): Keys {
  const { link, run, time, copies } = place;
  const { read, shown, change } = storedKeys(place);
  return {
    async createKey(accountId, newKey) {
      if ((await readAccount(link, accountId)) === null) return "unknown_account";
      const places = [accountKey(accountId), secretKey(newKey.secretHash)];
      // Check before as well: a refused caller gets no secret, so an unusable key should not be made.
      await copies.ready(...places);
      await pointTo(link, newKey.secretHash, accountId, newKey.keyId);
      const given = { ...newKeyArguments(newKey, false), keys_max: KEYS_PER_ACCOUNT_MAX };
      const [outcome] = await run("create_key", accountKey(accountId), given);
      if (outcome === "created") await copies.taken(...places);
      else await link.call("DEL", secretKey(newKey.secretHash));
      return outcome as KeyCreation;
    },
    key: async (accountId, keyId) => shown(await read(accountId, keyId)),
    async keyByHash(secretHash) {
      const pointer = (await link.call("GET", secretKey(secretHash))) as string | null;
      if (pointer === null) return null;
      const [accountId, keyId] = JSON.parse(pointer) as [string, string];
      const found = await read(accountId, keyId);
      // A pointer outlives its secret; the key itself knows its current one.
      return found?.profile.secretHash === secretHash ? shown(found) : null;
    },
    async keys(accountId, page) {
      const fields = await fieldsOf(link, `${accountBase(accountId)}:k`);
      const nowMs = await accountNow(link, accountId, time().nowMs);
      const ages = keyIdsOf(fields).map((keyId) => ({ keyId, createdAtMs: Number(fields.get(`${keyId}:created`)) }));
      const stored = onPage(ages, page).map(({ keyId }) => storedKey(accountId, keyId, fields));
      return Promise.all(stored.filter((one) => one !== null).map((one) => withPeriodSums(link, one, nowMs)));
    },
    async patchKey(accountId, keyId, patch) {
      const after = await change(accountId, keyId, patch);
      if (after !== null) await copies.taken(accountKey(accountId));
      return shown(after);
    },
    secretHash: async (accountId, keyId) => (await read(accountId, keyId))?.profile.secretHash ?? null,
    async rotateKey(accountId, keyId, secretHash, hint) {
      const before = await read(accountId, keyId);
      if (before === null) return null;
      const places = [accountKey(accountId), secretKey(secretHash)];
      // Check before as well: a caller refused afterwards has lost the old secret and never gets the new one.
      await copies.ready(...places);
      await pointTo(link, secretHash, accountId, keyId);
      const after = await change(accountId, keyId, { secretHash, hint });
      await link.call("DEL", secretKey(before.profile.secretHash));
      await copies.taken(...places);
      const row = await shown(after);
      return row === null ? null : { ...row, formerHash: before.profile.secretHash };
    },
    async deleteKey(accountId, keyId) {
      const before = await read(accountId, keyId);
      if (before?.profile.primary) return false;
      if (before !== null) {
        // The key existed: if it is gone now, this command was sent twice, or another request revoked it.
        const external = before.profile.externalId ?? "";
        await run("delete_key", accountKey(accountId), { key_id: keyId, external });
        await link.call("DEL", secretKey(before.profile.secretHash));
      }
      // Wait for replicas here too: a caller who retries must not get an answer that a failover could undo.
      await copies.taken(accountKey(accountId));
      return before !== null;
    },
  };
}
