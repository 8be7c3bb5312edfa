// The one end that a job's hold comes to: it pays what was decided, or nothing. Asked again, it says the same.
import { postedLegs, upstreamOf } from "../kernel/legs.ts";
import { ZERO } from "../money.ts";
import type { JobsDeps } from "./deps.ts";
import type { JobRecord } from "./job-record.ts";

/** Answers how many cents were charged; null: its hold had ended without it, and nobody pays for what it did. */
export async function payJob(
  { hold, end, legs, kind, tags = [] }: JobRecord,
  ledger: JobsDeps["ledger"],
): Promise<number | null> {
  if (end === null || (end.status === "failed" && end.chargeNano === ZERO)) {
    // The launch was answered: under its Idempotency-Key it is answered so again.
    await ledger.void(hold, "the job failed", "answered");
    return 0;
  }
  const posted = await ledger.post({
    ...hold,
    amountNano: end.chargeNano,
    upstreamNano: upstreamOf(legs),
    absorbReason: "usage_above_hold",
    provider: "tollgate",
    served: kind,
    usage: null,
    estimated: false,
    priceVersion: kind,
    legs: postedLegs(legs),
    tags,
    decided: true,
  });
  return posted.outcome === "posted" || posted.outcome === "spooled" ? posted.chargedCents : null;
}
