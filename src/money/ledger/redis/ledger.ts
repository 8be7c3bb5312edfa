// The shared ledger: each transition is one Redis script, and an account's keys share one slot.
import { NO_ARCHIVE } from "../archive/archive.ts";
import type { LedgerTotals, SharedLedger } from "../model/ledger.ts";
import { redisAccounts } from "./accounts.ts";
import { withArchive } from "./archived.ts";
import { examineRedis } from "./doctor.ts";
import { type Hear, redisEvents } from "./events.ts";
import { redisHolds } from "./holds.ts";
import { redisKeys } from "./keys.ts";
import { orphanTransitions } from "./orphans.ts";
import { ledgerPlace, type PlaceOptions } from "./place.ts";
import { redisPostings } from "./postings.ts";
import { periodSums, spentToday } from "./rows.ts";
import { playSpent, sandboxAccounts } from "./sandbox-accounts.ts";
import { readTotals } from "./totals.ts";

export interface RedisLedgerOptions extends PlaceOptions {
  /** The longest lease. A server that has been up for less ends no holds, because leases could not be renewed while it was down. */
  readonly leaseMs: number;
  /** Subscribes to a channel of the server; absent: all accounts are polled for events. */
  readonly hear?: Hear;
}

const TOTALS_KEPT_MS = 10_000;

/** Opens the ledger over a connection. Keeps no state in this process. */
export function redisLedger(options: RedisLedgerOptions): SharedLedger {
  const { leaseMs, hear } = options;
  const place = ledgerPlace(options);
  const { link, clock, archive, time, run, index } = place;
  const playing = sandboxAccounts(link, archive);
  const parts = { link, index, archive, playSpent: playSpent(archive, playing, () => clock.epochMs()) };
  let totals: { readonly atMs: number; readonly value: LedgerTotals } | null = null;

  const ledger: SharedLedger = {
    ...redisAccounts(place, leaseMs),
    ...redisKeys(place),
    ...redisEvents(run, index, { hear, clock }),
    ...redisHolds(place, leaseMs),
    ...orphanTransitions(run),
    ...redisPostings(place, leaseMs),
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
    doctor: () => examineRedis(link, index.all(), archive),
    backup: () =>
      Promise.reject(
        new Error("Redis is copied while no gateway runs: stop all of them and repeat; see docs/guides/backup.md"),
      ),
    close: () => Promise.resolve(),
  };
  return archive === NO_ARCHIVE
    ? ledger
    : withArchive(ledger, archive, async (accountId) => void (await index.note(accountId, leaseMs)));
}
