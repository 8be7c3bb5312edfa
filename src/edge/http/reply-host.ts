// What an answer has around it: what all answers of a listener share, and the body that may still be coming in.
import type { Clock } from "../../core/clock.ts";
import type { AnswerBytes } from "../../platform/limits/answer-bytes.ts";
import type { SlowClients } from "./slow-clients.ts";
import type { Due } from "./tick-end.ts";

/** What all replies of one listener share. */
export interface ReplyHost {
  readonly clock: Clock;
  readonly slowClients: SlowClients;
  /** What answers may take of memory that wait for their clients. */
  readonly answers: AnswerBytes;
  /** How long a client may read nothing before its connection is closed. */
  readonly stalledMsMax: number;
  /** See `Engine.keepAliveLine`. */
  readonly keepAliveLine: string;
  /** Whether connections end with the answer, because the listener is going away. */
  readonly draining: boolean;
  /** Calls back when this turn of the event loop has read what had come. */
  readonly atTickEnd: (due: Due) => void;
  /** Counts a reply that needs its connection no more. */
  finished(): void;
}

/** A request body that may still be coming in. */
export interface OpenBody {
  /** The client has left. */
  abandon(): void;
  /** The answer begins. True: where the body ends is not known, so the connection ends with the answer. */
  answered?(): boolean;
}
