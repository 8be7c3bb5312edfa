// Ends holds that the store may have lost or expired, from what the process that placed them knows.
import { add, nano, ZERO } from "../../../core/money.ts";
import type { HoldOrigin, HoldState, PostRequest, SharedLedger, VoidOutcome } from "../model/ledger.ts";
import { packLegs } from "../model/legs.ts";
import { idempotencyId, metaText, postOutcome } from "./replies.ts";
import { accountKey } from "./rows.ts";
import type { RunTransition } from "./script.ts";

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

/** The origin arguments of `void` for a hold that exists, or of which nothing is known. */
export const NO_ORIGIN = {
  meta: "",
  placed_at: "",
  idempotency: "",
  fingerprint: "",
  keep_ms: "",
  effect: "",
} as const;

function idempotencyArguments(origin: HoldOrigin) {
  const { idempotency, effect } = origin;
  return {
    idempotency: idempotencyId(origin),
    fingerprint: idempotency?.fingerprint ?? "",
    keep_ms: idempotency?.keepMs ?? "",
    effect,
  };
}

type Orphans = Pick<SharedLedger, "settleOrphan" | "voidOrphan" | "holdState">;

export function orphanTransitions(run: RunTransition): Orphans {
  return {
    settleOrphan(request, origin, why) {
      const { keyId, inference, nowMs, amountNano } = origin;
      return run("settle_orphan", accountKey(request.accountId), {
        ...postArguments(request),
        key_id: keyId,
        inference: inference ? "1" : "0",
        meta: metaText(origin),
        placed_at: Math.floor(nowMs),
        placed_amount: amountNano,
        ...idempotencyArguments(origin),
        why,
      }).then(postOutcome);
    },
    async voidOrphan({ accountId, holdId }, { keyFate = "free", upstreamNano = ZERO }, origin) {
      const [outcome] = await run("void", accountKey(accountId), {
        hold_id: holdId,
        fate: keyFate,
        upstream: nano(upstreamNano),
        meta: metaText(origin),
        placed_at: Math.floor(origin.nowMs),
        ...idempotencyArguments(origin),
      });
      return { outcome: outcome as VoidOutcome["outcome"] };
    },
    async holdState({ accountId, holdId }) {
      const [state] = await run("state", accountKey(accountId), { hold_id: holdId });
      return state === "missing" ? null : (state as HoldState);
    },
  };
}
