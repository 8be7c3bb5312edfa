// A request that the transport itself turns away still gets the headers of every reply, and a record.

import type { ErrorCodec, GatewayRequest, Reply } from "../endpoint.ts";
import type { GatewayError } from "../errors.ts";
import { takeAddress } from "./admit.ts";
import type { ServeDeps } from "./deps.ts";
import { sendError } from "./render-error.ts";
import { ToldWindow } from "./told-window.ts";
import { continueTrace } from "./trace.ts";

/** Answers a request that never reached an endpoint: no such path or method, a body that cannot be taken, a wrong host. */
export function refuseAtEdge(
  request: GatewayRequest,
  reply: Reply,
  error: GatewayError,
  { errors, deps }: { readonly errors: ErrorCodec; readonly deps: ServeDeps },
): void {
  const record = deps.observer.begin({ requestId: request.id, method: request.method, startedMs: request.startedMs });
  continueTrace(request, reply, record);
  const window = new ToldWindow(reply);
  const told = takeAddress(request, window, deps) ?? error;
  window.tell();
  record.status = told.status;
  record.code = told.code;
  record.bytesOut = sendError(reply, told, errors);
  deps.observer.end(record);
}
