// The shared ledger: each transition is one Redis script, and an account's keys share one slot.
import { NO_ARCHIVE } from "../archive/archive.ts";
import type { SharedLedger } from "../model/ledger.ts";
import { redisAccounts } from "./accounts.ts";
import { withArchive } from "./archived.ts";
import { examineRedis } from "./doctor.ts";
import { type Hear, redisEvents } from "./events.ts";
import { redisHolds } from "./holds.ts";
import { redisKeys } from "./keys.ts";
import { ledgerPlace, type PlaceOptions } from "./place.ts";
import { redisPostings } from "./postings.ts";
import { periodSums, spentToday } from "./rows.ts";
import { playSpent, sandboxAccounts, totalsOf } from "./totals.ts";

export interface RedisLedgerOptions extends PlaceOptions {
  /** The longest lease. A server that has been up for less ends no holds, because leases could not be renewed while it was down. */
  readonly leaseMs: number;
  /** Subscribes to a channel of the server; absent: all accounts are polled for events. */
  readonly hear?: Hear;
}

/** Opens the ledger over a connection. Keeps no state in this process. */
export function redisLedger(options: RedisLedgerOptions): SharedLedger {
  const { leaseMs, hear } = options;
  const place = ledgerPlace(options);
  const { link, clock, archive, time, run, index } = place;
  const playing = sandboxAccounts(link, archive);

  const ledger: SharedLedger = {
    ...redisAccounts(place, leaseMs),
    ...redisKeys(place),
    ...redisEvents(run, index, { hear, clock }),
    ...redisHolds(place, leaseMs),
    ...redisPostings(place, leaseMs),
    spentToday: (accountId, scopes) => spentToday(link, accountId, scopes, time().nowMs),
    periodSums: (accountId, asked) => periodSums(link, accountId, asked, time().nowMs),
    totals: totalsOf(
      place,
      playSpent(archive, playing, () => clock.epochMs()),
    ),
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
