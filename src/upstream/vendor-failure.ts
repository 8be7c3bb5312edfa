// The failure of an exchange with a vendor, as an exception.
import type { FailureKind } from "../core/failures.ts";
import type { FinishReason } from "../core/neutral.ts";
import type { AttemptFailure, FinalPart } from "../core/route.ts";

/** Ends the call, unless the code that catches it decides otherwise. */
export class VendorFailure extends Error {
  readonly failure: AttemptFailure;

  constructor(failure: AttemptFailure) {
    super(failure.message);
    this.failure = failure;
  }
}

export function failureOfKind(kind: FailureKind, message: string, status = 0): AttemptFailure {
  return { kind, status, message, retryAfterMs: null };
}

/** The vendor's answer is unreadable, or lacks a required part. */
export function malformed(message: string): AttemptFailure {
  return failureOfKind("provider_malformed", message, 200);
}

/** Why an answer was empty; null where a filter, the output limit or a stop sequence explains it. */
export function emptiness(finish: FinishReason, native: string): string | null {
  const isExplained = finish === "length" || finish === "content_filter" || native === "stop_sequence";
  return isExplained ? null : `the answer is empty (${native})`;
}

/** The vendor's answer is complete but empty. */
export function emptyAnswer(message: string, answer: FinalPart): AttemptFailure {
  return { ...failureOfKind("provider_empty", message, 200), answer };
}

/** The vendor's answer is complete but not in the requested format. */
export function unfitAnswer(message: string, answer: FinalPart): AttemptFailure {
  return { ...failureOfKind("provider_unfit", message, 200), answer };
}

/** The call has ended, so this is no longer needed. */
export function cancelled(): VendorFailure {
  return new VendorFailure(failureOfKind("caller_cancelled", "the call has ended"));
}
