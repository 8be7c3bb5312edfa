// One record per request: each step fills in its part, and at the end it becomes a log line and metrics.
import type { ErrorCode } from "../../core/errors.ts";
import { ZERO } from "../../core/money.ts";
import type { Outcome } from "../../core/plan.ts";
import type { Leg, TokenUsage } from "../../core/route.ts";
import type { TraceContext } from "./trace-context.ts";

/** What is known once a request's head has been read. */
export interface RecordStart {
  readonly requestId: string;
  readonly method: string;
  /** `clock.elapsedMs()` when the request's head arrived. */
  readonly startedMs: number;
}

const NO_TAGS: readonly string[] = [];

/** Fields are null, zero or empty until their step has run. Must not contain prompts, answers or keys. */
export class RequestRecord implements RecordStart {
  readonly requestId: string;
  readonly method: string;
  readonly startedMs: number;
  /** Its place in the caller's trace (W3C Trace Context); null: the caller began none. */
  trace: TraceContext | null = null;
  /** The endpoint's path template, such as `/api/v1/transactions/{id}`; `_other` where no endpoint matched. */
  endpoint = "_other";
  /** Sent by a monitoring probe. */
  watched = false;
  /** The status sent; 0 if the client disconnected before any. */
  status = 0;
  /** The code of the error that the caller got, including one inside a stream. */
  code: ErrorCode | null = null;
  /** The error's message to the caller; used only in the file of uncharged calls. */
  told: string | null = null;
  accountId: string | null = null;
  keyId: string | null = null;
  sandbox = false;
  /** From the plan: `chat`, `embeddings`, `run`. Null for free endpoints. */
  operation: string | null = null;
  asked: string | null = null;
  tags = NO_TAGS;
  runId: string | null = null;
  streamed = false;
  served: string | null = null;
  provider: string | null = null;
  attempts: readonly Leg[] = [];
  /** Upstream events that could not be parsed and were skipped. */
  skippedEvents = 0;
  /** From the request's head to the first content sent. */
  firstTokenMs: number | null = null;
  usage: TokenUsage | null = null;
  /** No usage was reported, so the tokens were counted here. */
  estimated = false;
  heldNano = ZERO;
  chargedNano = ZERO;
  /** What the upstream bills us. */
  upstreamNano = ZERO;
  absorbedNano = ZERO;
  absorbReason: string | null = null;
  transactionId: string | null = null;
  outcome: Outcome | null = null;
  bytesIn = 0;
  bytesOut = 0;
  /** Set by `Observer.end`: from the request's head to the end of its answer. */
  durationMs = 0;

  constructor({ requestId, method, startedMs }: RecordStart) {
    this.requestId = requestId;
    this.method = method;
    this.startedMs = startedMs;
  }
}
