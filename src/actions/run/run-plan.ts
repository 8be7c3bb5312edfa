// Plans a call of any action (a vendor's, ours, or a vendor's models): over HTTP, in the envelope, and within another call.

import type { WantedCall } from "../../catalog/local-action.ts";
import type { JsonObject } from "../../catalog/said.ts";
import type { Frame, FramedOpenPlan, FramedPlan, PlanCall } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import { EVENTS_PREAMBLE, wantsEvents } from "../../core/event-stream.ts";
import { transactionIdOf } from "../../core/ids.ts";
import type { Audience, Plan } from "../../core/plan.ts";
import type { OuterCall } from "../../kernel/inner-call.ts";
import { callTags } from "../../models/formats/call-tags.ts";
import { eventBytes, eventsFrame } from "../../models/formats/envelope/events.ts";
import { envelopeFrame, PREAMBLE } from "../../models/formats/envelope/frame.ts";
import { idempotencyOf } from "../../models/formats/idempotency-key.ts";
import { readTraceparent } from "../../platform/observe/trace-context.ts";
import { type CheckedAction, type ModelsAction, notConfigured } from "./action-catalog.ts";
import { ActionPlanner } from "./action-plan.ts";
import { isFree } from "./action-price.ts";
import type { RunDeps } from "./deps.ts";
import { noSuchAction } from "./nearest.ts";
import { readCall, readParams, refusedBy } from "./read-call.ts";
import { requestInside } from "./request-inside.ts";

/** The caller's trace, which continues in the job that the call launches. */
function callerTrace({ headers }: PlanCall["request"]): { readonly callerTraceId?: string } {
  const header = headers.get("traceparent");
  const begun = header === undefined ? null : readTraceparent(header);
  return begun === null ? {} : { callerTraceId: begun.traceId };
}

/** Puts a wire's answer into the envelope as its data. */
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

async function planOfModels(call: PlanCall, action: ModelsAction, deps: RunDeps): Promise<FramedPlan> {
  const refused = refusedBy(call.audience, action);
  if (refused !== null) throw refused;
  const made = await deps.modelPlan(action.native, call);
  return { ...made, frame: inEnvelope(made.frame), keepAliveMs: null };
}

function planOfParams(asked: PlanCall, action: CheckedAction, deps: RunDeps): FramedOpenPlan {
  const { request, audience } = asked;
  const call = readCall(asked, action);
  const preamble = deps.readsWhole === true && !isFree(action.facts.price) ? null : PREAMBLE;
  const isTold =
    action.kind === "local" && action.local.events !== undefined && wantsEvents(request.headers.get("accept"));
  const order = {
    id: transactionIdOf(request.id),
    requestId: request.id,
    sandboxFault: request.headers.get("x-tollgate-sandbox-fault") ?? null,
    ...callerTrace(request),
    ...(isTold ? { preamble: EVENTS_PREAMBLE, eventBytes } : { preamble }),
    maxCostNano: call.maxCostNano,
    idempotency: idempotencyOf(request, call.body, audience.payer === null),
    tags: callTags(request),
    allows: audience.allows,
  };
  const plan = new ActionPlanner(call, order, deps).open();
  return { plan, frame: isTold ? eventsFrame : envelopeFrame, keepAliveMs: null };
}

/** Checks a call of an action and plans it. Throws what is wrong with it. */
export function runPlan(id: string, call: PlanCall, deps: RunDeps): FramedOpenPlan | Promise<FramedPlan> {
  const action = deps.actionCatalog.find(id, call.audience);
  if (action === null) throw noSuchAction(id, deps.actionCatalog, call.audience);
  return action.kind === "native" ? planOfModels(call, action, deps) : planOfParams(call, action, deps);
}

/** The plan of an inner call, and how to read its answer as JSON. */
export interface InnerPlan {
  readonly action: string;
  readonly plan: Plan;
  readonly frame: Pick<Frame, "last">;
}

export interface Within extends Pick<OuterCall, "requestId" | "sandboxFault" | "payer"> {
  readonly id: string;
  readonly audience: Audience;
}

/** Actions answer in JSON already, vendors' and ours. */
const AS_IT_CAME: InnerPlan["frame"] = { last: (final) => (final.kind === "body" ? String(final.body.json) : "null") };

async function innerPlanOfModels(
  { id: action, native }: ModelsAction,
  body: JsonObject,
  within: Within,
  deps: RunDeps,
) {
  const request = requestInside({ id: within.requestId, path: "", startedMs: deps.kernel.clock.elapsedMs() }, body);
  const made = await deps.modelPlan(native, { request, audience: within.audience });
  // Only the outer call counts as an operation.
  return { action, frame: made.frame, plan: { ...made.plan, operation: "run", inference: false } };
}

/** The same for an inner call: its outer call was authorized already, and pays for it. */
export async function innerPlan(
  { action: id, params: given }: WantedCall,
  within: Within,
  deps: RunDeps,
): Promise<InnerPlan> {
  const { actionCatalog } = deps;
  const { id: innerId, requestId, sandboxFault, payer, audience } = within;
  const action = actionCatalog.find(id, audience);
  // A launch would outlive the call that owns it.
  if (action === null || action.launches !== undefined) throw noSuchAction(id, actionCatalog, audience);
  if (action.kind === "native") return innerPlanOfModels(action, given, within, deps);
  const read = readParams(action, given);
  if (read instanceof GatewayError) throw read;
  if (!action.configured) throw notConfigured(action);
  const asked = { preamble: null, maxCostNano: null, idempotency: null, allows: audience.allows };
  const order = { id: innerId, requestId, sandboxFault, ...asked };
  const plan = await new ActionPlanner({ action, ...read }, order, deps).plan(payer);
  return { action: id, plan, frame: AS_IT_CAME };
}
