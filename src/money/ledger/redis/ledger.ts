// The shared ledger: each transition is one Redis script, and an account's keys share one slot.
import {
  type AccountPage,
  type AccountRow,
  byOpening,
  type PostingRow,
  type RefundOutcome,
  type TopUpOutcome,
} from "../../../core/account-rows.ts";
import type { Clock } from "../../../core/clock.ts";
import { type Nano, nano, ZERO } from "../../../core/money.ts";
import { type Archive, NO_ARCHIVE, shownPosting } from "../archive/archive.ts";
import type { LedgerTotals, SharedLedger, Standing, VoidOutcome } from "../model/ledger.ts";
import { accountIndex, accountsWith } from "./account-index.ts";
import { withArchive } from "./archived.ts";
import { creditDetail, listPostings, listRunPostings, readPosting } from "./calls.ts";
import { examineRedis } from "./doctor.ts";
import { type Hear, redisEvents } from "./events.ts";
import { newKeyArguments, pointTo, redisKeys, waitForCopies } from "./keys.ts";
import { NO_ORIGIN, orphanTransitions, postArguments } from "./orphans.ts";
import { extendOutcome, postOutcome, reserveOutcome } from "./replies.ts";
import { ABOUT, accountKey, periodSums, readAccount, secretKey, spentToday } from "./rows.ts";
import { playSpent, sandboxAccounts } from "./sandbox-accounts.ts";
import { type LedgerLink, ledgerScripts, transitionClock } from "./script.ts";
import { readTotals } from "./totals.ts";

export interface RedisLedgerOptions {
  readonly link: LedgerLink;
  readonly clock: Clock;
  /** The clock replaces the server's own; for tests. */
  readonly clockIsServers?: boolean;
  /** The longest lease. A server that has been up for less ends no holds, because leases could not be renewed while it was down. */
  readonly leaseMs: number;
  /** Where postings move; absent: they stay in Redis. */
  readonly archive?: Archive;
  /** Subscribes to a channel of the server; absent: all accounts are polled for events. */
  readonly hear?: Hear;
}

interface Credit {
  readonly id: string;
  readonly kind: "topup" | "refund";
  readonly amount: Nano;
  readonly reference: string;
}

const TOTALS_KEPT_MS = 10_000;
/** Accounts that a search by name reads at once. */
const READ_AT_ONCE = 1_000;
const NO_DETAIL = JSON.stringify({
  ...{ upstreamNano: 0, provider: null, served: null, usage: null, estimated: true, priceVersion: null },
});

/** Opens the ledger over a connection. Keeps no state in this process. */
export function redisLedger(options: RedisLedgerOptions): SharedLedger {
  const { link, clock, clockIsServers = false, leaseMs, archive = NO_ARCHIVE, hear } = options;
  const time = transitionClock(clock, clockIsServers);
  const run = ledgerScripts(link, time);
  const index = accountIndex(link, run, clock);
  const copies = waitForCopies(link);
  const playing = sandboxAccounts(link, archive);
  const parts = { link, index, archive, playSpent: playSpent(archive, playing, () => clock.epochMs()) };
  let totals: { readonly atMs: number; readonly value: LedgerTotals } | null = null;

  async function account(accountId: string): Promise<AccountRow | null> {
    return readAccount(link, accountId);
  }

  /** Skips accounts that were registered and never opened. */
  async function pageOf({ limit, after, text }: AccountPage): Promise<AccountRow[]> {
    const rows: AccountRow[] = [];
    const isFound = ({ name, accountId }: AccountRow) =>
      text === undefined || accountId.includes(text) || name.toLowerCase().includes(text.toLowerCase());
    for (let last = after; rows.length < limit; ) {
      const ids = await index.page({ limit: text === undefined ? limit - rows.length : READ_AT_ONCE, after: last });
      rows.push(...(await Promise.all(ids.map(account))).filter((row) => row !== null).filter(isFound));
      last = ids.at(-1) ?? null;
      if (last === null) break;
    }
    return rows.slice(0, limit);
  }

  /** Searches all accounts for a transaction id. Only people do this, never calls. */
  async function findPosting(transactionId: string): Promise<PostingRow | null> {
    const archived = () => archive.transaction(null, transactionId);
    const before = await archived();
    if (before !== null) return shownPosting(before);
    for await (const accountId of archive === NO_ARCHIVE ? index.all() : index.unarchived()) {
      const found = await readPosting(link, accountId, transactionId);
      if (found !== null) return shownPosting(found);
    }
    // It may have moved between the two reads.
    const after = await archived();
    return after === null ? null : shownPosting(after);
  }

  async function posting(accountId: string, transactionId: string): Promise<PostingRow | null> {
    const found =
      (await readPosting(link, accountId, transactionId)) ?? (await archive.transaction(accountId, transactionId));
    return found === null ? null : shownPosting(found);
  }

  /** The exporter reads noted accounts; a posting without a hold notes its account itself. */
  async function note(accountId: string): Promise<void> {
    await index.note(accountId, leaseMs);
  }

  async function credit(accountId: string, entry: Credit, reason: string): Promise<readonly string[]> {
    await note(accountId);
    const key = accountKey(accountId);
    const reply = await run("credit", key, { ...entry, detail: creditDetail(entry.reference, reason) });
    // A retry returns the first attempt's result.
    await copies.taken(key);
    return reply;
  }

  async function expire(accountId: string, countMax: number): Promise<string[]> {
    const overdue = await run("overdue", accountKey(accountId), { count: countMax });
    const ended: string[] = [];
    for (const holdId of overdue) {
      const [outcome] = await run("expire", accountKey(accountId), { hold_id: holdId, detail: NO_DETAIL });
      if (outcome === "ended") ended.push(holdId);
    }
    return ended;
  }

  const ledger: SharedLedger = {
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
      await note(accountId);
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
      const rows: AccountRow[] = [];
      for await (const accountId of index.all()) {
        const row = await account(accountId);
        if (row !== null) rows.push(row);
      }
      return rows.sort(byOpening);
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

    ...redisKeys(link, run, time),
    ...redisEvents(run, index, { hear, clock }),

    reserve(request) {
      nano(request.amountNano);
      const now = time();
      if (now.leapt) return Promise.resolve({ outcome: "clock_skew" } as const);
      return reserveOutcome(run, now, index, request);
    },
    async extend({ accountId, holdId }, amountNano, accrued, lease) {
      const asked = { hold_id: holdId, amount: nano(amountNano), accrued: nano(accrued), lease_ms: lease };
      await index.note(accountId, lease);
      return extendOutcome(await run("extend", accountKey(accountId), asked));
    },
    async standing({ accountId, holdId }) {
      const [said] = await run("standing", accountKey(accountId), { hold_id: holdId });
      return said as Standing;
    },
    async renew(holds, lease) {
      const byAccount = Map.groupBy(holds, ({ accountId }) => accountId);
      const gone = await Promise.all(
        [...byAccount].map(async ([accountId, refs]) => {
          await index.note(accountId, lease);
          const ids = refs.map(({ holdId }) => holdId);
          return run("renew", accountKey(accountId), { lease_ms: lease }, { rest: ids });
        }),
      );
      return gone.flat();
    },
    post: (request) => run("post", accountKey(request.accountId), postArguments(request)).then(postOutcome),
    async void({ accountId, holdId }, _reason, { keyFate = "free", upstreamNano = ZERO } = {}): Promise<VoidOutcome> {
      const upstream = nano(upstreamNano);
      const asked = { hold_id: holdId, fate: keyFate, upstream, ...NO_ORIGIN };
      const [outcome] = await run("void", accountKey(accountId), asked);
      return { outcome: outcome as VoidOutcome["outcome"] };
    },
    ...orphanTransitions(run),
    /** A shared store cannot know that a process is dead: every hold ends with its lease. */
    async sweep(countMax) {
      if (time().leapt || (await link.uptimeMs()) < leaseMs) return [];
      const ended: string[] = [];
      await index.overdue(async (accountId) => {
        ended.push(...(await expire(accountId, countMax - ended.length)));
        return ended.length < countMax;
      }, leaseMs);
      return ended;
    },

    async topUp(accountId, transactionId, amountNano, reference): Promise<TopUpOutcome> {
      const entry = { id: transactionId, kind: "topup", amount: nano(amountNano), reference } as const;
      const [outcome, balance] = await credit(accountId, entry, "");
      if (outcome === "unknown_account" || outcome === "too_much") return { outcome };
      return { outcome: outcome as "credited" | "exists", balanceNano: nano(Number(balance)) };
    },
    async refund(transactionId, refundId, reason): Promise<RefundOutcome> {
      const charge = await findPosting(transactionId);
      if (charge?.kind !== "charge") return { outcome: "unknown_transaction" };
      const { amountNano } = charge;
      const entry = { id: refundId, kind: "refund", amount: amountNano, reference: transactionId } as const;
      const [outcome, , id = refundId] = await credit(charge.accountId, entry, reason);
      return { outcome: outcome === "credited" ? "refunded" : "exists", refundId: id, amountNano };
    },
    transaction: (accountId, transactionId) =>
      accountId === null ? findPosting(transactionId) : posting(accountId, transactionId),
    async transactions(query) {
      return listPostings(link, archive, query);
    },
    spentToday: (accountId, scopes) => spentToday(link, accountId, scopes, time().nowMs),
    periodSums: (accountId, asked) => periodSums(link, accountId, asked, time().nowMs),
    async totals() {
      if (totals !== null && clock.elapsedMs() - totals.atMs < TOTALS_KEPT_MS) return totals.value;
      const value = await readTotals(parts, totals?.value ?? null);
      totals = { atMs: clock.elapsedMs(), value };
      return value;
    },
    // Covers what has moved to the archive, which is a minute old.
    usage: async (query) => archive.usage(query, query.sandbox === null ? [] : await playing(query)),
    search: (query) => archive.search(query),
    runPostings: (query) => listRunPostings(link, archive, query),
    doctor: () => examineRedis(link, index.all(), archive),
    backup: () =>
      Promise.reject(
        new Error("Redis is copied while no gateway runs: stop all of them and repeat; see docs/guides/backup.md"),
      ),
    close: () => Promise.resolve(),
  };
  return archive === NO_ARCHIVE ? ledger : withArchive(ledger, archive, note);
}
