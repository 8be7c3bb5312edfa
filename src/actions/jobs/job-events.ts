// Streams a job's events to a caller that waits for it: its progress, then its result.
import type { ToldEvent, ToldEvents } from "../../catalog/local-action.ts";
import { type Clock, pause } from "../../core/clock.ts";
import { GatewayError } from "../../core/errors.ts";
import type { Payer } from "../../core/plan.ts";
import { tally } from "../../core/tally.ts";
import { isOver, type JobRecord } from "./job-record.ts";
import { jobView } from "./job-view.ts";
import type { Jobs } from "./jobs.ts";

/** Open streams per account in this process. */
const STREAMS_MAX = 20;
/** The shortest time between two events of a stream. */
const EVENT_MS_MIN = 200;
const HEARTBEAT_MS = 15_000;
/** After this long the caller must reconnect. */
const STREAM_MS_MAX = 3_600_000;
/** A longer result is not sent as an event. */
const RESULT_CHARS_MAX = 256 * 1_024;
const AGAIN_SECONDS = 5;

export interface JobEventsParts {
  /** Read for each stream, because the jobs are created after the actions. */
  readonly jobs: () => Pick<Jobs, "find" | "watch" | "spentCents">;
  readonly clock: Pick<Clock, "elapsedMs">;
  /** The polling answer for a finished job, as JSON; null where it exceeds `charsMax` or is gone. */
  ended(job: JobRecord, charsMax: number): Promise<string | null>;
  /** This process is shutting down and ends its streams. */
  draining(): boolean;
}

export type OpenJobEvents = (
  id: string,
  payer: Payer,
  signal: AbortSignal,
) => Promise<ToldEvents | GatewayError | null>;

/** Streams jobs' events; null where the payer has no such job. A stream counts against its account until its signal is aborted. */
export function createJobEvents(parts: JobEventsParts): OpenJobEvents {
  const open = new Map<string, number>();

  return async (id, payer, signal) => {
    const job = await parts.jobs().find(id, payer);
    if (job === null || signal.aborted) return null;
    if ((open.get(payer.id) ?? 0) >= STREAMS_MAX)
      return new GatewayError("too_many_streams", { detail: { limit: STREAMS_MAX }, retryAfterSeconds: AGAIN_SECONDS });
    tally(open, payer.id, 1);
    signal.addEventListener("abort", () => tally(open, payer.id, -1), { once: true });
    return follow(job, signal, parts);
  };
}

async function* follow(first: JobRecord, signal: AbortSignal, parts: JobEventsParts): AsyncGenerator<ToldEvent | null> {
  const { clock, draining } = parts;
  const watched = parts.jobs().watch(first);
  const wake = () => watched.wake();
  signal.addEventListener("abort", wake, { once: true });
  const untilMs = clock.elapsedMs() + STREAM_MS_MAX;
  let told = "";
  let toldMs = 0;
  try {
    while (!signal.aborted) {
      const { job } = watched;
      if (job !== null && isOver(job)) {
        yield { event: "result", json: await lastOf(job, parts) };
        return;
      }
      const json = job === null ? told : progressOf(job, parts);
      if (json !== told || clock.elapsedMs() - toldMs >= HEARTBEAT_MS) {
        const event = json === told ? null : { event: "progress", json };
        told = json;
        toldMs = clock.elapsedMs();
        yield event;
      }
      if (job === null || draining() || clock.elapsedMs() >= untilMs) {
        yield { event: "again", json: JSON.stringify({ job_id: first.id, after_seconds: AGAIN_SECONDS }) };
        return;
      }
      await watched.next();
      const tooSoonMs = toldMs + EVENT_MS_MIN - clock.elapsedMs();
      if (tooSoonMs > 0) await pause(tooSoonMs, signal);
    }
  } finally {
    signal.removeEventListener("abort", wake);
    watched.close();
  }
}

function progressOf(job: JobRecord, { jobs }: JobEventsParts): string {
  const { job_id, status, progress } = jobView(job);
  const spent = jobs().spentCents(job);
  return JSON.stringify({ job_id, status, progress, ...(spent === null ? {} : { spent_cents: spent }) });
}

/** The last event: the polling answer, without a result that is too long. */
async function lastOf(job: JobRecord, { ended }: JobEventsParts): Promise<string> {
  const whole = await ended(job, RESULT_CHARS_MAX);
  if (whole !== null) return whole;
  const { result: _, ...view } = jobView(job);
  const hint = "The result is too long for an event: POST core/result without `Accept: text/event-stream` answers it.";
  return JSON.stringify({ ...view, hint });
}
