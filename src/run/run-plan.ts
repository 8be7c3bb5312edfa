// A call of an action as it comes over HTTP: from its bytes to a plan, in the envelope: of a vendor's action, of one of ours, of a vendor's models.

import type { Frame, FramedOpenPlan, FramedPlan, PlanCall } from "../endpoint.ts";
import { GatewayError } from "../errors.ts";
import { EVENTS_PREAMBLE, wantsEvents } from "../event-stream.ts";
import { readTraceparent } from "../observe/trace-context.ts";
import { callTags } from "../wires/call-tags.ts";
import { eventBytes, eventsFrame } from "../wires/envelope/events.ts";
import { envelopeFrame, PREAMBLE } from "../wires/envelope/frame.ts";
import { idempotencyOf } from "../wires/idempotency-key.ts";
import type { CatalogAction, ModelAction } from "./action-catalog.ts";
import { openActionPlan } from "./action-plan.ts";
import { isFree } from "./action-price.ts";
import type { RunDeps } from "./deps.ts";
import { noSuchAction } from "./nearest.ts";
import { readCall, refusedBy } from "./read-call.ts";

/** The trace that goes on in the work that the call launches. */
function callerTrace({ headers }: PlanCall["request"]): { readonly callerTraceId?: string } {
  const header = headers.get("traceparent");
  const begun = header === undefined ? null : readTraceparent(header);
  return begun === null ? {} : { callerTraceId: begun.traceId };
}

/** The answer of a wire as the data of the envelope. */
function inEnvelope(frame: Frame): Frame {
  return {
    keepAlive: null,
    head(reply, served, legs, charge) {
      envelopeFrame.head(reply, served, legs, charge);
      reply.header("x-tollgate-model", served.model);
    },
    last(final, cost, charge, legs) {
      const json = String(frame.last(final, cost, charge, legs));
      return envelopeFrame.last({ kind: "body", body: { json } }, cost, charge, legs);
    },
    broken: () => null,
  };
}

async function planOfModels(model: ModelAction, call: PlanCall, deps: RunDeps): Promise<FramedPlan | GatewayError> {
  const made = await deps.modelPlan(model, call);
  return made instanceof GatewayError ? made : { ...made, frame: inEnvelope(made.frame), keepAliveMs: null };
}

function planOfAction(asked: PlanCall, action: CatalogAction, deps: RunDeps): FramedOpenPlan | GatewayError {
  const { request, audience } = asked;
  const call = readCall(asked, action);
  if (call instanceof GatewayError) return call;
  const idempotency = idempotencyOf(request, call.body, audience.payer === null);
  if (idempotency instanceof GatewayError) return idempotency;
  const tags = callTags(request);
  if (tags instanceof GatewayError) return tags;
  const preamble = deps.readsWhole === true && !isFree(action.facts.price) ? null : PREAMBLE;
  const isTold = action.local?.events !== undefined && wantsEvents(request.headers.get("accept"));
  const order = {
    id: request.id.replace(/^req_/, "tx_"),
    requestId: request.id,
    sandboxFault: request.headers.get("x-tollgate-sandbox-fault") ?? null,
    ...callerTrace(request),
    ...(isTold ? { preamble: EVENTS_PREAMBLE, eventBytes } : { preamble }),
    maxCostNano: call.maxCostNano,
    idempotency,
    tags,
    allows: audience.allows,
  };
  return { plan: openActionPlan(call, order, deps), frame: isTold ? eventsFrame : envelopeFrame, keepAliveMs: null };
}

/** Checks a call of an action and makes its plan, or says what is wrong with it. */
export function runPlan(
  id: string,
  call: PlanCall,
  deps: RunDeps,
): FramedOpenPlan | GatewayError | Promise<FramedPlan | GatewayError> {
  const action = deps.actionCatalog.find(id, call.audience);
  if (action === null) return noSuchAction(id, deps.actionCatalog, call.audience);
  if (action.native === null) return planOfAction(call, action, deps);
  return refusedBy(call.audience, action) ?? planOfModels(action.native, call, deps);
}
