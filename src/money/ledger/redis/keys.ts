// Keys of accounts in Redis, as people make, change and revoke them: acknowledged when a failover cannot take it back.
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
import { argumentsOf } from "./arguments.ts";
import {
  accountBase,
  accountKey,
  changedKey,
  fieldsOf,
  type KeyProfile,
  keyIdsOf,
  profileOf,
  readAccount,
  type StoredKey,
  secretKey,
  storedKey,
  withPeriodSums,
} from "./rows.ts";
import type { LedgerLink, RunTransition, TransitionTime } from "./script.ts";

/** Of those who change a key at the same time one gets on with each try, so this many can. */
const KEY_WRITES_MAX = 100;
const RETRY_AFTER_SECONDS = 1;

type Keys = Pick<
  Accounts,
  "createKey" | "key" | "keyByHash" | "keys" | "patchKey" | "secretHash" | "rotateKey" | "deleteKey"
>;

/** Waits for replicas. Both reject where none has, within their time, all that was written on the servers of these keys. */
export interface Copies {
  /** Before something is done whose secret would not be told where it is refused afterwards: it is better not begun. */
  ready(...keys: readonly string[]): Promise<void>;
  /**
   * After something was done. What people do passes no spool, so what a failover could take back is not acknowledged: they are told so,
   * and repeat it.
   */
  taken(...keys: readonly string[]): Promise<void>;
}

const NOT_READY = "No replica of the ledger follows, so nothing was done.";
const NOT_TAKEN = "It was done, and no replica of the ledger has it yet: a failover could take it back. Send it again.";

export function waitForCopies(link: LedgerLink): Copies {
  async function wait(keys: readonly string[], reason: string): Promise<void> {
    const copied = await Promise.all(keys.map((key) => link.waitForReplicas(key)));
    if (!copied.includes(false)) return;
    const nothingDone = reason === NOT_READY;
    const said = { data: { reason }, cause: new Error("no replica has it yet"), nothingDone };
    throw new GatewayError("ledger_unavailable", { retryAfterSeconds: RETRY_AFTER_SECONDS, ...said });
  }
  return { ready: (...keys) => wait(keys, NOT_READY), taken: (...keys) => wait(keys, NOT_TAKEN) };
}

/** A secret leads to its key before the key is there: a key that is acknowledged can always be found. */
export async function pointTo(link: LedgerLink, secretHash: string, accountId: string, keyId: string): Promise<void> {
  await link.call("SET", secretKey(secretHash), JSON.stringify([accountId, keyId]));
}

/** What the scripts that make a key are told of it. */
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

export function redisKeys(link: LedgerLink, run: RunTransition, time: () => TransitionTime): Keys {
  const copies = waitForCopies(link);

  /** The account's own time, which never falls. */
  async function accountNow(accountId: string): Promise<number> {
    const clk = (await link.call("HGET", accountKey(accountId), "clk")) as string | null;
    return Math.max(Number(clk ?? 0), time().nowMs);
  }

  async function key(accountId: string, keyId: string): Promise<StoredKey | null> {
    const names = [keyId, ...["paused", "ceiling", "period", "used", "created"].map((name) => `${keyId}:${name}`)];
    const values = (await link.call("HMGET", `${accountBase(accountId)}:k`, ...names)) as (string | null)[];
    const fields = new Map(
      names.flatMap((name, at) => (values[at] == null ? [] : [[name, String(values[at])] as const])),
    );
    return storedKey(accountId, keyId, fields);
  }

  async function shown(stored: StoredKey | null): Promise<KeyRow | null> {
    return stored === null ? null : withPeriodSums(link, stored, await accountNow(stored.row.accountId));
  }

  /** Changes a key where it still is what it was read as; another's change in between is read and built upon. */
  async function change(
    accountId: string,
    keyId: string,
    patch: KeyPatch & Partial<KeyProfile>,
  ): Promise<StoredKey | null> {
    for (let tries = 0; tries < KEY_WRITES_MAX; tries++) {
      const before = await key(accountId, keyId);
      if (before === null) return null;
      const { profile, paused, ceiling, period } = before.written;
      const told = argumentsOf("write_key", {
        key_id: keyId,
        profile_before: profile,
        paused_before: paused,
        ceiling_before: ceiling,
        period_before: period,
        ...changedKey(before, patch),
      });
      const [outcome] = await run("write_key", accountKey(accountId), told);
      if (outcome === "written") return key(accountId, keyId);
      if (outcome === "missing") return null;
    }
    throw new GatewayError("ledger_unavailable", { retryAfterSeconds: RETRY_AFTER_SECONDS });
  }

  return {
    async createKey(accountId, newKey) {
      if ((await readAccount(link, accountId)) === null) return "unknown_account";
      const places = [accountKey(accountId), secretKey(newKey.secretHash)];
      // Asked before as well: a caller who is refused is told no secret, and a key that cannot be used is better not made.
      await copies.ready(...places);
      await pointTo(link, newKey.secretHash, accountId, newKey.keyId);
      const [outcome] = await run("create_key", accountKey(accountId), [
        ...time().args,
        ...argumentsOf("create_key", { ...newKeyArguments(newKey, false), keys_max: KEYS_PER_ACCOUNT_MAX }),
      ]);
      if (outcome === "created") await copies.taken(...places);
      else await link.call("DEL", secretKey(newKey.secretHash));
      return outcome as KeyCreation;
    },
    key: async (accountId, keyId) => shown(await key(accountId, keyId)),
    async keyByHash(secretHash) {
      const pointer = (await link.call("GET", secretKey(secretHash))) as string | null;
      if (pointer === null) return null;
      const [accountId, keyId] = JSON.parse(pointer) as [string, string];
      const found = await key(accountId, keyId);
      // A pointer outlives the secret that it was made for; the key says which secret is its own.
      return found?.profile.secretHash === secretHash ? shown(found) : null;
    },
    async keys(accountId, page) {
      const fields = await fieldsOf(link, `${accountBase(accountId)}:k`);
      const nowMs = await accountNow(accountId);
      const ages = keyIdsOf(fields).map((keyId) => ({ keyId, createdAtMs: Number(fields.get(`${keyId}:created`)) }));
      const stored = onPage(ages, page).map(({ keyId }) => storedKey(accountId, keyId, fields));
      return Promise.all(stored.filter((one) => one !== null).map((one) => withPeriodSums(link, one, nowMs)));
    },
    async patchKey(accountId, keyId, patch) {
      const after = await change(accountId, keyId, patch);
      if (after !== null) await copies.taken(accountKey(accountId));
      return shown(after);
    },
    secretHash: async (accountId, keyId) => (await key(accountId, keyId))?.profile.secretHash ?? null,
    async rotateKey(accountId, keyId, secretHash, hint) {
      const before = await key(accountId, keyId);
      if (before === null) return null;
      const places = [accountKey(accountId), secretKey(secretHash)];
      // Asked before as well: a caller who is refused afterwards has lost the old secret and is not told the new one.
      await copies.ready(...places);
      await pointTo(link, secretHash, accountId, keyId);
      const after = await change(accountId, keyId, { secretHash, hint });
      await link.call("DEL", secretKey(before.profile.secretHash));
      await copies.taken(...places);
      const row = await shown(after);
      return row === null ? null : { ...row, formerHash: before.profile.secretHash };
    },
    async deleteKey(accountId, keyId) {
      const before = await key(accountId, keyId);
      if (before?.profile.primary) return false;
      if (before !== null) {
        // It was there: where it is missing now, this is the second time that it was sent, or another request revoked it meanwhile.
        await run(
          "delete_key",
          accountKey(accountId),
          argumentsOf("delete_key", { key_id: keyId, external: before.profile.externalId ?? "" }),
        );
        await link.call("DEL", secretKey(before.profile.secretHash));
      }
      // That a key is not there is also waited for: a caller who asks again after a refusal must not be told what may not last.
      await copies.taken(accountKey(accountId));
      return before !== null;
    },
  };
}
