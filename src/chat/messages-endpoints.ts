// The endpoints of the messages wire.
import type { Endpoint, FramedPlan, PlanCall } from "../endpoint.ts";
import { GatewayError } from "../errors.ts";
import { messagesErrors, REQUEST_ID_HEADER } from "../wires/messages/errors.ts";
import { readMessages } from "./messages-body.ts";
import { type ChatDeps, modelPlan } from "./model-plan.ts";
import { at, PAID } from "./paths.ts";

const paid = { ...PAID, errors: messagesErrors } as const;

/** Checks a request and makes its plan, or says what is wrong with it. */
function messagesPlan(call: PlanCall, deps: ChatDeps): FramedPlan | GatewayError {
  const { request, audience } = call;
  const read = readMessages(call, deps.seals(audience.payer?.id ?? "stranger"));
  const made = read instanceof GatewayError ? read : modelPlan(call, read, deps);
  if (made instanceof GatewayError) return made;
  return { ...made, headers: { ...made.headers, [REQUEST_ID_HEADER]: request.id } };
}

export function messagesEndpoints(deps: ChatDeps): readonly Endpoint[] {
  return [{ ...paid, ...at("/messages"), plan: (call) => messagesPlan(call, deps) }];
}
