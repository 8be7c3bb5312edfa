// Ends holds that the store may have lost or let expire, by what the process that placed them still knows.
import { nano } from "../../money.ts";
import type { HoldOrigin, HoldState, PostRequest, SharedLedger, VoidOutcome } from "../model/ledger.ts";
import { packLegs } from "../model/legs.ts";
import { idempotencyId, postOutcome } from "./replies.ts";
import { accountKey } from "./rows.ts";
import type { RunTransition, TransitionTime } from "./script.ts";

/** What the script `post` is told beside the time. */
export function postArgs(request: PostRequest): readonly (string | number)[] {
  const { accountId: _, holdId, amountNano, absorbReason, upstreamNano, ...rest } = request;
  const { provider, served, usage, estimated, priceVersion } = rest;
  const detail = { upstreamNano: nano(upstreamNano), provider, served, usage, estimated, priceVersion };
  const text = JSON.stringify(request.legs.length === 0 ? detail : { ...detail, legs: packLegs(request.legs) });
  return [holdId, nano(amountNano), text, absorbReason];
}

function idempotencyArgs(origin: HoldOrigin): readonly (string | number)[] {
  const { idempotency, effect } = origin;
  return [idempotencyId(origin), idempotency?.fingerprint ?? "", idempotency?.keepMs ?? "", effect];
}

type Orphans = Pick<SharedLedger, "settleOrphan" | "voidOrphan" | "holdState">;

export function orphanTransitions(run: RunTransition, time: () => TransitionTime): Orphans {
  return {
    settleOrphan(request, origin, why) {
      const { keyId, inference, parentId, requestId, operation, asked, nowMs, amountNano } = origin;
      const meta = JSON.stringify({ parentId, requestId, operation, asked });
      const placed = [keyId, inference ? "1" : "0", meta, Math.floor(nowMs), amountNano];
      const args = [...time().args, ...postArgs(request), ...placed, ...idempotencyArgs(origin), why];
      return run("settle_orphan", accountKey(request.accountId), args).then(postOutcome);
    },
    async voidOrphan({ accountId, holdId }, keyFate, origin) {
      const args = [...time().args, holdId, keyFate, ...idempotencyArgs(origin)];
      const [outcome] = await run("void", accountKey(accountId), args);
      return { outcome: outcome as VoidOutcome["outcome"] };
    },
    async holdState({ accountId, holdId }) {
      const [state] = await run("state", accountKey(accountId), [...time().args, holdId]);
      return state === "missing" ? null : (state as HoldState);
    },
  };
}
