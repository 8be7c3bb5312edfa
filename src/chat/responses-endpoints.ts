// The endpoints of the responses wire.
import type { Endpoint } from "../endpoint.ts";
import { responsesErrors } from "../wires/responses/errors.ts";
import { at, PAID } from "./paths.ts";
import { type ResponsesDeps, responsesPlan } from "./responses-plan.ts";

export function responsesEndpoints(deps: ResponsesDeps): readonly Endpoint[] {
  const paid = { ...PAID, errors: responsesErrors } as const;
  return [{ ...paid, ...at("/responses"), plan: (call) => responsesPlan(call, deps) }];
}
