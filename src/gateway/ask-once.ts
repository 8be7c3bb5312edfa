// One attempt of one candidate to its end, for questions that no caller asks: no account pays, and no route's health is touched.
import type { AttemptFailure, Candidate, FinalPart, Reading } from "../core/route.ts";
import { failureOfKind } from "../upstream/vendor-failure.ts";

export interface AskBounds {
  /** How long content may take. */
  readonly contentMsMax: number;
  /** How long the whole answer may take. */
  readonly wholeMsMax: number;
  /** Ends the attempt before its time. */
  readonly signal?: AbortSignal;
}

export interface Asked {
  /** Null: a whole answer came. */
  readonly failure: AttemptFailure | null;
  readonly reading: Reading;
  /** The bytes that a caller would have been streamed. */
  readonly streamed: Buffer;
  /** Null where it failed. */
  readonly final: FinalPart | null;
}

/** Asks once. Resolves whatever comes of it. */
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
    // The attempt's own clocks bound the wait for each part of an answer, not for all of them together.
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
