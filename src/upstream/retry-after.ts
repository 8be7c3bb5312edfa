// Reads how long a vendor asks us to wait.
import type { IncomingHttpHeaders } from "node:http";

function seconds(text: string): number | null {
  return /^\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : null;
}

/** Reads `Retry-After` (RFC 9110, 10.2.3) or `retry-after-ms`, in milliseconds from `nowMs`; null if neither is readable. */
export function retryAfterMs(headers: IncomingHttpHeaders, nowMs: number): number | null {
  const ms = headers["retry-after-ms"];
  if (typeof ms === "string" && seconds(ms) !== null) return Number(ms);
  const after = headers["retry-after"];
  if (typeof after !== "string") return null;
  const inSeconds = seconds(after);
  if (inSeconds !== null) return inSeconds * 1000;
  const at = Date.parse(after);
  return Number.isNaN(at) ? null : Math.max(0, at - nowMs);
}
