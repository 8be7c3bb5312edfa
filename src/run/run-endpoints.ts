// The one endpoint that runs actions.
import type { Endpoint, FramedOpenPlan, PlanCall } from "../endpoint.ts";
import type { GatewayError } from "../errors.ts";
import { callErrors } from "../wires/envelope/errors.ts";
import type { RunDeps } from "./deps.ts";
import { runPlan } from "./run-plan.ts";

const BODY_BYTES_MAX = 4 * 1024 * 1024;

/** The plan of a call that is one of a model, and no action of the catalog; null: it is none. */
export type ModelCall = (
  call: PlanCall,
  service: string,
  action: string,
) => Promise<FramedOpenPlan | GatewayError> | FramedOpenPlan | GatewayError | null;

export function runEndpoints(deps: RunDeps, modelCall: ModelCall): readonly Endpoint[] {
  return [
    {
      method: "POST",
      path: "/api/run/{service}/{action}",
      auth: "key",
      bodyBytesMax: BODY_BYTES_MAX,
      errors: callErrors,
      retiresFor: ({ params: { service, action } }) =>
        deps.actionCatalog.find(`${service}/${action}`, { sandbox: false })?.facts.retires,
      plan(call) {
        const { service = "", action = "" } = call.request.params;
        return modelCall(call, service, action) ?? runPlan(call, deps);
      },
    },
  ];
}
