// A call's place in the trace that its caller began (W3C Trace Context), and the ids of our own spans.
import { hash } from "node:crypto";

/** Where a request stands in its caller's trace. */
export interface TraceContext {
  readonly traceId: string;
  /** Our own span. */
  readonly spanId: string;
  readonly parentId: string;
  /** The flags that the caller sent, as two hexadecimal digits: they go on as they are. */
  readonly flags: string;
}

/** Version, trace, parent span, flags. What later versions add behind them is not ours to pass on. */
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const SAMPLED = 1;
const RATIO_STEPS = 2 ** 52;

/** The trace and the span that a `traceparent` header names; null where it is not as the standard has it, which counts as none. */
export function readTraceparent(header: string): Omit<TraceContext, "spanId"> | null {
  const [, version, traceId = "", parentId = "", flags = "", more] = TRACEPARENT.exec(header) ?? [];
  if (version === undefined || (version === "00" && more !== undefined)) return null;
  return { traceId, parentId, flags };
}

/** Whether the caller keeps its trace, and wants our part in it. */
export function isSampled({ flags }: Pick<TraceContext, "flags">): boolean {
  return (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED;
}

/**
 * The ids of a request's own span, and of the trace that begins with it where its caller began none. They follow from the request's id,
 * so that a job can name the call that launched it, whichever process it ends in.
 */
export function idsOf(requestId: string): { readonly traceId: string; readonly spanId: string } {
  const digest = hash("sha256", requestId, "hex");
  return { traceId: digest.slice(0, 32), spanId: digest.slice(32, 48) };
}

/** Every process of a trace decides alike, because it asks the trace's id. */
export function isKept(traceId: string, ratio: number): boolean {
  return Number.parseInt(traceId.slice(-13), 16) < ratio * RATIO_STEPS;
}

/** What is known of a request from its head. */
interface Begun {
  readonly requestId: string;
  /** Asked by a probe that watches the gateway. */
  readonly watched: boolean;
  readonly trace: Pick<TraceContext, "flags"> | null;
}

/** Whether the span of a request is sent: its caller keeps its trace, or it is of the part of our own that is kept. No probe's is. */
export function isSent({ watched, trace, requestId }: Begun, ratio: number): boolean {
  if (watched) return false;
  return trace === null ? isKept(idsOf(requestId).traceId, ratio) : isSampled(trace);
}
