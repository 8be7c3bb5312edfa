// Makes the plan of a request in the responses wire.
import type { FramedPlan, PlanCall } from "../endpoint.ts";
import { GatewayError } from "../errors.ts";
import { isRecord } from "../json.ts";
import { invalid, parseJson } from "../wires/parse-json.ts";
import { type ChatDeps, modelPlan } from "./model-plan.ts";
import { readResponsesBody } from "./responses-body.ts";

/** Checks a request and makes its plan, or says what is wrong with it. */
export function responsesPlan(call: PlanCall, deps: ChatDeps): FramedPlan | GatewayError {
  const sent = parseJson(call.request.body);
  if (sent instanceof GatewayError) return sent;
  if (!isRecord(sent)) return invalid("", "must be an object");
  const seal = deps.seals(call.audience.payer?.id ?? "stranger");
  const nowS = () => Math.floor(deps.clock.epochMs() / 1000);
  const read = readResponsesBody(sent, { seal, nowS, earlier: null });
  return read instanceof GatewayError ? read : modelPlan(call, read.request, deps);
}
