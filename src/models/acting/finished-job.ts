// An action that answers with a job is asked after until that is over, as far as the call has time: the model gets what it brought.
import type { InnerAnswer, InnerCalls } from "../../catalog/local-action.ts";
import { type Clock, pause } from "../../core/clock.ts";
import { isRecord } from "../../core/json.ts";

const RESULT = "core/result";
/** A job that takes long is asked after less and less often: each time is a leg of the posting. */
const POLL_MS = 3_000;
const POLL_MS_MAX = 30_000;
const POLL_GROWS = 1.25;
/** After so many failures one after the other the job is not asked after any more: one alone says nothing of it. */
const FAILED_MAX = 3;
/** What is left for the model to say that it is not over. */
const ANSWER_MS = 20_000;
const RUNNING: ReadonlySet<unknown> = new Set(["queued", "running"]);

export interface PollParts {
  readonly calls: InnerCalls;
  readonly clock: Clock;
  /** On `clock.elapsedMs()`. */
  readonly deadlineMs: number;
  /** Aborted when the caller has left, or the call is stopped. */
  readonly left: AbortSignal;
}

/** The job that an answer launches; null: it is an answer. */
function jobIn(answer: InnerAnswer): string | null {
  if (!answer.ok || !isRecord(answer.data)) return null;
  const { job_id: id, async: isAsync, status } = answer.data;
  return typeof id === "string" && (isAsync === true || RUNNING.has(status)) ? id : null;
}

/** The same answer, or what its job has come to. One that takes longer than there is time stands as it was told last. */
export async function finishedJob(launched: InnerAnswer, parts: PollParts): Promise<InnerAnswer> {
  const { calls, clock, deadlineMs, left } = parts;
  const id = jobIn(launched);
  if (id === null) return launched;
  let last = launched;
  let pollMs = POLL_MS;
  let failed = 0;
  while (!left.aborted && clock.elapsedMs() + pollMs + ANSWER_MS < deadlineMs) {
    await pause(pollMs, left);
    pollMs = Math.min(pollMs * POLL_GROWS, POLL_MS_MAX);
    if (left.aborted) return last;
    const told = await calls.call({ action: RESULT, params: { job_id: id } });
    failed = told.ok ? 0 : failed + 1;
    if (failed === FAILED_MAX) return told;
    if (!told.ok) continue;
    last = told;
    if (!isRecord(told.data) || !RUNNING.has(told.data.status)) return told;
  }
  return last;
}
