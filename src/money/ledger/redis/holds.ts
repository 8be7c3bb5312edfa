// The calls' holds in Redis: placing, growing, renewing and ending them.
import { nano, ZERO } from "../../../core/money.ts";
import type { SharedLedger, Standing, VoidOutcome } from "../model/ledger.ts";
import { NO_ORIGIN, postArguments } from "./orphans.ts";
import type { LedgerPlace } from "./place.ts";
import { extendOutcome, postOutcome, reserveOutcome } from "./replies.ts";
import { accountKey } from "./rows.ts";

type Holds = Pick<SharedLedger, "reserve" | "extend" | "standing" | "renew" | "post" | "void" | "sweep">;

/** The detail of an expired hold's posting: nothing is known of its call's cost. */
const NO_DETAIL = JSON.stringify({
  upstreamNano: 0,
  provider: null,
  served: null,
  usage: null,
  estimated: true,
  priceVersion: null,
});

/** `leaseMs`: the longest lease. */
export function redisHolds({ link, run, index, time }: LedgerPlace, leaseMs: number): Holds {
  async function expire(accountId: string, countMax: number): Promise<string[]> {
    const overdue = await run("overdue", accountKey(accountId), { count: countMax });
    const ended: string[] = [];
    for (const holdId of overdue) {
      const [outcome] = await run("expire", accountKey(accountId), { hold_id: holdId, detail: NO_DETAIL });
      if (outcome === "ended") ended.push(holdId);
    }
    return ended;
  }

  return {
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
  };
}
