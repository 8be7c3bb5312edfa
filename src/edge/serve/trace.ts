// Continues a caller's trace (W3C Trace Context): our span goes into the log line and the answer, and is not sent to vendors.
import type { GatewayRequest, Reply } from "../../core/endpoint.ts";
import type { RequestRecord } from "../../platform/observe/record.ts";
import { idsOf, readTraceparent } from "../../platform/observe/trace-context.ts";

const HEADER = "traceparent";

/** A malformed header is ignored, as the standard requires. */
export function continueTrace(request: GatewayRequest, reply: Reply, record: RequestRecord): void {
  const header = request.headers.get(HEADER);
  const begun = header === undefined ? null : readTraceparent(header);
  if (begun === null) return;
  const { spanId } = idsOf(request.id);
  record.trace = { ...begun, spanId };
  reply.header(HEADER, `00-${begun.traceId}-${spanId}-${begun.flags}`);
}
