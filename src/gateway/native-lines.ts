// Lines that a provider's own batch API runs: which ones it can run, what it gets, and how its answer becomes the line's.

import type { BatchMode, NativeAnswer, NativeLine } from "../actions/batches/line-calls.ts";
import type { Adapter, Catalog, SoldEmbedding, SoldModel, SoldUnitModel } from "../catalog/catalog.ts";
import type { FramedOpenPlan, PlanCall } from "../core/endpoint.ts";
import { GatewayError } from "../core/errors.ts";
import { percentOf } from "../core/money.ts";
import type { OpenPlan, Payer, Plan } from "../core/plan.ts";
import { jsonText } from "../core/raw-json.ts";
import type { Health, Route } from "../core/route.ts";
import { retrying } from "../kernel/routes/retrying.ts";
import type { ModelCandidate, UnitCandidate } from "../upstream/model-candidate.ts";

type AnyCandidate = ModelCandidate | UnitCandidate;

type SaleOf = (candidate: AnyCandidate) => string;

/** What a batch API answers says nothing about the provider's health at other calls. */
export const NO_HEALTH: Health = { order: (routes) => routes, trying() {}, good() {}, bad() {}, unknown() {} };

/** The candidates that call providers, as they would be tried; null in place of a function of ours. */
function candidatesOf({ candidate, rungs = [] }: Route): readonly (AnyCandidate | null)[] {
  if (candidate === null) return rungs.flatMap(candidatesOf);
  return ["answerWith" in candidate ? (candidate as AnyCandidate) : null];
}

/** What the candidate would send, where its provider's batch API takes that. */
function requestOf(candidate: AnyCandidate) {
  const { adapter } = candidate.offer;
  const { batches } = adapter.spec;
  // An account may change its own key before the batch ends.
  if (batches === undefined || adapter.ownKey === true) return null;
  const request = candidate.request();
  return request !== null && batches.paths.includes(request.path) ? request : null;
}

/** The providers whose batch APIs can run the planned line, the best first. */
export function nativeVendors({ plan }: FramedOpenPlan, mode: BatchMode | undefined): readonly string[] {
  // A call with actions has no route before it runs.
  if (mode === "inline" || !("route" in plan)) return [];
  const { quote, maxCostNano, route } = plan;
  // The gateway can shorten an answer to fit a max_cost only when it calls the provider itself.
  if (maxCostNano !== null && quote.nano > maxCostNano) return [];
  const tried = candidatesOf(route).slice(0, mode === "native" ? undefined : 1);
  const able = tried.filter((candidate) => candidate !== null && requestOf(candidate) !== null);
  return [...new Set(able.map((candidate) => candidate?.provider ?? ""))];
}

export function nativeLine({ plan }: FramedOpenPlan, vendor: string, sale: SaleOf): NativeLine | null {
  for (const candidate of "route" in plan ? candidatesOf(plan.route) : []) {
    const request = candidate?.provider === vendor ? requestOf(candidate) : null;
    if (candidate === null || request === null) continue;
    const { path, headers = {}, bytes, body } = request;
    const text = bytes?.toString("utf8") ?? jsonText(body);
    const sold = () => sale(candidate);
    return { model: candidate.offer.upstreamModel, path, headers, body: text.replace(/[\r\n]+/g, " "), sold };
  }
  return null;
}

const SAID = { messages: [{ role: "user", content: "." }] };
/** The least that a call needs besides its model. */
const LEAST: Readonly<Record<string, object>> = {
  "/v1/chat/completions": SAID,
  "/v1/messages": { ...SAID, max_tokens: 1 },
  "/v1/responses": { input: "." },
  "/v1/embeddings": { input: "." },
  "/v1/moderations": { input: "." },
};

/**
 * Plans a line again, to read its answer. What it refers to, such as a file or an earlier response, may be gone by now: then it is planned
 * without its content, which an answer is read as well with.
 */
export async function answeredCall(
  plan: (call: PlanCall) => Promise<FramedOpenPlan> | FramedOpenPlan,
  { request, audience }: PlanCall,
  answer: NativeAnswer,
): Promise<FramedOpenPlan> {
  const planned = async (body: Buffer) => answeredPlan(await plan({ request: { ...request, body }, audience }), answer);
  try {
    return await planned(request.body);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
  }
  const model = { model: answer.model, ...LEAST[request.path] };
  return planned(Buffer.from(JSON.stringify(model)));
}

/** Makes the plan read the provider's answer, at the price of its batches. */
function answeredPlan({ plan, ...framing }: FramedOpenPlan, answer: NativeAnswer): FramedOpenPlan {
  // A call with actions has no route before it runs.
  if (!("route" in plan)) throw gone(answer);
  const made = answered(plan, answer);
  if (!("forPayer" in plan)) return { ...framing, plan: made };
  const { forPayer } = plan as OpenPlan;
  return { ...framing, plan: { ...made, forPayer: async (payer: Payer) => answered(await forPayer(payer), answer) } };
}

function gone({ model }: NativeAnswer): GatewayError {
  return new GatewayError("upstream_not_configured", { detail: model });
}

function answered(plan: Plan, answer: NativeAnswer): Plan {
  const { vendor, model, percent } = answer;
  const candidate = candidatesOf(plan.route).find(
    (one) => one?.provider === vendor && one.offer.upstreamModel === model && one.offer.adapter.ownKey !== true,
  );
  if (candidate == null) throw gone(answer);
  candidate.answerWith(answer);
  const { served: _, quote, ...rest } = plan;
  const { within: _within, ...bound } = quote;
  return {
    ...rest,
    route: retrying(candidate),
    attemptsMax: 1,
    maxCostNano: null,
    quote: { ...bound, nano: percentOf(quote.nano, percent), tighten: null },
    async cost(served, reading, ended) {
      const cost = await plan.cost(served, reading, ended);
      return {
        ...cost,
        chargeNano: percentOf(cost.chargeNano, percent),
        upstreamNano: percentOf(cost.upstreamNano, percent),
        priceVersion: `${cost.priceVersion}*${percent}%`,
      };
    },
  };
}

type AnySold = SoldModel | SoldEmbedding | SoldUnitModel;

/** The candidate's model with this offer alone, as JSON. A vendor with a batch API describes its models without functions. */
export function soldText(
  { model: slug, offer }: ModelCandidate | UnitCandidate,
  catalog: Catalog,
  audience: { readonly sandbox: boolean },
): string {
  const kind = "kind" in offer.spec ? offer.spec.kind : "chat";
  const unit = () => (kind === "chat" ? null : catalog.unitModel(kind, slug, audience));
  const byTokens = { chat: catalog.model, embeddings: catalog.embedding }[kind as string];
  const sold: AnySold | null = byTokens === undefined ? unit() : byTokens(slug, audience);
  const isThis = ({ adapter, upstreamModel }: AnySold["offers"][number]) =>
    adapter.id === offer.adapter.id && upstreamModel === offer.upstreamModel;
  return JSON.stringify(sold && { ...sold, offers: sold.offers.filter(isThis) }, (name, value) => {
    if (name === "adapter") return (value as Adapter).id;
    return value instanceof Map ? [...value] : value;
  });
}

/** The catalog with this model alone, under any name; the current catalog if the model was already gone, or its provider is now. */
export function catalogThen(text: string, now: Catalog, audience: { readonly sandbox: boolean }): Catalog {
  const adapters = now.adapters(audience);
  const sold = JSON.parse(text, (name, value) => {
    if (name === "adapter") return adapters.get(value);
    return name === "rates" ? new Map(value) : value;
  }) as AnySold | null;
  if (sold === null || sold.offers.some(({ adapter }) => adapter === undefined)) return now;
  return {
    ...now,
    tiers: new Map(),
    model: () => (sold.kind === "chat" ? (sold as SoldModel) : null),
    embedding: () => (sold.kind === "embeddings" ? (sold as SoldEmbedding) : null),
    unitModel: () => ("rates" in sold.sale ? (sold as SoldUnitModel) : null),
  };
}
