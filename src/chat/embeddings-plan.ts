// Makes a Plan from an embeddings request: one model, priced by its input alone.
import { z } from "zod";
import { modelsRefusal } from "../accounts/allowed.ts";
import type { EmbeddingOffer, SoldEmbedding, TokenPrice } from "../catalog/catalog.ts";
import { findEmbedding } from "../catalog/find-model.ts";
import { boundOf, dearestWithin, ratesOf } from "../catalog/price.ts";
import { modelEndHeaders } from "../catalog/retirement.ts";
import type { Frame, FramedPlan, PlanCall } from "../endpoint.ts";
import { GatewayError } from "../errors.ts";
import { ladder } from "../kernel/routes/ladder.ts";
import { retrying } from "../kernel/routes/retrying.ts";
import { affordable, most, usdText, ZERO } from "../money.ts";
import type { Plan } from "../plan.ts";
import type { ModelCandidate } from "../upstream/model-candidate.ts";
import { compilePlace } from "../wires/allow-list.ts";
import { unsifted } from "../wires/chat-completions/read-body.ts";
import { usageJson } from "../wires/chat-completions/usage.ts";
import { parseJson } from "../wires/parse-json.ts";
import { droppedHeader, isOwnServer } from "./dropped-header.ts";
import { type ModelAsk, readModelAsk } from "./model-ask.ts";
import type { ChatDeps } from "./model-plan.ts";
import { countedOnce, tokenCost } from "./token-cost.ts";

const embeddingsBody = z.object({
  model: z.string().min(1).max(200),
  input: z.union(
    [
      z.string().min(1),
      z.array(z.string().min(1)).min(1).max(2_048),
      z.array(z.number().int().min(0)).min(1),
      z
        .array(z.array(z.number().int().min(0)).min(1))
        .min(1)
        .max(2_048),
    ],
    "must be text, tokens, or a list of at most 2048 of either",
  ),
  encoding_format: z.enum(["float", "base64"]).nullish(),
  dimensions: z.number().int().min(1).nullish(),
  user: z.string().nullish(),
});

/** The whole of what an embeddings body may hold. */
const EMBEDDINGS_FIELDS = compilePlace({
  fields: {
    model: {},
    input: { read: true, items: { read: true, items: {} } },
    encoding_format: {},
    dimensions: {},
    user: {},
    max_cost_cents: { ours: true },
  },
});

/** The text of the input for a token count; token arrays count as one word each. */
function inputText(input: z.infer<typeof embeddingsBody>["input"]): string {
  if (typeof input === "string") return input;
  return input.flat().map(String).join("\n");
}

const frame: Frame = {
  keepAlive: null,
  head(reply, served, attempts, charge) {
    reply.header("content-type", "application/json");
    reply.header("x-tollgate-model", served.model);
    reply.header("x-tollgate-attempts", String(attempts.filter(({ failure }) => failure !== null).length + 1));
    if (charge !== null) reply.header("x-tollgate-cost-usd", usdText(charge.chargedNano));
  },
  last(final, cost, charge) {
    if (final.kind !== "body" || cost.usage === null) throw new Error("embeddings are answered whole, with usage");
    const { prompt_tokens, total_tokens, cost: usd } = usageJson(cost.usage, charge);
    return JSON.stringify({ ...final.body, usage: { prompt_tokens, total_tokens, cost: usd } });
  },
  broken: () => "",
};

/** Checks an embeddings request and makes its plan, or says what is wrong with it. */
export function embeddingsPlan(call: PlanCall, deps: ChatDeps, only: string | null = null): FramedPlan | GatewayError {
  const { request, audience } = call;
  const sent = parseJson(request.body);
  if (sent instanceof GatewayError) return sent;
  const ask = readModelAsk(sent, { schema: embeddingsBody, fields: EMBEDDINGS_FIELDS }, request);
  if (ask instanceof GatewayError) return ask;
  const model = findEmbedding(ask.body.model, "model", deps.catalog(), audience);
  if (model instanceof GatewayError) return model;
  const refused = modelsRefusal(audience.allows, [{ name: model.slug, param: "model" }]);
  if (refused !== null) return refused;
  const atMs = deps.clock.epochMs();
  const offers = model.offers.filter(({ adapter }) => only === null || adapter.id === only);
  const candidates = candidatesOf(offers, model, { ask, call, atMs }, deps);
  if (candidates.length === 0) return new GatewayError("upstream_not_configured", { detail: { detail: model.slug } });
  return {
    plan: planOf(candidates, model, { ask, call, atMs }, deps),
    keepAliveMs: null,
    headers: {
      ...modelEndHeaders(model.retires === null ? [] : [model.retires]),
      ...droppedHeader(
        ask.sifted.dropped,
        candidates.every(({ offer }) => isOwnServer(offer)),
      ),
    },
    frame,
  };
}

/** A checked request, and when its price was looked up. */
interface Asked {
  readonly ask: ModelAsk<z.infer<typeof embeddingsBody>>;
  readonly call: PlanCall;
  readonly atMs: number;
}

function candidatesOf(
  offers: readonly EmbeddingOffer[],
  model: SoldEmbedding,
  { ask, call, atMs }: Asked,
  { settings, upstream }: ChatDeps,
): readonly ModelCandidate[] {
  const order = {
    requestId: call.request.id,
    completionId: "",
    createdS: Math.floor(atMs / 1000),
    stream: false,
    servedSlug: model.slug,
    contextTokens: model.contextTokens,
    outputTokensMax: 0,
    clocks: {
      firstTokenMsMax: settings.unaryMs,
      lastFirstTokenMsMax: settings.unaryMs,
      gapMsMax: settings.gapMsMax,
    },
  };
  return offers.map((offer) =>
    upstream.embeddingCandidate(offer, { ...order, body: isOwnServer(offer) ? unsifted(ask.sent) : ask.sifted.body }),
  );
}

function planOf(
  candidates: readonly ModelCandidate[],
  model: SoldEmbedding,
  { ask, call: { request, audience }, atMs }: Asked,
  { settings, counter: counters }: ChatDeps,
): Plan {
  const counter = counters.of(audience.payer?.id ?? request.address);
  const held = (price: TokenPrice) => dearestWithin(price, atMs, atMs + settings.wholeMsMax);
  const bound = { inputTokensMax: request.body.length, outputTokensMax: 0 };
  const textTokens = countedOnce(() => inputText(ask.body.input), counter);
  return {
    operation: "embeddings",
    asked: model.slug,
    streamed: false,
    effect: "read",
    quote: {
      nano: boundOf(held(model.sale), bound),
      tighten: null,
      affordable(free) {
        const tokens = affordable(free, ratesOf(held(model.sale), 0).input);
        return { affordable_input_tokens: Math.min(tokens ?? model.contextTokens, model.contextTokens) };
      },
      upstreamNano: () => candidates.map(({ offer }) => boundOf(held(offer.cost), bound)).reduce(most, ZERO),
    },
    hold: { kind: "call" },
    whilePaused: false,
    maxCostNano: ask.maxCostNano,
    slots: [],
    inference: true,
    idempotency: null,
    tags: ask.tags,
    route: ladder(candidates.map(retrying)),
    wholeMsMax: settings.wholeMsMax,
    attemptsMax: settings.attemptsMax,
    failedStatus: 502,
    timedOutStatus: 504,
    limitedStatus: 429,
    whenCallerLeaves: "abort",
    cost(served, reading, ended) {
      const prompt = { textTokens, partTokens: 0, messages: 0 };
      return tokenCost(model, served as ModelCandidate, reading, { ended, prompt, counter, atMs });
    },
    prepare: null,
  };
}
