// Ends a job's hold once: charges what was decided, or nothing. A repeat returns the same.
import type { JobEnd } from "../../catalog/job-kind.ts";
import { add, ZERO } from "../../core/money.ts";
import { costBeside, costOf, postedLegs, upstreamOf } from "../../kernel/legs.ts";
import type { JobsDeps } from "./deps.ts";
import type { JobRecord } from "./job-record.ts";

interface PayDeps extends Pick<JobsDeps, "ledger" | "passedMark"> {
  readonly observer: Pick<JobsDeps["observer"], "unpaid">;
}

/** Returns the cents charged; null where the hold had ended already, so that the job's work stays unpaid. */
export async function payJob(job: JobRecord, deps: PayDeps): Promise<number | null> {
  const { hold, end, isUnheld, chain } = job;
  if (isUnheld === true) return 0;
  if (end === null || (end.chargeNano === ZERO && (end.status === "failed" || chain !== undefined))) {
    // The launch was answered; a repeat under its Idempotency-Key gets that answer.
    const upstreamNano = add(costOf(job.legs), end?.served?.upstreamNano ?? ZERO);
    const { outcome } = await deps.ledger.void(hold, "the job failed", { keyFate: "answered", upstreamNano });
    if (outcome === "voided" && !job.payer.sandbox) deps.observer.unpaid(ZERO, upstreamNano);
    return 0;
  }
  return postHold(job, end, deps);
}

export async function postHold(
  { hold, legs, kind, action = kind, payer, tags = [] }: JobRecord,
  { chargeNano, served }: Pick<JobEnd, "chargeNano" | "served">,
  { ledger, observer, passedMark }: PayDeps,
): Promise<number | null> {
  const ofServed = served?.upstreamNano ?? ZERO;
  const posted = await ledger.post({
    ...hold,
    amountNano: chargeNano,
    upstreamNano: add(upstreamOf(legs), ofServed),
    absorbReason: "usage_above_hold",
    provider: served?.provider ?? "tollgate",
    served: served?.action ?? action,
    usage: served?.usage ?? null,
    estimated: false,
    priceVersion: kind,
    legs: served?.legs ?? postedLegs(legs),
    beside: costBeside(legs),
    tags,
    decided: true,
  });
  if (posted.outcome !== "posted" && posted.outcome !== "spooled") return null;
  if (posted.marked === true && payer.runId !== undefined) passedMark?.(hold.accountId, payer.runId);
  const isRepeat = posted.outcome === "posted" && posted.repeat;
  if (!isRepeat && !payer.sandbox) observer.unpaid(posted.chargedNano, add(costOf(legs), ofServed));
  return posted.chargedCents;
}
