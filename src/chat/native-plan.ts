// A vendor's own models as actions: a body in a wire of models at `/api/run/<vendor>/<action>`, the answer in the envelope, at most a dollar a call.
import { serviceRefusal } from "../accounts/allowed.ts";
import type { NativeWire } from "../catalog/adapter.ts";
import type { Frame, FramedPlan, PlanCall } from "../endpoint.ts";
import { GatewayError } from "../errors.ts";
import { least, type Nano, nanoFromCents } from "../money.ts";
import { envelopeFrame } from "../wires/envelope/frame.ts";
import { readChatBody } from "./chat-body.ts";
import { embeddingsPlan } from "./embeddings-plan.ts";
import { readMessages } from "./messages-body.ts";
import { type ChatDeps, modelPlan } from "./model-plan.ts";
import type { ModelRequest } from "./model-request.ts";
import type { Preferences } from "./preferences.ts";

const CENTS_MAX = 100;

function bad(param: string, why: string): GatewayError {
  return new GatewayError("bad_request", { param, detail: { detail: `${param}: ${why}` } });
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

/** At most a dollar, and as actions fail. */
function asAction({ plan, frame, headers = {} }: FramedPlan, dollar: Nano): FramedPlan {
  const maxCostNano = plan.maxCostNano === null ? dollar : least(plan.maxCostNano, dollar);
  const capped = { ...plan, maxCostNano, failedStatus: 500, timedOutStatus: 500 };
  return { plan: capped, frame: inEnvelope(frame), keepAliveMs: null, headers };
}

/** Only this vendor may serve. */
function preferencesFor(adapterId: string, { preferences }: ModelRequest): Preferences {
  const asked = preferences ?? {
    order: null,
    ignore: null,
    keepsNothing: false,
    sort: null,
    promptPriceMax: null,
    completionPriceMax: null,
    fallbacks: true,
  };
  return { ...asked, only: [adapterId] };
}

function readIn(wire: Exclude<NativeWire, "embeddings">, call: PlanCall, deps: ChatDeps) {
  if (wire === "chat-completions") return readChatBody(call.request.body);
  return readMessages(call, deps.seals(call.audience.payer?.id ?? "stranger"));
}

/** The output that a dollar pays for beside the prompt, by a count where the prompt's bytes would leave none of what was asked for. */
async function outputWithin(dollar: Nano, { plan: { quote } }: FramedPlan): Promise<number> {
  await quote.tighten?.();
  return quote.affordable(dollar).affordable_output_tokens ?? 0;
}

async function modelAction(
  adapterId: string,
  wire: Exclude<NativeWire, "embeddings">,
  call: PlanCall,
  deps: ChatDeps,
): Promise<FramedPlan | GatewayError> {
  const asked = readIn(wire, call, deps);
  if (asked instanceof GatewayError) return asked;
  if (asked.stream) return bad("stream", "an action answers whole; for a stream use /api/llm/v1");
  const dollar = nanoFromCents(CENTS_MAX);
  const read = { ...asked, preferences: preferencesFor(adapterId, asked), output: { ...asked.output, shared: false } };
  const made = modelPlan(call, read, deps);
  if (made instanceof GatewayError || made.plan.quote.nano <= dollar) {
    return made instanceof GatewayError ? made : asAction(made, dollar);
  }
  const tokens = await outputWithin(dollar, made);
  if (tokens < 1)
    return bad(asked.promptField, `the prompt alone costs more than ${CENTS_MAX} cents, the most that an action may`);
  const cap = Math.min(tokens, asked.output.cap ?? tokens);
  const lowered = modelPlan(call, { ...read, output: { ...read.output, cap } }, deps);
  if (lowered instanceof GatewayError) return lowered;
  return asAction({ ...lowered, headers: { ...lowered.headers, "x-tollgate-max-tokens": String(cap) } }, dollar);
}

/** The plan of a vendor's native action; null: the vendor has none of this name. */
export function nativePlan(
  call: PlanCall,
  service: string,
  action: string,
  deps: ChatDeps,
): Promise<FramedPlan | GatewayError> | FramedPlan | GatewayError | null {
  const { audience } = call;
  const wire = deps.catalog().adapters(audience).get(service)?.spec.nativeActions?.[action];
  if (wire === undefined) return null;
  const refused = serviceRefusal(audience.allows, service, action);
  if (refused !== null) return refused;
  if (wire !== "embeddings") return modelAction(service, wire, call, deps);
  const made = embeddingsPlan(call, deps, service);
  const dollar = nanoFromCents(CENTS_MAX);
  if (made instanceof GatewayError) return made;
  if (made.plan.quote.nano > dollar)
    return bad("input", `costs more than ${CENTS_MAX} cents, the most that an action may`);
  return asAction(made, dollar);
}
