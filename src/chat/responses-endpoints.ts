// The endpoints of the responses wire.
import type { Endpoint } from "../endpoint.ts";
import { responsesErrors } from "../wires/responses/errors.ts";
import type { ChatDeps } from "./model-plan.ts";
import { at, PAID } from "./paths.ts";
import { responsesPlan } from "./responses-plan.ts";

export function responsesEndpoints(deps: ChatDeps): readonly Endpoint[] {
  const paid = { ...PAID, errors: responsesErrors } as const;
  return [{ ...paid, ...at("/responses"), plan: (call) => responsesPlan(call, deps) }];
}
