// The calls' holds in Redis: placing, growing, renewing and ending them, also those that the store may have lost.
import { add, nano, ZERO } from "../../../core/money.ts";
import type {
  HoldOrigin,
  HoldRef,
  HoldState,
  PostRequest,
  SharedLedger,
  Standing,
  VoidEnd,
  VoidOutcome,
} from "../model/ledger.ts";
import { packLegs } from "../model/legs.ts";
import type { LedgerPlace } from "./place.ts";
import { extendOutcome, idempotencyId, metaText, postOutcome, reserveOutcome } from "./replies.ts";
import { accountKey } from "./rows.ts";
import type { RunTransition } from "./script.ts";

type Holds = Pick<
  SharedLedger,
  | ("reserve" | "extend" | "standing" | "renew" | "post" | "void" | "sweep")
  | ("settleOrphan" | "voidOrphan" | "holdState")
>;

/** The detail of an expired hold's posting: nothing is known of its call's cost. */
const NO_DETAIL = JSON.stringify({
  upstreamNano: 0,
  provider: null,
  served: null,
  usage: null,
  estimated: true,
  priceVersion: null,
});

export function postArguments(request: PostRequest) {
  const { holdId, amountNano, absorbReason, upstreamNano, provider, served, usage, estimated, priceVersion } = request;
  const { tags, beside } = request;
  // Absent fields take no space.
  const told = tags === undefined || tags.length === 0 ? undefined : tags;
  const detail = { upstreamNano: nano(upstreamNano), provider, served, usage, estimated, priceVersion, tags: told };
  return {
    hold_id: holdId,
    amount: nano(amountNano),
    upstream: nano(add(upstreamNano, beside?.costNano ?? ZERO)),
    beside: beside === undefined ? "" : nano(beside.chargedNano),
    detail: JSON.stringify(request.legs.length === 0 ? detail : { ...detail, legs: packLegs(request.legs) }),
    absorb_reason: absorbReason,
  };
}

/** What the process that placed a hold knows of it; null: the hold exists, or nothing is known. */
function originArguments(origin: HoldOrigin | null) {
  return {
    meta: origin === null ? "" : metaText(origin),
    placed_at: origin === null ? "" : Math.floor(origin.nowMs),
    idempotency: origin === null ? "" : idempotencyId(origin),
    fingerprint: origin?.idempotency?.fingerprint ?? "",
    keep_ms: origin?.idempotency?.keepMs ?? "",
    effect: origin?.effect ?? "",
  };
}

async function expire(run: RunTransition, accountId: string, countMax: number): Promise<string[]> {
  const overdue = await run("overdue", accountKey(accountId), { count: countMax });
  const ended: string[] = [];
  for (const holdId of overdue) {
    const [outcome] = await run("expire", accountKey(accountId), { hold_id: holdId, detail: NO_DETAIL });
    if (outcome === "ended") ended.push(holdId);
  }
  return ended;
}

/** `leaseMs`: the longest lease. */
export function redisHolds({ link, run, index, time }: LedgerPlace, leaseMs: number): Holds {
  async function voidHold(
    { accountId, holdId }: HoldRef,
    end: VoidEnd,
    origin: HoldOrigin | null,
  ): Promise<VoidOutcome> {
    const { keyFate = "free", upstreamNano = ZERO } = end;
    const asked = { hold_id: holdId, fate: keyFate, upstream: nano(upstreamNano), ...originArguments(origin) };
    const [outcome] = await run("void", accountKey(accountId), asked);
    return { outcome: outcome as VoidOutcome["outcome"] };
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
    void: (hold, _reason, end = {}) => voidHold(hold, end, null),
    voidOrphan: voidHold,
    settleOrphan(request, origin, why) {
      const { keyId, inference, amountNano } = origin;
      return run("settle_orphan", accountKey(request.accountId), {
        ...postArguments(request),
        ...originArguments(origin),
        key_id: keyId,
        inference: inference ? "1" : "0",
        placed_amount: amountNano,
        why,
      }).then(postOutcome);
    },
    async holdState({ accountId, holdId }) {
      const [state] = await run("state", accountKey(accountId), { hold_id: holdId });
      return state === "missing" ? null : (state as HoldState);
    },
    /** A shared store cannot know that a process is dead: every hold ends with its lease. */
    async sweep(countMax) {
      if (time().leapt || (await link.uptimeMs()) < leaseMs) return [];
      const ended: string[] = [];
      await index.overdue(async (accountId) => {
        ended.push(...(await expire(run, accountId, countMax - ended.length)));
        return ended.length < countMax;
      }, leaseMs);
      return ended;
    },
  };
}
