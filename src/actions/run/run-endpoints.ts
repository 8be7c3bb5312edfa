// The endpoint that runs actions, and the second path of core/fetch.
import type { Endpoint } from "../../core/endpoint.ts";
import { callErrors } from "../../models/formats/envelope/errors.ts";
import type { RunDeps } from "./deps.ts";
import { FETCH } from "./fetch-action.ts";
import { runPlan } from "./run-plan.ts";

const BODY_BYTES_MAX = 4 * 1024 * 1024;

export function runEndpoints(deps: RunDeps): readonly Endpoint[] {
  return [
    {
      method: "POST",
      path: "/api/run/{service}/{action}",
      auth: "key",
      bodyBytesMax: BODY_BYTES_MAX,
      errors: callErrors,
      retiresFor: ({ params: { service, action } }) =>
        deps.actionCatalog.find(`${service}/${action}`, { sandbox: false })?.facts.retires,
      plan: (call) => runPlan(`${call.request.params.service}/${call.request.params.action}`, call, deps),
    },
    {
      method: "POST",
      path: "/api/v1/fetch",
      auth: "key",
      bodyBytesMax: BODY_BYTES_MAX,
      errors: callErrors,
      plan: (call) => runPlan(FETCH, call, deps),
    },
  ];
}
