// Accounts in Redis: opening, reading and changing them.
import { type AccountPage, type AccountRow, byOpening } from "../../../core/account-rows.ts";
import { chunksOf, inChunks } from "../../../core/chunks.ts";
import { nano } from "../../../core/money.ts";
import type { SharedLedger } from "../model/ledger.ts";
import { accountsWith } from "./account-index.ts";
import { creditDetail } from "./calls.ts";
import { newKeyArguments, pointTo } from "./keys.ts";
import type { LedgerPlace } from "./place.ts";
import { ABOUT, accountBase, accountKey, isKey, readAccount, secretKey, someFields } from "./rows.ts";

type Accounts = Pick<SharedLedger, "openAccount" | "account" | "accounts" | "patchAccount">;

/** Accounts that a search by name reads at once. */
const READ_AT_ONCE = 1_000;

function isNamed({ accountId, name }: AccountRow, text: string): boolean {
  return accountId.includes(text) || name.toLowerCase().includes(text.toLowerCase());
}

export function redisAccounts({ link, run, index, copies }: LedgerPlace, leaseMs: number): Accounts {
  const account = (accountId: string) => readAccount(link, accountId);

  /** The account, if its name or id has the text, or a key of it has this id. */
  async function found(accountId: string, text: string): Promise<AccountRow | null> {
    const row = await account(accountId);
    if (row === null || isNamed(row, text)) return row;
    return isKey(text, await someFields(link, `${accountBase(accountId)}:k`, [`${text}:created`])) ? row : null;
  }

  /** Skips accounts that were registered and never opened. */
  async function pageOf({ limit, after, text }: AccountPage): Promise<AccountRow[]> {
    const rows: AccountRow[] = [];
    const read = text === undefined ? account : (accountId: string) => found(accountId, text);
    for await (const ids of chunksOf(index.all(after), text === undefined ? limit : READ_AT_ONCE)) {
      rows.push(...(await Promise.all(ids.map(read))).filter((row) => row !== null));
      if (rows.length >= limit) break;
    }
    return rows.slice(0, limit);
  }

  return {
    async openAccount(request) {
      const { accountId, name, kind, creditNano, inferenceCapNano, requestsPerMinute, inFlightMax, primaryKey } =
        request;
      nano(creditNano);
      const before = await account(accountId);
      if (before !== null) return "exists";
      const places = [accountKey(accountId), accountsWith(accountId), secretKey(primaryKey.secretHash)];
      // Check before as well: a refused caller gets no secret, so an unusable account should not be opened.
      await copies.ready(...places);
      await index.register(accountId);
      await index.note(accountId, leaseMs);
      await pointTo(link, primaryKey.secretHash, accountId, primaryKey.keyId);
      const [outcome] = await run("open", accountKey(accountId), {
        credit_id: `open_${accountId}`,
        credit: creditNano,
        credit_detail: creditDetail("opening credit", ""),
        name,
        kind,
        cap: inferenceCapNano,
        rpm: requestsPerMinute,
        in_flight: inFlightMax,
        ...newKeyArguments(primaryKey, true),
        about: ABOUT,
      });
      await copies.taken(...places);
      return outcome === "opened" ? "opened" : "exists";
    },
    account,
    async accounts(page) {
      if (page !== undefined) return pageOf(page);
      return (await inChunks(index.all(), READ_AT_ONCE, account)).filter((row) => row !== null).sort(byOpening);
    },
    async patchAccount(accountId, patch) {
      const fields = Object.entries({
        name: patch.name,
        frozen: patch.frozen === undefined ? undefined : patch.frozen ? "1" : "0",
        cap: patch.inferenceCapNano,
        rpm: patch.requestsPerMinute,
        in_flight: patch.inFlightMax,
        strict: patch.strictBounds === undefined ? undefined : patch.strictBounds ? "1" : "0",
        // Once cleared, the bounds need as many overruns as the first time to become strict again.
        overruns: patch.strictBounds === false ? "" : undefined,
      }).flatMap(([field, value]) => (value === undefined ? [] : [field, String(value)]));
      if (fields.length > 0) await run("write_account", accountKey(accountId), {}, { rest: fields });
      await copies.taken(accountKey(accountId));
      return account(accountId);
    },
  };
}
