// Makes a Plan from an embeddings request: one model, priced by its input alone.
import { z } from "zod";
import { modelsRefusal } from "../accounts/allowed.ts";
import { boundOf, ratesOf } from "../catalog/price.ts";
import { GatewayError } from "../errors.ts";
import { affordable, usdText } from "../money.ts";
import { parseJson } from "../pipeline/parse-json.ts";
import type { Call, Caller, Frame, Plan } from "../plan.ts";
import type { ModelRoute } from "../upstream/upstream.ts";
import { usageJson } from "../wires/chat-completions/usage.ts";
import { schemaError } from "./chat-body.ts";
import type { ChatDeps } from "./chat-plan.ts";
import { tokenCost } from "./token-cost.ts";

const embeddingsBody = z.looseObject({
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
export function embeddingsPlan(call: Call & { readonly caller: Caller }, deps: ChatDeps): Plan | GatewayError {
  const { request, caller } = call;
  const json = parseJson(request.body);
  if (json instanceof GatewayError) return json;
  const parsed = embeddingsBody.safeParse(json);
  if (!parsed.success) return schemaError(parsed.error);
  const body = parsed.data;
  const model = deps.catalog().embedding(body.model, { sandbox: caller.payer.sandbox });
  if (model === null) return new GatewayError("model_not_found", { param: "model", detail: { model: body.model } });
  const refused = modelsRefusal(caller.allows, [{ name: body.model, param: "model" }]);
  if (refused !== null) return refused;
  const { settings, upstream, clock, counter } = deps;
  const clocks = {
    firstTokenMsMax: settings.unaryMs,
    lastFirstTokenMsMax: settings.unaryMs,
    gapMsMax: settings.gapMsMax,
  };
  const order = {
    body,
    requestId: request.id,
    completionId: "",
    createdS: Math.floor(clock.epochMs() / 1000),
    stream: false,
    servedSlug: model.slug,
    contextTokens: model.contextTokens,
    outputTokensMax: 0,
    clocks,
  };
  const routes = model.offers.map((offer) => upstream.embeddingRoute(offer, order));
  if (routes.length === 0) return new GatewayError("upstream_not_configured", { detail: { detail: model.slug } });
  const bound = { inputTokensMax: request.body.length, outputTokensMax: 0 };
  return {
    operation: "embeddings",
    asked: body.model,
    streamed: false,
    effect: "read",
    quote: {
      nano: boundOf(model.sale, bound),
      tighten: null,
      affordable(free) {
        const tokens = affordable(free, ratesOf(model.sale, 0).input);
        return { affordable_input_tokens: Math.min(tokens ?? model.contextTokens, model.contextTokens) };
      },
    },
    free: false,
    maxCostNano: null,
    slots: [],
    inference: true,
    idempotency: null,
    routes,
    wholeMsMax: settings.wholeMsMax,
    attemptsMax: settings.attemptsMax,
    keepAliveMs: null,
    failedStatus: 502,
    timedOutStatus: 504,
    whenClientLeaves: "abort",
    cost(served, reading, ended) {
      const prompt = { text: () => inputText(body.input), partTokens: 0, messages: 0 };
      return tokenCost(model, served as ModelRoute, reading, { ended, prompt, counter });
    },
    prepare: null,
    frame,
  };
}
