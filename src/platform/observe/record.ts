// One record per request: each step fills in what it learns, and at the end it becomes a log line and metrics.
import type { ErrorCode } from "../../core/errors.ts";
import type { Nano } from "../../core/money.ts";
import { ZERO } from "../../core/money.ts";
import type { Outcome } from "../../core/plan.ts";
import type { Leg, TokenUsage } from "../../core/route.ts";
import type { TraceContext } from "./trace-context.ts";

/** What is known of a request when its head has been read. */
export interface RecordStart {
  readonly requestId: string;
  readonly method: string;
  /** `clock.elapsedMs()` when the request's head arrived. */
  readonly startedMs: number;
}

/** Fields are null, zero or empty until the step that learns them has run. Prompts, answers and keys have no place here. */
export interface RequestRecord extends RecordStart {
  /** Where it stands in the trace that its caller began, as W3C Trace Context has it; null: it began none. */
  trace: TraceContext | null;
  /** The endpoint's path template, such as `/api/v1/transactions/{id}`; `_other` where no endpoint matched. */
  endpoint: string;
  /** Asked by a probe that watches the gateway. */
  watched: boolean;
  /** The status that was sent; 0 where the client left before any. */
  status: number;
  /** The code of the error that the caller was told, also of one told inside a stream. */
  code: ErrorCode | null;
  /** The error in words, as the caller was told it; for the file of calls that were not charged alone. */
  told: string | null;
  accountId: string | null;
  keyId: string | null;
  sandbox: boolean;
  /** From the plan: `chat`, `embeddings`, `run`. Null on endpoints that cost nothing. */
  operation: string | null;
  asked: string | null;
  /** What the caller has called it. */
  tags: readonly string[];
  streamed: boolean;
  served: string | null;
  provider: string | null;
  attempts: readonly Leg[];
  /** Events of the upstream that could not be parsed and were left out. */
  skippedEvents: number;
  /** From the request's head to the first content that was sent. */
  firstTokenMs: number | null;
  usage: TokenUsage | null;
  /** No usage came and the tokens were counted here. */
  estimated: boolean;
  heldNano: Nano;
  chargedNano: Nano;
  /** What the upstream takes from us. */
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
