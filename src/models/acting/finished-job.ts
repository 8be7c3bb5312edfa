// Polls the job that an action has launched until it ends or the call runs out of time: the model gets the job's result.
import type { InnerAnswer, InnerCalls } from "../../catalog/local-action.ts";
import { type Clock, pause } from "../../core/clock.ts";
import { isRecord } from "../../core/json.ts";

const RESULT = "core/result";
/** The interval grows with each poll, because each poll is a leg of the posting. */
const POLL_MS = 3_000;
const POLL_MS_MAX = 30_000;
const POLL_GROWS = 1.25;
/** Stop polling after this many failures in a row: a single one means little. */
const FAILED_MAX = 3;
/** Time reserved for the model to answer that the job is still running. */
const ANSWER_MS = 20_000;
const RUNNING: ReadonlySet<unknown> = new Set(["queued", "running"]);

export interface PollParts {
  readonly calls: InnerCalls;
  readonly clock: Clock;
  /** On `clock.elapsedMs()`. */
  readonly deadlineMs: number;
  /** Aborted when the caller disconnects or the call is stopped. */
  readonly left: AbortSignal;
}

/** The id of the job that an answer launched; null: it is a final answer. */
function jobIn(answer: InnerAnswer): string | null {
  if (!answer.ok || !isRecord(answer.data)) return null;
  const { job_id: id, async: isAsync, status } = answer.data;
  return typeof id === "string" && (isAsync === true || RUNNING.has(status)) ? id : null;
}

/** The answer itself, or its job's result. If time runs out first, the job's last status. */
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
