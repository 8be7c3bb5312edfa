// The endpoints of models that are sold by units, below the path of the language models.
import type { EndpointSpec } from "../endpoint.ts";
import { GatewayError } from "../errors.ts";
import { createRequestWindows } from "../limits/request-windows.ts";
import type { NamedBy } from "../wires/call-tags.ts";
import { parseJson } from "../wires/parse-json.ts";
import type { ChatDeps } from "./model-plan.ts";
import type { UnitEndpoint } from "./unit-endpoint.ts";
import { type UnitDeps, unitPlan } from "./unit-plan.ts";
import { moderations } from "./units/moderations.ts";
import { rerank } from "./units/rerank.ts";

const MIB = 1024 * 1024;
const PAID = { method: "POST", auth: "key" } as const;

type Modelled = NamedBy & { readonly model?: string | null | undefined };

/** An endpoint whose body is JSON of at most so many bytes. */
function json<Body extends Modelled>(
  path: string,
  bodyBytesMax: number,
  endpoint: UnitEndpoint<Body>,
  deps: UnitDeps,
): EndpointSpec {
  return {
    ...PAID,
    path,
    bodyBytesMax,
    plan(call) {
      const sent = parseJson(call.request.body);
      if (sent instanceof GatewayError) return sent;
      return unitPlan(endpoint, { sent, files: [], fingerprinted: sent }, call, deps);
    },
  };
}

export function unitEndpoints(chat: ChatDeps): readonly EndpointSpec[] {
  const deps = { ...chat, freeWindows: createRequestWindows({ clock: chat.clock }) };
  return [json("/rerank", 8 * MIB, rerank, deps), json("/moderations", 2 * MIB, moderations, deps)];
}
