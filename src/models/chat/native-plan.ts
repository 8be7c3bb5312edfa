// A vendor's own models as actions: request and answer use a model wire, and the cost is bounded.

import { IMAGE_CENTS_MAX, NATIVE_CENTS_MAX, nativeModel } from "../../catalog/native-actions.ts";
import type { AdapterSpec, NativeWire } from "../../catalog/spec.ts";
import type { FramedPlan, PlanCall } from "../../core/endpoint.ts";
import { GatewayError, refusalIn } from "../../core/errors.ts";
import { least, type Nano, nanoFromCents } from "../../core/money.ts";
import { isRecord } from "../../upstream/json-pointer.ts";
import { readChatBody } from "../formats/chat-completions/read-body.ts";
import { readMessages } from "../formats/messages/read-body.ts";
import type { ModelRequest } from "../formats/model-request.ts";
import { parseJson } from "../formats/parse-json.ts";
import type { Preferences } from "../formats/preferences.ts";
import type { ChatDeps } from "./deps.ts";
import { modelPlan } from "./model-plan.ts";
import { unitPlan } from "./unit-plan.ts";
import { embeddings } from "./units/embeddings.ts";
import { imageGenerations } from "./units/images.ts";

/** The qualities to try where the request names none: the first one within budget wins. */
const QUALITIES = ["high", "medium", "low", "standard", undefined];

interface Vendor {
  readonly id: string;
  readonly spec: AdapterSpec;
}

type ModelWire = Exclude<NativeWire, "embeddings" | "images">;

function bad(param: string, why: string): GatewayError {
  return new GatewayError("bad_request", { param, detail: `${param}: ${why}` });
}

/** Caps the plan's cost and gives it the status codes of failed actions. */
function asAction({ plan, asked: _, ...framed }: FramedPlan, most: Nano): FramedPlan {
  const maxCostNano = plan.maxCostNano === null ? most : least(plan.maxCostNano, most);
  const capped = { ...plan, maxCostNano, failedStatus: 500, timedOutStatus: 500, limitedStatus: 500 };
  return { ...framed, plan: capped, keepAliveMs: null };
}

/** Restricts the call to this vendor. */
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

function readIn(wire: ModelWire, call: PlanCall, deps: ChatDeps) {
  if (wire === "chat-completions") return readChatBody(call.request.body);
  return readMessages(call, deps.seals(call.audience.payer));
}

/** The output that a dollar pays for beside the prompt; counts the prompt's tokens first, for a tighter bound. */
async function outputWithin(dollar: Nano, { plan: { quote } }: FramedPlan): Promise<number> {
  await quote.tighten?.();
  return quote.affordable(dollar).affordable_output_tokens ?? 0;
}

async function modelAction(adapterId: string, wire: ModelWire, call: PlanCall, deps: ChatDeps): Promise<FramedPlan> {
  const asked = readIn(wire, call, deps);
  if (asked.actions !== undefined) throw bad("tools", "actions are called by models asked at /api/llm/v1");
  if (asked.stream) throw bad("stream", "an action answers whole; for a stream use /api/llm/v1");
  const dollar = nanoFromCents(NATIVE_CENTS_MAX);
  const read = { ...asked, preferences: preferencesFor(adapterId, asked), output: { ...asked.output, shared: false } };
  const made = modelPlan(call, read, deps);
  if (made.plan.quote.nano <= dollar) return asAction(made, dollar);
  const tokens = await outputWithin(dollar, made);
  if (tokens < 1)
    throw bad(
      asked.promptField,
      `the prompt alone costs more than ${NATIVE_CENTS_MAX} cents, the most that an action may`,
    );
  const cap = Math.min(tokens, asked.output.cap ?? tokens);
  const lowered = modelPlan(call, { ...read, output: { ...read.output, cap } }, deps);
  return asAction({ ...lowered, loweredTo: () => cap }, dollar);
}

/** One image that costs us and the caller at most five cents, in the best affordable quality where none is named. */
function imageAction({ id, spec }: Vendor, call: PlanCall, deps: ChatDeps): FramedPlan {
  const sent = parseJson(call.request.body);
  if (!isRecord(sent)) throw bad("body", "must be an object");
  if (sent.stream === true) throw bad("stream", "an action answers whole; for a stream use /api/llm/v1");
  if ((sent.n ?? 1) !== 1) throw bad("n", "an action makes one image");
  const mostNano = nanoFromCents(IMAGE_CENTS_MAX);
  const named = { model: nativeModel(spec, "images"), ...sent };
  const isOpen = sent.quality === undefined || sent.quality === null || sent.quality === "auto";
  let refused: GatewayError | null = null;
  for (const quality of isOpen ? QUALITIES : [sent.quality]) {
    const body = { ...named, quality };
    try {
      const made = unitPlan(imageGenerations, { sent: body, files: [], fingerprinted: sent, only: id }, call, deps);
      const { quote } = made.plan;
      if (quote.nano <= mostNano && quote.upstreamNano() <= mostNano) return asAction(made, mostNano);
    } catch (error) {
      // Skip a quality that the model lacks; any other error would repeat for every quality.
      const lacks = refusalIn(error);
      if (lacks.code !== "unsupported_field") throw lacks;
      refused ??= lacks;
      continue;
    }
    refused = bad(
      isOpen ? "prompt" : "quality",
      `costs more than ${IMAGE_CENTS_MAX} cents, the most that an image may`,
    );
  }
  throw refused ?? bad("quality", "has no price");
}

/** Plans a call of a vendor's model as an action, in the frame of its wire. */
export async function nativePlan(
  { vendor, wire }: { readonly vendor: Vendor; readonly wire: NativeWire },
  call: PlanCall,
  deps: ChatDeps,
): Promise<FramedPlan> {
  if (wire === "images") return imageAction(vendor, call, deps);
  if (wire !== "embeddings") return modelAction(vendor.id, wire, call, deps);
  const sent = parseJson(call.request.body);
  const made = unitPlan(embeddings, { sent, files: [], fingerprinted: sent, only: vendor.id }, call, deps);
  const dollar = nanoFromCents(NATIVE_CENTS_MAX);
  if (made.plan.quote.nano > dollar)
    throw bad("input", `costs more than ${NATIVE_CENTS_MAX} cents, the most that an action may`);
  return asAction(made, dollar);
}
