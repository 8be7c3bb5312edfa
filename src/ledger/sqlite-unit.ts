// The ledger in the storage thread: its tables, and its operations by name.
import type { DatabaseSync } from "node:sqlite";
import { nano } from "../money.ts";
import { migrate, type SqliteUnit, type StoreTime } from "../storage/sqlite-unit.ts";
import type {
  AccountRow,
  KeyRow,
  LedgerTotals,
  TransactionQuery,
} from "./ledger.ts";
import { AccountTables } from "./sqlite-accounts.ts";
import * as admin from "./sqlite-admin.ts";
import { createDoctor } from "./sqlite-doctor.ts";
import { EntryTables } from "./sqlite-entries.ts";
import { extend, reserve } from "./sqlite-reserve.ts";
import { LEDGER_SCHEMA } from "./sqlite-schema.ts";
import { post, renew, sweep, voidHold } from "./sqlite-settle.ts";
import { LedgerState } from "./sqlite-state.ts";

/** The ledger's operations, as the event loop's side calls them. */
export type LedgerOperations = ReturnType<typeof operationsOn>;

/** Opens the ledger in the storage thread's database. */
export function openUnit(database: DatabaseSync, time: StoreTime): SqliteUnit {
  migrate(database, "ledger", LEDGER_SCHEMA);
  const accounts = new AccountTables(database);
  const state = new LedgerState(accounts, new EntryTables(database), time);
  return {
    operations: operationsOn(state, createDoctor(database)),
    admissions: ["reserve", "openAccount", "createKey"],
    flush: () => accounts.flush(),
    reload: () => state.reload(),
  };
}

function operationsOn(state: LedgerState, examine: ReturnType<typeof createDoctor>) {
  const bind =
    <Argument, Answer>(run: (state: LedgerState, argument: Argument) => Answer) =>
    (argument: Argument): Answer =>
      run(state, argument);
  return {
    openAccount: bind(admin.openAccount),
    account: (accountId: string): AccountRow | null => {
      const account = state.accounts.account(accountId);
      return account === null ? null : admin.accountRow(account);
    },
    accounts: (_: null) => admin.accountRows(state),
    patchAccount: bind(admin.patchAccount),
    createKey: bind(admin.createKey),
    keyByHash: (secretHash: string): KeyRow | null => {
      const key = state.accounts.key(secretHash);
      return key === null ? null : admin.keyRow(state, key);
    },
    keys: (accountId: string) => admin.keyRows(state, accountId),
    patchKey: bind(admin.patchKey),
    rotateKey: bind(admin.rotateKey),
    deleteKey: bind(admin.deleteKey),
    reserve: bind(reserve),
    extend: bind(extend),
    renew: bind(renew),
    post: bind(post),
    void: bind(voidHold),
    sweep: bind(sweep),
    topUp: bind(admin.topUp),
    refund: bind(admin.refund),
    transaction: ({ accountId, transactionId }: { accountId: string | null; transactionId: string }) => {
      const posting = state.entries.posting(transactionId);
      return posting !== null && (accountId === null || posting.accountId === accountId) ? posting : null;
    },
    transactions: ({ accountId, keyId, limit, cursor }: TransactionQuery) =>
      state.entries.postings(accountId, keyId, {
        limit,
        cursor: cursor === null ? Number.MAX_SAFE_INTEGER : Number(cursor),
      }),
    totals: (_: null): LedgerTotals => {
      let held = 0;
      for (const hold of state.holds.values()) held += hold.amount;
      return { ...state.entries.totals(), holdsOpen: state.holds.size, heldNano: nano(held) };
    },
    examine: bind(examine),
  };
}
