// Continues the trace that a caller began (W3C Trace Context): our span in its log line, and in the answer for its caller. Vendors hear nothing of it.
import { randomBytes } from "node:crypto";
import type { GatewayRequest, Reply } from "../endpoint.ts";
import type { RequestRecord } from "../observe/record.ts";

const HEADER = "traceparent";
/** Version, trace, parent span, flags. What later versions add behind them is not ours to pass on. */
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Takes a request's place in its caller's trace. A header that is not as it must be counts as none, as the standard has it. */
export function continueTrace(request: GatewayRequest, reply: Reply, record: RequestRecord): void {
  const header = request.headers.get(HEADER);
  if (header === undefined) return;
  const [, version, traceId = "", parentId = "", flags = "", more] = TRACEPARENT.exec(header) ?? [];
  if (version === undefined || (version === "00" && more !== undefined)) return;
  const spanId = randomBytes(8).toString("hex");
  record.trace = { traceId, spanId, parentId };
  reply.header(HEADER, `00-${traceId}-${spanId}-${flags}`);
}
