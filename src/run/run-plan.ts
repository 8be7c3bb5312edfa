// A call of an action as it comes over HTTP: from its bytes to a plan, in the envelope.

import type { FramedOpenPlan, PlanCall } from "../endpoint.ts";
import { GatewayError } from "../errors.ts";
import { callTags } from "../wires/call-tags.ts";
import { EVENTS_PREAMBLE, eventBytes, eventsFrame, wantsEvents } from "../wires/envelope/events.ts";
import { envelopeFrame, PREAMBLE } from "../wires/envelope/frame.ts";
import { idempotencyOf } from "../wires/idempotency-key.ts";
import { openActionPlan } from "./action-plan.ts";
import type { RunDeps } from "./deps.ts";
import { readCall } from "./read-call.ts";

/** Checks a call of an action and makes its plan, or says what is wrong with it. */
export function runPlan({ request, audience }: PlanCall, deps: RunDeps): FramedOpenPlan | GatewayError {
  const call = readCall({ request, audience }, deps.actionCatalog);
  if (call instanceof GatewayError) return call;
  const idempotency = idempotencyOf(request, call.body, audience.payer === null);
  if (idempotency instanceof GatewayError) return idempotency;
  const tags = callTags(request);
  if (tags instanceof GatewayError) return tags;
  const isTold = call.action.local?.events !== undefined && wantsEvents(request.headers.get("accept"));
  const plan = openActionPlan(
    call,
    {
      id: request.id.replace(/^req_/, "tx_"),
      requestId: request.id,
      sandboxFault: request.headers.get("x-tollgate-sandbox-fault") ?? null,
      ...(isTold ? { preamble: EVENTS_PREAMBLE, eventBytes } : { preamble: PREAMBLE }),
      maxCostNano: call.maxCostNano,
      idempotency,
      tags,
      allows: audience.allows,
    },
    deps,
  );
  return { plan, frame: isTold ? eventsFrame : envelopeFrame, keepAliveMs: null };
}
