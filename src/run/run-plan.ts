// A call of an action as it comes over HTTP: from its bytes to a plan, in the envelope.

import type { FramedOpenPlan, PlanCall } from "../endpoint.ts";
import { GatewayError } from "../errors.ts";
import { readTraceparent } from "../observe/trace-context.ts";
import { callTags } from "../wires/call-tags.ts";
import { EVENTS_PREAMBLE, eventBytes, eventsFrame, wantsEvents } from "../wires/envelope/events.ts";
import { envelopeFrame, PREAMBLE } from "../wires/envelope/frame.ts";
import { idempotencyOf } from "../wires/idempotency-key.ts";
import { openActionPlan } from "./action-plan.ts";
import type { RunDeps } from "./deps.ts";
import { readCall } from "./read-call.ts";

/** The trace that goes on in the work that the call launches. */
function callerTrace({ headers }: PlanCall["request"]): { readonly callerTraceId?: string } {
  const header = headers.get("traceparent");
  const begun = header === undefined ? null : readTraceparent(header);
  return begun === null ? {} : { callerTraceId: begun.traceId };
}

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
      ...callerTrace(request),
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
