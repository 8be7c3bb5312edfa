// The context of an answer: what all answers of a listener share, and the request body that may still be arriving.
import type { Clock } from "../../core/clock.ts";
import type { AnswerBytes } from "../../platform/limits/answer-bytes.ts";
import type { SlowClients } from "./slow-clients.ts";
import type { Due } from "./tick-end.ts";

/** What all replies of one listener share. */
export interface ReplyHost {
  readonly clock: Clock;
  readonly slowClients: SlowClients;
  /** The memory limit for answers that wait for their clients. */
  readonly answers: AnswerBytes;
  /** How long a client may read nothing before its connection is closed. */
  readonly stalledMsMax: number;
  /** See `Engine.keepAliveLine`. */
  readonly keepAliveLine: string;
  /** Whether connections close after their answer, because the listener is shutting down. */
  readonly draining: boolean;
  /** Calls back at the end of this turn of the event loop, when all pending input was read. */
  readonly atTickEnd: (due: Due) => void;
  /** Counts a reply that no longer needs its connection. */
  finished(): void;
}

/** A request body that may still be arriving. */
export interface OpenBody {
  /** The client has left. */
  abandon(): void;
  /** The answer begins. True: the end of the body is unknown, so the connection closes after the answer. */
  answered?(): boolean;
}
