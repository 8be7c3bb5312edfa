// The gateway's side of the SQLite ledger. Open the storage thread with `LEDGER_UNIT` among its units.
import type { AccountPage, AccountRow, Accounts } from "../../../core/account-rows.ts";
import { type Nano, nano, ZERO } from "../../../core/money.ts";
import type { SqliteThread, UnitCaller } from "../../../platform/storage/thread-client.ts";
import type { DoctorReport, Ledger, Money, Told } from "../model/ledger.ts";
import { sumFaults } from "../usage/check.ts";
import { type AskReports, reportsOf } from "../usage/reports.ts";
import { LEDGER_TABLES } from "../usage/sums.ts";
import { Admissions } from "./admissions.ts";
import type { ExaminedBooks } from "./books-doctor.ts";
import { postList } from "./compact.ts";
import { type Visited, visit } from "./doctor-visit.ts";
import type { LedgerOperations } from "./unit.ts";

const LOSABLE = { mayBeLost: true } as const;
const PATIENT = { isPatient: true } as const;
/** A crash only brings back what is pruned again. */
const FORGETTING = { isPatient: true, mayBeLost: true } as const;
const DOCTOR_OF_BOOKS = new URL("./books-doctor.ts", import.meta.url);

const ACCOUNTS_WITH = `SELECT account_id FROM account WHERE account_id > ?1
  AND (instr(lower(name), lower(?2)) > 0 OR instr(account_id, ?2) > 0
    OR account_id = (SELECT account_id FROM api_key WHERE key_id = ?2)) ORDER BY account_id LIMIT ?3`;

/** The file that the storage thread loads for the ledger. */
export const LEDGER_UNIT = new URL("./unit.ts", import.meta.url);

function sumsAndEvents(thread: SqliteThread): Told & Pick<Ledger, "spentToday" | "periodSums"> {
  const call = thread.unit<LedgerOperations>("ledger");
  return {
    spentToday: (accountId, scopes) => call("spentToday", { accountId, scopes }),
    periodSums: (accountId, asked) => call("periodSums", { accountId, asked }),
    events: (countMax) => call("events", countMax),
    dropEvents: (events) =>
      call(
        "dropEvents",
        events.map(({ id }) => id),
      ),
  };
}

type Call = UnitCaller<LedgerOperations>;

function accountsIn(thread: SqliteThread, call: Call, admissions: Admissions): Accounts {
  return {
    openAccount: (request) => call("openAccount", { ...request, creditNano: nano(request.creditNano) }),
    account: (accountId) => call("account", accountId),
    accounts: (page) =>
      page?.text === undefined ? call("accounts", page ?? null) : accountsWith(thread, page, page.text),
    patchAccount(accountId, patch) {
      admissions.drop(accountId);
      return call("patchAccount", { accountId, patch });
    },
    createKey: (accountId, key) => call("createKey", { accountId, key }),
    keyByHash: (secretHash) => call("keyByHash", secretHash),
    key: (accountId, keyId) => call("key", { accountId, keyId }),
    keys: (accountId, page) => call("keys", { accountId, page: page ?? null }),
    patchKey(accountId, keyId, patch) {
      admissions.drop(accountId);
      return call("patchKey", { accountId, keyId, patch });
    },
    secretHash: (accountId, keyId) => call("secretHash", { accountId, keyId }),
    rotateKey: (accountId, keyId, secretHash, hint) => call("rotateKey", { accountId, keyId, secretHash, hint }),
    deleteKey(accountId, keyId) {
      admissions.drop(accountId);
      return call("deleteKey", { accountId, keyId });
    },
  };
}

function moneyIn(thread: SqliteThread, call: Call, admissions: Admissions): Money {
  return {
    reserve(request) {
      nano(request.amountNano);
      return admissions.reserve(request);
    },
    extend(hold, amountNano, accrued, leaseMs) {
      admissions.drop(hold.accountId);
      return call("extend", { hold, amountNano: nano(amountNano), accrued: nano(accrued), leaseMs });
    },
    // A crash of the calling process does not undo this answer.
    standing: ({ accountId, holdId }, manner) => call("standing", { accountId, holdId }, { ...LOSABLE, ...manner }),
    renew: (holds, leaseMs) => call("renew", { holds, leaseMs }),
    letGo({ accountId, holdId }) {
      admissions.drop(accountId);
      return call("letGo", { accountId, holdId }, LOSABLE);
    },
    post(request) {
      nano(request.amountNano);
      nano(request.upstreamNano);
      for (const { upstreamNano } of request.legs) nano(upstreamNano);
      nano(request.beside?.chargedNano ?? 0);
      nano(request.beside?.costNano ?? 0);
      admissions.ending(request, request.amountNano, request.upstreamNano + (request.beside?.costNano ?? 0));
      return call("post", postList(request)).then((ended) => {
        admissions.posted(request, ended);
        return ended;
      });
    },
    void({ accountId, holdId }, reason, { keyFate = "free", upstreamNano = ZERO } = {}) {
      admissions.ending({ accountId, holdId }, 0, upstreamNano);
      const ending = { accountId, holdId, reason, keyFate, upstreamNano: nano(upstreamNano) };
      return call("void", ending).then((ended) => {
        admissions.voided(accountId, holdId, ended);
        return ended;
      });
    },
    async sweep(countMax, onlyOwner) {
      const ended = await sweepInSteps(thread, countMax, onlyOwner ?? null);
      admissions.dropOf(ended);
      return ended;
    },
    topUp(accountId, transactionId, amountNano, reference) {
      admissions.drop(accountId);
      return call("topUp", { accountId, transactionId, amountNano: nano(amountNano) as Nano, reference });
    },
    refund(transactionId, refundId, reason) {
      // Only the charge names the account.
      admissions.dropAll();
      return call("refund", { transactionId, refundId, reason });
    },
  };
}

/**
 * The ledger in `thread`, whose units must have `ledger: LEDGER_UNIT`; one for each thread. Every call resolves after its commit, and rejects with
 * `ledger_unavailable` where the store fails. Throws RangeError for amounts that are not whole non-negative nano-USD.
 */
export function sqliteLedger(thread: SqliteThread): Ledger {
  const call = thread.unit<LedgerOperations>("ledger");
  const admissions = new Admissions(thread, call);
  const books: AskReports = {
    tables: LEDGER_TABLES,
    dialect: "sqlite",
    linked: true,
    sandboxAccounts: "SELECT account_id FROM account WHERE kind = 'sandbox'",
    counted: "SELECT last FROM counted",
    async ask({ text, values }) {
      await call("catchUp", null, LOSABLE);
      return thread.ask(text, values);
    },
  };
  let visiting: Promise<DoctorReport> | null = null;
  return {
    ...accountsIn(thread, call, admissions),
    ...moneyIn(thread, call, admissions),
    ...sumsAndEvents(thread),
    transaction: (accountId, transactionId) => call("transaction", { accountId, transactionId }),
    transactions: (query) => call("transactions", query),
    totals: () => call("totals", null),
    ...reportsOf(books),
    doctor(options) {
      visiting ??= examine(thread, books, options?.file ?? false).finally(() => {
        visiting = null;
      });
      return visiting;
    },
    backup: (path) => thread.backup(path),
    close: () => thread.close(),
  };
}

/** The reading thread scans the names, so that calls do not wait. */
async function accountsWith(thread: SqliteThread, { after, limit }: AccountPage, text: string): Promise<AccountRow[]> {
  const call = thread.unit<LedgerOperations>("ledger");
  const found = await thread.ask(ACCOUNTS_WITH, [after ?? "", text, limit]);
  const rows = await Promise.all(found.map((row) => call("account", String(row.account_id))));
  return rows.filter((row) => row !== null);
}

async function examine(thread: SqliteThread, books: AskReports, file: boolean): Promise<DoctorReport> {
  const call = thread.unit<LedgerOperations>("ledger");
  const report = await visit(
    (asked) => call("examine", asked, PATIENT),
    (asked) => thread.inquire(DOCTOR_OF_BOOKS, { ...asked, file }) as Promise<Visited<ExaminedBooks>>,
  );
  const faults = (await sumFaults(books)).map((detail) => ({ invariant: "I14", accountId: null, detail }));
  return { ...report, findings: [...report.findings, ...faults] };
}

/** Holds ended per operation, about a millisecond, with calls in between. */
const ENDED_AT_ONCE = 32;
/** Pruning steps per sweep. */
const PRUNE_STEPS_MAX = 80;

/** Holds of a dead process ended per operation, before this process serves: each waits for the disk. */
const LEFT_AT_ONCE = 500;

/** Ends up to `countMax` holds and prunes expired rows, a few at a time. */
async function sweepInSteps(thread: SqliteThread, countMax: number, onlyOwner: string | null): Promise<string[]> {
  const call = thread.unit<LedgerOperations>("ledger");
  const atOnce = onlyOwner === null ? ENDED_AT_ONCE : LEFT_AT_ONCE;
  const ended: string[] = [];
  for (let last = atOnce; last === atOnce && ended.length < countMax; ) {
    const some = await call("sweep", { countMax: Math.min(atOnce, countMax - ended.length), onlyOwner });
    ended.push(...some);
    last = some.length;
  }
  for (let steps = 0; steps < PRUNE_STEPS_MAX && (await call("prune", null, FORGETTING)); steps++);
  return ended;
}

/** Ends the holds of a process that has ended. Rejects where the store fails; the holds then end with their leases. */
export async function endHoldsOf(thread: SqliteThread, owner: string): Promise<void> {
  const call = thread.unit<LedgerOperations>("ledger");
  while ((await call("abandon", { owner, countMax: ENDED_AT_ONCE })).length === ENDED_AT_ONCE);
}
