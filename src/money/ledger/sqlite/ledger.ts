// The gateway's side of the SQLite ledger. Open the storage thread with `LEDGER_UNIT` among its units.
import type { AccountPage, AccountRow } from "../../../core/account-rows.ts";
import { nano, ZERO } from "../../../core/money.ts";
import type { SqliteThread, UnitCaller } from "../../../platform/storage/thread-client.ts";
import type { DoctorReport, Ledger, Money } from "../model/ledger.ts";
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

type Call = UnitCaller<LedgerOperations>;

/** These methods are operations of the storage thread, with the same arguments, as a list. */
const PLAIN = [
  ...(["account", "createKey", "keyByHash", "key", "keys", "secretHash", "rotateKey", "renew"] as const),
  ...(["transaction", "transactions", "spentToday", "periodSums", "events", "totals"] as const),
];
/** As `PLAIN`, for methods that change the account in their first argument beyond what is counted in this process. */
const CHANGING = ["patchAccount", "patchKey", "deleteKey"] as const;

function forwarded<Name extends (typeof PLAIN | typeof CHANGING)[number]>(
  names: readonly Name[],
  call: Call,
  before: (accountId: string) => void = () => {},
): Pick<Ledger, Name> {
  const methods = names.map((name) => [
    name,
    (...args: readonly unknown[]) => {
      before(String(args[0]));
      return call(name, args as never);
    },
  ]);
  return Object.fromEntries(methods) as Pick<Ledger, Name>;
}

function moneyIn(thread: SqliteThread, call: Call, admissions: Admissions): Omit<Money, "renew"> {
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
      return call("topUp", [accountId, transactionId, nano(amountNano), reference]);
    },
    refund(transactionId, refundId, reason) {
      // Only the charge names the account.
      admissions.dropAll();
      return call("refund", [transactionId, refundId, reason]);
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
    ...forwarded(PLAIN, call),
    ...forwarded(CHANGING, call, (accountId) => admissions.drop(accountId)),
    ...moneyIn(thread, call, admissions),
    openAccount: (request) => call("openAccount", { ...request, creditNano: nano(request.creditNano) }),
    accounts: (page) => (page?.text === undefined ? call("accounts", [page]) : accountsWith(thread, page, page.text)),
    dropEvents: (events) =>
      call(
        "dropEvents",
        events.map(({ id }) => id),
      ),
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
  const rows = await Promise.all(found.map((row) => call("account", [String(row.account_id)])));
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
