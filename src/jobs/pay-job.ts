// The one end that a hold of a job comes to: it pays what was decided, or nothing. Asked again, it says the same.
import type { JobEnd } from "../catalog/job-kind.ts";
import { postedLegs, upstreamOf } from "../kernel/legs.ts";
import { add, ZERO } from "../money.ts";
import type { JobsDeps } from "./deps.ts";
import type { JobRecord } from "./job-record.ts";

/** Answers how many cents were charged; null: its hold had ended without it, and nobody pays for what it did. */
export async function payJob(job: JobRecord, ledger: JobsDeps["ledger"]): Promise<number | null> {
  const { hold, end, isUnheld } = job;
  if (isUnheld === true) return 0;
  if (end === null || (end.status === "failed" && end.chargeNano === ZERO)) {
    // The launch was answered: under its Idempotency-Key it is answered so again.
    await ledger.void(hold, "the job failed", "answered");
    return 0;
  }
  return postHold(job, end, ledger);
}

/** Charges the hold that a job has just now. */
export async function postHold(
  { hold, legs, kind, action = kind, tags = [] }: JobRecord,
  { chargeNano, served }: Pick<JobEnd, "chargeNano" | "served">,
  ledger: JobsDeps["ledger"],
): Promise<number | null> {
  const upstreamNano = upstreamOf(legs);
  const posted = await ledger.post({
    ...hold,
    amountNano: chargeNano,
    upstreamNano: served === undefined ? upstreamNano : add(upstreamNano, served.upstreamNano),
    absorbReason: "usage_above_hold",
    provider: served?.provider ?? "tollgate",
    served: served?.action ?? action,
    usage: null,
    estimated: false,
    priceVersion: kind,
    legs: postedLegs(legs),
    tags,
    decided: true,
  });
  return posted.outcome === "posted" || posted.outcome === "spooled" ? posted.chargedCents : null;
}
