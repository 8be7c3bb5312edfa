// Serves any wire: its calls as plans, its token counts as free answers, and errors in its own format. Knows no wire by name.

import { type SoldModel, seenBy } from "../../catalog/catalog.ts";
import type { Answer, Call, Endpoint, Frame, FramedOpenPlan, FramedPlan, PlanCall } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import type { Payer, Plan } from "../../core/plan.ts";
import { requireModels } from "../../money/accounts/allowed.ts";
import type { ActionsAsk } from "../formats/action-tools.ts";
import type { ModelRequest } from "../formats/model-request.ts";
import type { PromptShape } from "../formats/prompt-text.ts";
import type { ModelWire, WireCount, WireEmbeddings, WireHost } from "../formats/wire.ts";
import type { ChatDeps } from "./deps.ts";
import type { FreeCounts } from "./free-counts.ts";
import { modelPlan } from "./model-plan.ts";
import { partTokensMax } from "./prompt-bounds.ts";
import { resolveModels } from "./resolve-models.ts";
import { unitPlan } from "./unit-plan.ts";
import { embeddings } from "./units/embeddings.ts";

/** Safety factors: an agent that believes it has room would send a prompt that is refused. Other tokenizers make more tokens than ours. */
const MARGIN: Readonly<Record<SoldModel["tokenizer"], number>> = { o200k: 1.05, unknown: 1.3 };
const TOKENS_PER_MESSAGE = 8;
const TOKENS_OF_TOOLS = 350;
/** For a part that the model does not accept and whose size is unknown. */
const TOKENS_PER_PART = 1_600;

function besideText(shape: PromptShape, { parts, contextTokens }: SoldModel): number {
  const media = Object.values(shape.parts).reduce((sum, count) => sum + count, 0);
  const ofMedia = partTokensMax({ ...shape, parts: { ...shape.parts, anything: 0 } }, parts, contextTokens);
  const around = TOKENS_PER_MESSAGE * shape.messages + (shape.hasSchemas ? TOKENS_OF_TOOLS : 0);
  return around + Math.min(contextTokens, ofMedia ?? media * TOKENS_PER_PART);
}

/** Overhead that vendors add per message; the only surcharge where the count names no model. */
const TOKENS_AROUND_MESSAGE = 4;

/** The answer of a count endpoint. A tier is counted for its first model. */
function countTokens(count: WireCount, deps: ChatDeps, counts: FreeCounts): (call: Call) => Promise<Answer> {
  const answer = (tokens: number) => ({ status: 200, body: count.answer(tokens) });
  return async ({ request, caller }) => {
    count.check?.(request);
    if (caller === null) throw new GatewayError("invalid_token", { detail: "a key is needed" });
    const { payer, allows } = caller;
    const read = await counts(count, request, payer);
    if (read.model === null) return answer(read.tokens + TOKENS_AROUND_MESSAGE * read.shape.messages);
    const wanted = [{ name: read.model, param: "model" }];
    const resolved = resolveModels(wanted, deps.catalog(), { sandbox: seenBy(caller).sandbox, ...deps.settings });
    requireModels(allows, resolved.asked);
    const [first] = resolved.models;
    if (first === undefined) throw new GatewayError("upstream_not_configured");
    const text = Math.ceil(read.tokens * MARGIN[first.model.tokenizer]);
    return answer(text + besideText(read.shape, first.model));
  };
}

const BODY_BYTES_MAX = 32 * 1024 * 1024;

/** Common to all endpoints that charge. */
export const PAID = { method: "POST", auth: "key", bodyBytesMax: BODY_BYTES_MAX } as const;

export type ActsPlan = (call: PlanCall, read: ModelRequest, ask: ActionsAsk) => Promise<FramedOpenPlan>;

export interface WireDeps {
  readonly chat: ChatDeps;
  readonly acts: ActsPlan;
  readonly host: WireHost;
  readonly counts: FreeCounts;
}

/** Adds a final step to the plan that needs the payer. */
function preparedFor(framed: FramedOpenPlan, prepareFor: NonNullable<ModelRequest["prepareFor"]>): FramedOpenPlan {
  const { plan } = framed;
  const forPayer = async (payer: Payer): Promise<Plan> => {
    const owned = "forPayer" in plan ? await plan.forPayer(payer) : plan;
    return { ...owned, prepare: prepareFor(payer) };
  };
  return { ...framed, plan: { ...plan, forPayer } };
}

function planOf(call: PlanCall, read: ModelRequest, deps: WireDeps): FramedOpenPlan | Promise<FramedOpenPlan> {
  const { actions, prepareFor } = read;
  const prepared = (framed: FramedOpenPlan) => (prepareFor === undefined ? framed : preparedFor(framed, prepareFor));
  if (actions !== undefined) return deps.acts(call, read, actions).then(prepared);
  return prepared(modelPlan(call, read, deps.chat));
}

function embeddingsIn(spec: WireEmbeddings, call: PlanCall, deps: ChatDeps): FramedPlan {
  const sent = spec.read(call);
  const sentBytes = Buffer.byteLength(JSON.stringify(sent));
  const made = unitPlan(embeddings, { sent, sentBytes, files: [], fingerprinted: sent }, call, deps);
  const { frame } = made;
  const last: Frame["last"] = (...said) => JSON.stringify(spec.answer(JSON.parse(String(frame.last(...said)))));
  const { keepAlive } = frame;
  return { ...made, frame: { keepAlive, last, head: frame.head.bind(frame), broken: frame.broken.bind(frame) } };
}

export function wireEndpoints(wire: ModelWire, deps: WireDeps): readonly Endpoint[] {
  const { chat, host, counts } = deps;
  const { errors } = wire;
  return [
    ...wire.calls.map(({ read, overSocket, ...paths }): Endpoint => {
      const plan = (call: PlanCall) => {
        const done = read(call, host);
        return done instanceof Promise ? done.then((one) => planOf(call, one, deps)) : planOf(call, done, deps);
      };
      const asked = overSocket === undefined ? {} : { overSocket: overSocket(host) };
      return { ...PAID, ...paths, ...asked, cached: true, errors, plan };
    }),
    ...(wire.embeddings ?? []).map((spec): Endpoint => {
      const { path, alias } = spec;
      const paths = alias === undefined ? { path } : { path, alias };
      return { ...PAID, ...paths, cached: true, errors, plan: (call) => embeddingsIn(spec, call, chat) };
    }),
    ...(wire.counts ?? []).map((count): Endpoint => {
      const { path, alias, bodyBytesMax } = count;
      const paths = alias === undefined ? { path } : { path, alias };
      const answer = countTokens(count, chat, counts);
      return { ...PAID, ...paths, bodyBytesMax, longWithCredit: true, errors, answer };
    }),
    ...(wire.free?.(host) ?? []).map((spec): Endpoint => ({ ...spec, errors })),
  ];
}
