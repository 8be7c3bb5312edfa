// A call's place in its caller's trace (W3C Trace Context), and the ids of our own spans.
import { hash } from "node:crypto";

/** A request's place in its caller's trace. */
export interface TraceContext {
  readonly traceId: string;
  /** Our own span. */
  readonly spanId: string;
  readonly parentId: string;
  /** The caller's flags, as two hex digits, passed on unchanged. */
  readonly flags: string;
}

/** Version, trace, parent span, flags. Additions of later versions are dropped. */
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const SAMPLED = 1;
const RATIO_STEPS = 2 ** 52;

/** The trace and span of a `traceparent` header; null if it is malformed, which counts as absent. */
export function readTraceparent(header: string): Omit<TraceContext, "spanId"> | null {
  const [, version, traceId = "", parentId = "", flags = "", more] = TRACEPARENT.exec(header) ?? [];
  if (version === undefined || (version === "00" && more !== undefined)) return null;
  return { traceId, parentId, flags };
}

/** True if the caller records its trace and wants our spans in it. */
export function isSampled({ flags }: Pick<TraceContext, "flags">): boolean {
  return (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED;
}

/**
 * The ids of a request's span, and of the trace it begins where its caller began none. Derived from the request id, so that a job can link
 * to the call that launched it, whichever process it ends in.
 */
export function idsOf(requestId: string): { readonly traceId: string; readonly spanId: string } {
  const digest = hash("sha256", requestId, "hex");
  return { traceId: digest.slice(0, 32), spanId: digest.slice(32, 48) };
}

/** Depends only on the trace id, so that every process of a trace decides the same. */
export function isKept(traceId: string, ratio: number): boolean {
  return Number.parseInt(traceId.slice(-13), 16) < ratio * RATIO_STEPS;
}

interface Begun {
  readonly requestId: string;
  readonly watched: boolean;
  readonly trace: Pick<TraceContext, "flags"> | null;
}

/** Whether a request's span is sent: its caller records the trace, or it is in our sampled part. Probes are never sent. */
export function isSent({ watched, trace, requestId }: Begun, ratio: number): boolean {
  if (watched) return false;
  return trace === null ? isKept(idsOf(requestId).traceId, ratio) : isSampled(trace);
}
