// Continues the trace that a caller began (W3C Trace Context): our span in its log line, and in the answer for its caller. Vendors hear nothing of it.
import type { GatewayRequest, Reply } from "../../core/endpoint.ts";
import type { RequestRecord } from "../../platform/observe/record.ts";
import { idsOf, readTraceparent } from "../../platform/observe/trace-context.ts";

const HEADER = "traceparent";

/** Takes a request's place in its caller's trace. A header that is not as it must be counts as none, as the standard has it. */
export function continueTrace(request: GatewayRequest, reply: Reply, record: RequestRecord): void {
  const header = request.headers.get(HEADER);
  const begun = header === undefined ? null : readTraceparent(header);
  if (begun === null) return;
  const { spanId } = idsOf(request.id);
  record.trace = { ...begun, spanId };
  reply.header(HEADER, `00-${begun.traceId}-${spanId}-${begun.flags}`);
}
