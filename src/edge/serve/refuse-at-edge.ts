// A request that the transport itself turns away still gets the headers of every reply, and a record.

import type { ErrorCodec, GatewayRequest, Reply } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import type { Caller } from "../../core/plan.ts";
import { takeKnown } from "./admit.ts";
import { balanceLeft } from "./balance-left.ts";
import type { ServeDeps } from "./deps.ts";
import { sendError, tellChallenge, tellRequestId } from "./render-error.ts";
import { ToldWindow } from "./told-window.ts";
import { continueTrace } from "./trace.ts";

/**
 * Answers a request that never reached an endpoint: no such path or method, a body that cannot be taken, a wrong host. A caller with a good
 * key is counted in its account's window all the same.
 */
export function refuseAtEdge(
  request: GatewayRequest,
  reply: Reply,
  error: GatewayError,
  { errors, deps }: { readonly errors: ErrorCodec; readonly deps: ServeDeps },
): void {
  const record = deps.observer.begin({ requestId: request.id, method: request.method, startedMs: request.startedMs });
  continueTrace(request, reply, record);
  tellRequestId(reply, request.id, errors);
  const window = new ToldWindow(reply);
  const tell = (counted: Caller | GatewayError | null): void => {
    const told = counted instanceof GatewayError ? counted : error;
    if (counted !== null && !(counted instanceof GatewayError)) {
      record.accountId = counted.payer.accountId;
      record.keyId = counted.payer.keyId;
    }
    window.tell();
    record.status = told.status;
    record.code = told.code;
    tellChallenge(reply, told, request.path, deps);
    balanceLeft(told, record.accountId, errors, deps).then((balance) => {
      if (!reply.closed) record.bytesOut = sendError(reply, told, { requestId: request.id, errors, balance });
      deps.observer.end(record);
    });
  };
  const counted = takeKnown(request, { window, record }, deps);
  if (counted instanceof Promise) counted.then(tell, () => tell(null));
  else tell(counted);
}
