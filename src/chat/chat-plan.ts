// Makes a Plan from a request in OpenAI's chat wire.
import type { FramedPlan, PlanCall } from "../endpoint.ts";
import { GatewayError } from "../errors.ts";
import { readChatBody } from "./chat-body.ts";
import { type ChatDeps, modelPlan } from "./model-plan.ts";

/** Checks a chat request and makes its plan, or says what is wrong with it. */
export function chatPlan(call: PlanCall, deps: ChatDeps): FramedPlan | GatewayError {
  const read = readChatBody(call.request.body);
  return read instanceof GatewayError ? read : modelPlan(call, read, deps);
}
