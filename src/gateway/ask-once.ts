// Runs one attempt of one candidate to its end, for the gateway's own checks: no account pays and no route's health changes.
import type { AttemptFailure, Candidate, FinalPart, Reading } from "../core/route.ts";
import { failureOfKind } from "../upstream/vendor-failure.ts";

export interface AskBounds {
  readonly contentMsMax: number;
  readonly wholeMsMax: number;
  readonly signal?: AbortSignal;
}

export interface Asked {
  /** Null: the answer was complete. */
  readonly failure: AttemptFailure | null;
  readonly reading: Reading;
  /** The bytes that would have been streamed to a caller. */
  readonly streamed: Buffer;
  /** Null where the attempt failed. */
  readonly final: FinalPart | null;
}

/** Runs the attempt once. Never rejects. */
export function askOnce(candidate: Candidate, { contentMsMax, wholeMsMax, signal }: AskBounds): Promise<Asked> {
  return new Promise((resolve) => {
    const chunks: Uint8Array[] = [];
    const end = (failure: AttemptFailure | null, final: FinalPart | null) => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", leave);
      resolve({ failure, final, reading: attempt.reading(), streamed: Buffer.concat(chunks) });
    };
    const giveUp = (words: string) => {
      attempt.abort();
      end(failureOfKind("provider_timeout", words), null);
    };
    const leave = () => giveUp("it was stopped here");
    // The attempt's own timers limit the wait for each part of an answer, not for the whole.
    const timer = setTimeout(() => giveUp("no whole answer came"), wholeMsMax);
    const attempt = candidate.open(
      {
        content: (bytes) => {
          chunks.push(Buffer.from(bytes));
        },
        done: (final) => end(null, final),
        failed: (failure) => end(failure, null),
      },
      contentMsMax,
    );
    signal?.addEventListener("abort", leave);
  });
}
