// The shared ledger: each transition is one Redis script, and an account's keys share one slot.
import { minus, ZERO } from "../../../core/money.ts";
import { type Archive, NO_ARCHIVE } from "../archive/archive.ts";
import type { HoldRef, PostOutcome, SharedLedger } from "../model/ledger.ts";
import { redisAccounts } from "./accounts.ts";
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

/** Asks the archive about holds that Redis no longer has: six hours after a posting has moved there, only the archive knows it. `note` runs before a posting without a hold. */
function withArchive(ledger: SharedLedger, archive: Archive, note: (accountId: string) => Promise<void>): SharedLedger {
  /** The stored charge of a hold, as a repeated post returns it; null where the archive has none. */
  async function charged({ accountId, holdId }: HoldRef): Promise<PostOutcome | null> {
    const posting = await archive.transaction(accountId, holdId);
    if (posting?.kind !== "charge") return null;
    const account = await ledger.account(accountId);
    const balanceNano = account === null ? ZERO : minus(account.grantedNano, account.spentNano);
    const { amountNano, chargedCents, absorbedNano } = posting;
    return { outcome: "posted", repeat: true, chargedNano: amountNano, chargedCents, absorbedNano, balanceNano };
  }

  return {
    ...ledger,
    post: (request) =>
      ledger
        .post(request)
        .then(async (outcome) => (outcome.outcome === "missing" ? ((await charged(request)) ?? outcome) : outcome)),
    async settleOrphan(request, origin, why) {
      const before = await charged(request);
      if (before !== null) return before;
      await note(request.accountId);
      return ledger.settleOrphan(request, origin, why);
    },
    async voidOrphan(hold, keyFate, origin) {
      return (await charged(hold)) === null ? ledger.voidOrphan(hold, keyFate, origin) : { outcome: "posted" };
    },
    async holdState(hold) {
      return (await ledger.holdState(hold)) ?? ((await charged(hold)) === null ? null : "posted");
    },
  };
}
