// Writes a call's outcome to its request record.

import type { Ended } from "../../core/plan.ts";
import { upstreamOf } from "../../kernel/legs.ts";
import type { RequestRecord } from "../../platform/observe/record.ts";

export function note(ended: Ended, record: RequestRecord): void {
  const { outcome, charge, cost, served } = ended;
  record.outcome = outcome;
  record.attempts = ended.isReplay ? [] : ended.legs;
  record.heldNano = ended.heldNano;
  record.skippedEvents = ended.skippedEvents;
  if (ended.firstContentMs !== null) record.firstTokenMs = ended.firstContentMs - record.startedMs;
  // Failed attempts and abandoned calls may have cost us too.
  record.upstreamNano = upstreamOf(record.attempts);
  if (charge !== null && ended.isReplay) record.transactionId = charge.transactionId;
  if (served !== null) {
    record.served = served.model;
    record.provider = served.provider;
  }
  if (cost === null || charge === null || ended.isReplay || charge.transactionId === null) return;
  record.usage = cost.usage;
  record.estimated = cost.estimated;
  record.chargedNano = charge.chargedNano;
  record.absorbedNano = charge.absorbedNano;
  record.absorbReason = charge.absorbReason;
  if (charge.absorbReason === null || charge.absorbReason === "usage_above_hold")
    record.transactionId = charge.transactionId;
}
