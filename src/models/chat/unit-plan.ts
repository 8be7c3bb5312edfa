// Plans a call of a unit-priced model: images, audio, reranking, moderation, plain completions.

import type { z } from "zod";
import type { SoldUnitModel } from "../../catalog/catalog.ts";
import { findUnitModel } from "../../catalog/find-model.ts";
import { modelEndHeaders } from "../../catalog/retirement.ts";
import { costOfCounts, pricesAll } from "../../catalog/unit-price.ts";
import type { FramedPlan, GatewayRequest, PlanCall } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import { readFields } from "../../core/field-issues.ts";
import { idAfter } from "../../core/ids.ts";
import { callsAffordable, most, type Nano, ZERO } from "../../core/money.ts";
import type { Plan } from "../../core/plan.ts";
import type { Candidate, Counts, TokenUsage } from "../../core/route.ts";
import { ladder } from "../../kernel/routes/ladder.ts";
import { retrying } from "../../kernel/routes/retrying.ts";
import { requireModels } from "../../money/accounts/allowed.ts";
import type { UploadedFile } from "../../platform/uploads/form-body.ts";
import { isRecord } from "../../upstream/json-pointer.ts";
import type { UnitCandidate } from "../../upstream/model-candidate.ts";
import { callTags, type NamedBy } from "../formats/call-tags.ts";
import type { Field } from "../formats/field-table.ts";
import { idempotencyOf } from "../formats/idempotency-key.ts";
import { type KnownBody, keepKnown } from "../formats/known-fields.ts";
import { maxCostOf } from "../formats/max-cost.ts";
import { invalid, schemaError } from "../formats/parse-json.ts";
import type { ChatDeps } from "./deps.ts";
import { droppedHeader } from "./dropped-header.ts";
import type { TokenCounter } from "./token-counter.ts";
import type { AnswerForm, UnitAsk, UnitEndpoint, UnitFit } from "./unit-endpoint.ts";
import { unitFrame } from "./unit-frame.ts";

interface ModelAsk<Body> {
  readonly body: Body;
  readonly known: KnownBody;
  readonly sent: Record<string, unknown>;
  readonly maxCostNano: Plan["maxCostNano"];
  readonly tags: readonly string[];
}

function readModelAsk<Body extends NamedBy>(
  sent: unknown,
  { schema, fields }: { readonly schema: z.ZodType<Body>; readonly fields: Field },
  request: GatewayRequest,
): ModelAsk<Body> {
  if (!isRecord(sent)) throw schemaError([{ path: "", message: "must be an object" }]);
  const known = keepKnown(sent, fields);
  const parsed = readFields(schema, known.body);
  if (!("data" in parsed)) throw schemaError(parsed);
  if (known.refused !== null) throw known.refused;
  const maxCostNano = maxCostOf(request, sent.max_cost_cents);
  return { body: parsed.data, known, sent, maxCostNano, tags: callTags(request, parsed.data) };
}

/** A body as sent, in JSON or as a form. */
export interface SentBody {
  readonly sent: unknown;
  readonly files: readonly UploadedFile[];
  readonly secondsMax?: number;
  /** Default: the size of the received body. */
  readonly sentBytes?: number;
  /** What the Idempotency-Key is bound to. */
  readonly fingerprinted: unknown;
  /** The only adapter that may serve it; absent: any. */
  readonly only?: string;
}

type Fits = ReadonlyMap<Candidate, UnitFit>;

/** The counts as token usage for postings and metrics; null if no unit is a token. */
export function tokensOf(counts: Counts): TokenUsage | null {
  const sum = (units: readonly string[]) => units.reduce((tokens, unit) => tokens + (counts[unit] ?? 0), 0);
  const inputTokens = sum(["textIn", "imageIn", "audioIn"]);
  const cacheReadTokens = sum(["cachedIn", "cachedAudioIn", "cachedImageIn"]);
  const outputTokens = sum(["textOut", "imageOut", "audioOut"]);
  if (inputTokens + cacheReadTokens + outputTokens === 0) return null;
  return { inputTokens, cacheReadTokens, cacheWriteTokens: 0, outputTokens, reasoningTokens: 0 };
}

/** Streams and bytes are not stored, so they accept no Idempotency-Key. */
function keyOf<Body>(
  { request }: PlanCall,
  { isKept = true }: UnitEndpoint<Body>,
  form: AnswerForm,
  fingerprinted: unknown,
): Plan["idempotency"] {
  if (!isKept) return null;
  if (form.kind === "json" || !request.headers.has("idempotency-key")) return idempotencyOf(request, fingerprinted);
  const param = "Idempotency-Key";
  throw new GatewayError("bad_request", { param, detail: `${param}: not possible with this answer` });
}

/** Limits an account's free calls, which consume our rate limit at the vendor. */
function countFree(call: PlanCall, limit: number, { freeWindows }: ChatDeps): void {
  const state = freeWindows.take(call.audience.payer?.id ?? call.request.address, limit);
  if (state.allowed) return;
  const detail = { limit, window_seconds: state.windowSeconds };
  throw new GatewayError("rate_limited", { detail, retryAfterSeconds: state.resetSeconds });
}

function fitsOf<Body>(
  endpoint: UnitEndpoint<Body>,
  ask: UnitAsk<Body>,
  model: SoldUnitModel,
  { call, deps }: { readonly call: PlanCall; readonly deps: ChatDeps },
): { readonly fits: Fits; readonly refused: GatewayError | null } {
  const { request } = call;
  const fits = new Map<Candidate, UnitFit>();
  const { settings, clock, upstream } = deps;
  const answerMsMax = endpoint.answerMsMax ?? settings.unaryMs;
  let refused: GatewayError | null = null;
  for (const offer of model.offers) {
    const named = offer.spec.refuses?.find((field) => isRecord(ask.body) && ask.body[field] != null);
    const fit = named === undefined ? endpoint.fit(ask, offer) : invalid(named, `${model.slug} does not take it`);
    if (fit instanceof GatewayError) {
      refused ??= fit;
      continue;
    }
    if (!pricesAll(model.sale, fit.countsMax)) {
      refused ??= new GatewayError("bad_request", { detail: `${model.slug} has no price for this` });
      continue;
    }
    const candidate = upstream.unitCandidate(offer, {
      requestId: request.id,
      completionId: idAfter(request.id, "cmpl-"),
      createdS: Math.floor(clock.epochMs() / 1000),
      servedSlug: model.slug,
      clocks: {
        firstTokenMsMax: answerMsMax,
        lastFirstTokenMsMax: answerMsMax,
        gapMsMax: Math.max(settings.gapMsMax, endpoint.answerMsMax ?? 0),
      },
      asked: { ...fit, task: endpoint.task, files: ask.files },
    });
    fits.set(candidate, fit);
  }
  return { fits, refused };
}

export function unitPlan<Body extends NamedBy & { readonly model?: string | null | undefined }>(
  endpoint: UnitEndpoint<Body>,
  { sent, fingerprinted, only, ...came }: SentBody,
  call: PlanCall,
  deps: ChatDeps,
): FramedPlan {
  const { request, audience } = call;
  const read = readModelAsk(sent, endpoint, request);
  const { known, maxCostNano, tags } = read;
  const ask = { sentBytes: request.body.length, ...came, body: read.body, sent: read.sent };
  const form = endpoint.answerForm(ask);
  const idempotency = keyOf(call, endpoint, form, fingerprinted);
  const name = ask.body.model ?? endpoint.defaultModel;
  if (name === undefined) throw invalid("model", "is missing, must be a string");
  const model = findUnitModel(endpoint.kind, name, { catalog: deps.catalog(), audience, atMs: deps.clock.epochMs() });
  requireModels(audience.allows, [{ name: model.slug, param: "model" }]);
  const offers = model.offers.filter(({ adapter }) => only === undefined || adapter.id === only);
  if (offers.length === 0 && model.offers.length > 0)
    throw invalid("model", `${model.slug} is none of ${only}'s models`);
  const { fits, refused } = fitsOf(endpoint, ask, { ...model, offers }, { call, deps });
  if (fits.size === 0) throw refused ?? new GatewayError("upstream_not_configured", { detail: model.slug });
  const isFree = model.sale.rates.size === 0;
  if (isFree) countFree(call, endpoint.freePerMinute ?? 60, deps);
  return {
    plan: {
      ...servedPlan(endpoint, { ask, model, fits }, deps, deps.counter.of(audience.payer?.id ?? request.address)),
      idempotency: isFree ? null : idempotency,
      maxCostNano,
      tags,
    },
    keepAliveMs: null,
    headers: {
      ...droppedHeader(
        known.dropped,
        [...fits.values()].every(({ isWhole }) => isWhole === true),
      ),
      ...modelEndHeaders(model.retires === null ? [] : [model.retires]),
    },
    loweredTo: (served) => fits.get(served)?.loweredTo ?? null,
    frame: unitFrame(form, endpoint.tellsCost !== false && !isFree),
  };
}

function servedPlan<Body>(
  endpoint: UnitEndpoint<Body>,
  { ask, model, fits }: { readonly ask: UnitAsk<Body>; readonly model: SoldUnitModel; readonly fits: Fits },
  { settings }: ChatDeps,
  counter: TokenCounter,
): Omit<Plan, "idempotency" | "maxCostNano" | "tags"> {
  const isFree = model.sale.rates.size === 0;
  const quoteNano = [...fits.values()].map(({ countsMax }) => costOfCounts(model.sale, countsMax)).reduce(most, ZERO);
  const costMax = (candidate: Candidate): Nano => {
    return costOfCounts((candidate as UnitCandidate).offer.cost, fits.get(candidate)?.countsMax ?? {});
  };
  return {
    operation: endpoint.operation,
    asked: model.slug,
    streamed: endpoint.answerForm(ask).kind === "events",
    effect: "read",
    quote: {
      nano: quoteNano,
      tighten: null,
      affordable: (free) =>
        endpoint.affordable?.(free, model) ?? { affordable_calls: callsAffordable(free, quoteNano) },
      upstreamNano: () => [...fits.keys()].map(costMax).reduce(most, ZERO),
    },
    hold: { kind: isFree ? "none" : "call" },
    whilePaused: isFree,
    inference: !isFree,
    slots: [],
    route: ladder([...fits.keys()].map(retrying)),
    wholeMsMax: Math.max(settings.wholeMsMax, endpoint.answerMsMax ?? 0),
    attemptsMax: settings.attemptsMax,
    failedStatus: 502,
    timedOutStatus: 504,
    limitedStatus: 429,
    whenCallerLeaves: endpoint.whenCallerLeaves,
    async cost(served, reading) {
      const fit = fits.get(served);
      if (fit === undefined) throw new Error("served by a candidate that is not the plan's");
      const counts = reading.counts ?? (await endpoint.counted?.(ask, reading, counter)) ?? fit.countsMax;
      return {
        chargeNano: costOfCounts(model.sale, counts),
        upstreamNano: costOfCounts((served as UnitCandidate).offer.cost, counts),
        usage: tokensOf(counts),
        estimated: reading.counts === undefined && Object.keys(counts).some((unit) => unit !== "characters"),
        priceVersion: model.sale.version,
      };
    },
    prepare: null,
  };
}
