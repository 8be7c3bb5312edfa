// A request that the transport refuses still gets the headers of every reply, and a record.
import type { Endpoint, ErrorCodec, GatewayRequest, Reply } from "../../core/endpoint.ts";
import type { GatewayError } from "../../core/errors.ts";
import { admitAnyone } from "./admit.ts";
import { Call } from "./call.ts";
import type { ServeDeps } from "./deps.ts";
import { refuse } from "./refuse.ts";

/** Never reached an endpoint: an unknown path or method, a bad body, a wrong host. Counts for an account with a valid key. */
export async function refuseAtEdge(
  request: GatewayRequest,
  reply: Reply,
  error: GatewayError,
  { errors, deps }: { readonly errors: ErrorCodec; readonly deps: ServeDeps },
): Promise<void> {
  const { path } = request;
  const endpoint: Endpoint = { method: "GET", path, auth: "none", bodyBytesMax: 0, errors, answer: () => error };
  const call = new Call(request, endpoint, reply, deps);
  try {
    await admitAnyone(call, deps);
    call.record.accountId = call.caller?.payer.accountId ?? null;
    call.record.keyId = call.caller?.payer.keyId ?? null;
  } catch {
    // A rate-limit error replaces the original one; an unavailable store changes nothing.
  }
  call.refusal ??= error;
  await refuse(call, call.refusal, deps);
  deps.observer.end(call.record);
}
