// One record per request: each step fills in its part, and at the end it becomes a log line and metrics.
import type { ErrorCode } from "../../core/errors.ts";
import type { Nano } from "../../core/money.ts";
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

/** Fields are null, zero or empty until their step has run. Must not contain prompts, answers or keys. */
export interface RequestRecord extends RecordStart {
  /** Its place in the caller's trace (W3C Trace Context); null: the caller began none. */
  trace: TraceContext | null;
  /** The endpoint's path template, such as `/api/v1/transactions/{id}`; `_other` where no endpoint matched. */
  endpoint: string;
  /** Sent by a monitoring probe. */
  watched: boolean;
  /** The status sent; 0 if the client disconnected before any. */
  status: number;
  /** The code of the error that the caller got, including one inside a stream. */
  code: ErrorCode | null;
  /** The error's message to the caller; used only in the file of uncharged calls. */
  told: string | null;
  accountId: string | null;
  keyId: string | null;
  sandbox: boolean;
  /** From the plan: `chat`, `embeddings`, `run`. Null for free endpoints. */
  operation: string | null;
  asked: string | null;
  tags: readonly string[];
  runId: string | null;
  streamed: boolean;
  served: string | null;
  provider: string | null;
  attempts: readonly Leg[];
  /** Upstream events that could not be parsed and were skipped. */
  skippedEvents: number;
  /** From the request's head to the first content sent. */
  firstTokenMs: number | null;
  usage: TokenUsage | null;
  /** No usage was reported, so the tokens were counted here. */
  estimated: boolean;
  heldNano: Nano;
  chargedNano: Nano;
  /** What the upstream bills us. */
  upstreamNano: Nano;
  absorbedNano: Nano;
  absorbReason: string | null;
  transactionId: string | null;
  outcome: Outcome | null;
  bytesIn: number;
  bytesOut: number;
  /** Set by `Observer.end`: from the request's head to the end of its answer. */
  durationMs: number;
}

const NO_TAGS: readonly string[] = [];

export function newRecord(start: RecordStart): RequestRecord {
  return {
    requestId: start.requestId,
    method: start.method,
    startedMs: start.startedMs,
    trace: null,
    endpoint: "_other",
    watched: false,
    status: 0,
    code: null,
    told: null,
    accountId: null,
    keyId: null,
    sandbox: false,
    operation: null,
    asked: null,
    tags: NO_TAGS,
    runId: null,
    streamed: false,
    served: null,
    provider: null,
    attempts: [],
    skippedEvents: 0,
    firstTokenMs: null,
    usage: null,
    estimated: false,
    heldNano: ZERO,
    chargedNano: ZERO,
    upstreamNano: ZERO,
    absorbedNano: ZERO,
    absorbReason: null,
    transactionId: null,
    outcome: null,
    bytesIn: 0,
    bytesOut: 0,
    durationMs: 0,
  };
}
