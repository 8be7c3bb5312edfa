// Why an exchange with a vendor came to nothing, as what is thrown.
import type { FailureKind } from "../core/failures.ts";
import type { AttemptFailure, FinalPart } from "../core/route.ts";

/** A failure ends the call, unless its caller knows better. */
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

/** The vendor's answer is none: it cannot be read, or lacks what an answer has. */
export function malformed(message: string): AttemptFailure {
  return failureOfKind("provider_malformed", message, 200);
}

/** The vendor's answer is whole and says nothing. */
export function emptyAnswer(message: string, answer: FinalPart): AttemptFailure {
  return { ...failureOfKind("provider_empty", message, 200), answer };
}

/** The vendor's answer is whole and not of the form that was asked for. */
export function unfitAnswer(message: string, answer: FinalPart): AttemptFailure {
  return { ...failureOfKind("provider_unfit", message, 200), answer };
}

/** The call has ended; this is not waited for any more. */
export function cancelled(): VendorFailure {
  return new VendorFailure(failureOfKind("caller_cancelled", "the call has ended"));
}
