// Makes a Plan from a request to a model, in whatever wire it came: its candidates in order, the most it can cost, its meter and its frame.

import type { Catalog, Offer, SoldModel } from "../../catalog/catalog.ts";
import type { Clock } from "../../core/clock.ts";
import type { FramedPlan, PlanCall } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import { idAfter } from "../../core/ids.ts";
import type { CallerRequest, ThoughtSeal } from "../../core/neutral.ts";
import type { Payer, Plan } from "../../core/plan.ts";
import type { Candidate } from "../../core/route.ts";
import { ladder } from "../../kernel/routes/ladder.ts";
import { retrying } from "../../kernel/routes/retrying.ts";
import { modelsRefusal } from "../../money/accounts/allowed.ts";
import type { RequestWindows } from "../../platform/limits/request-windows.ts";
import type { ChatOrder, ModelCandidate } from "../../upstream/model-candidate.ts";
import type { ServingRoute } from "../../upstream/moved-conversations.ts";
import type { Upstream } from "../../upstream/upstream.ts";
import { callTags } from "../formats/call-tags.ts";
import { maxCostOf } from "../formats/max-cost.ts";
import type { ModelRequest, OutputBound } from "../formats/model-request.ts";
import { conversationKey, goesOn } from "./conversation-key.ts";
import { takesUnsifted, tellingUnsent } from "./dropped-header.ts";
import { notTaken } from "./not-taken.ts";
import { withOwnKeys } from "./own-keys.ts";
import { headersOf } from "./plan-headers.ts";
import { type Placed, placed, prefer } from "./prefer.ts";
import { partTokensMax } from "./prompt-bounds.ts";
import { type FitModel, type QuotedPrompt, quoteOf } from "./quote.ts";
import { resolveModels, type Wanted } from "./resolve-models.ts";
import { repeatingOf, retelling } from "./retold.ts";
import { type RouteOrder, routeOrder } from "./route-order.ts";
import type { Unfit } from "./routes-header.ts";
import { countedOnce, tokenCost } from "./token-cost.ts";
import type { TokenCounters } from "./token-counter.ts";

/** Where neither the request nor the model says how long an answer may be. */
const OUTPUT_TOKENS_UNKNOWN = 16_384;

export interface ChatSettings {
  /** For models asked for by slug; tiers say their own, unless it is replaced here. */
  readonly firstTokenMsMax: number;
  readonly firstTokenMsMaxByTier: Readonly<Record<string, number>>;
  readonly lastFirstTokenMsMax: number;
  readonly gapMsMax: number;
  readonly wholeMsMax: number;
  readonly attemptsMax: number;
  /** A unary attempt's time: this, and so much for every output token allowed. */
  readonly unaryMs: number;
  readonly unaryMsPerToken: number;
  /** A caller without a key may buy an answer whose length the request bounds, at what that could cost. Absent: it may not. */
  readonly sellsAtBound?: boolean;
}

export interface ChatDeps {
  /** The catalog in force: it is replaced when the overlay is read again. */
  readonly catalog: () => Catalog;
  readonly upstream: Upstream;
  readonly counter: TokenCounters;
  readonly clock: Clock;
  readonly settings: ChatSettings;
  /** The seal of a payer's thoughts; while the payer is not known, one that seals and opens nothing. */
  readonly seals: (payer: Payer | null) => ThoughtSeal;
  /** Counts the calls that cost nothing. */
  readonly freeWindows: RequestWindows;
}

function keepAliveMs({ request }: PlanCall): number | null {
  const seconds = Number(request.headers.get("x-tollgate-keepalive"));
  return seconds >= 1 && seconds <= 300 ? seconds * 1000 : null;
}

/** For who says himself in which order routes are tried. */
const NEVER_MOVED = { size: 0, routeOf: () => null };

/** What every model of a call is made fit with. */
interface Make {
  readonly deps: ChatDeps;
  readonly read: ModelRequest;
  /** Whose catalog is looked at for others that could. */
  readonly sandbox: boolean;
  readonly requestId: string;
  readonly account: string | undefined;
  readonly conversation: () => string;
  readonly id: string;
  readonly createdS: number;
  /** Where the routes that cannot serve the call are written down; null: they are not. */
  readonly unfit: Unfit[] | null;
}

const NO_PARTS = {};

/** What a call gets that names no bound. Some models may fill their whole context: half of it leaves room for the prompt. */
function ownMax({ outputTokensMax, contextTokens }: SoldModel): number {
  return Math.min(outputTokensMax ?? OUTPUT_TOKENS_UNKNOWN, Math.ceil(contextTokens / 2));
}

/** The most output tokens at a model, before its payer's money is looked at. */
function outputTokensMaxOf({ asked, fallback, cap }: OutputBound, model: SoldModel): number {
  // Longer than the whole context means as long as the model can answer.
  const length = asked !== null && asked > model.contextTokens ? ownMax(model) : asked;
  const wanted = Math.min(length ?? fallback ?? ownMax(model), cap ?? Number.POSITIVE_INFINITY);
  return Math.min(wanted, model.outputTokensMax ?? wanted);
}

/** A vendor refuses more than its own longest answer, where another of the same model takes it. */
function takenBy({ spec }: Offer, outputTokensMax: number): number {
  return Math.min(outputTokensMax, spec.outputTokensMax ?? outputTokensMax);
}

function candidatesOf(model: SoldModel, firstTokenMsMax: number, outputTokensMax: number, make: Make) {
  const { read, deps } = make;
  const { settings, upstream } = deps;
  const unaryMs = settings.unaryMs + settings.unaryMsPerToken * outputTokensMax;
  const clocks = read.stream
    ? { firstTokenMsMax, lastFirstTokenMsMax: settings.lastFirstTokenMsMax, gapMsMax: settings.gapMsMax }
    : { firstTokenMsMax: unaryMs, lastFirstTokenMsMax: unaryMs, gapMsMax: settings.gapMsMax };
  const answers = read.answers({ id: make.id, createdS: make.createdS, model: model.slug });
  const orderFor = (offer: Offer, asked: CallerRequest): ChatOrder => ({
    asked,
    answers,
    requestId: make.requestId,
    account: make.account,
    conversation: make.conversation,
    completionId: make.id,
    createdS: make.createdS,
    stream: read.stream,
    servedSlug: model.slug,
    contextTokens: model.contextTokens,
    outputTokensMax: takenBy(offer, outputTokensMax),
    clocks,
    seal: read.seal,
  });
  const made: (ModelCandidate | string)[] = [];
  for (const offer of model.offers) {
    if (partTokensMax(read.shape, offer.spec.parts ?? NO_PARTS, offer.spec.contextTokens) === null) continue;
    const asked = takesUnsifted(offer, read) ? read.unsifted() : read.asked;
    made.push(upstream.chatCandidate(offer, orderFor(offer, asked)));
  }
  if (make.unfit !== null) make.unfit.push(...unfitOf(model, made));
  return made;
}

/** The routes of a model that cannot serve the call, with the reason. */
function unfitOf({ offers }: SoldModel, made: readonly (ModelCandidate | string)[]): readonly Unfit[] {
  const reasons = made.filter((one) => typeof one === "string");
  const fit = new Set(made.flatMap((one) => (typeof one === "string" ? [] : [one.offer])));
  return offers
    .filter((offer) => !fit.has(offer))
    .map(({ adapter, upstreamModel }) => {
      const reason = reasons.shift() ?? "content of this kind is not taken";
      return { provider: adapter.id, model: upstreamModel, reason };
    });
}

/** Those that are no reason. A list that grows takes room for seventeen, and nearly every call has one of them for as long as it runs. */
function fitOf<One extends object>(made: readonly (One | string)[]): readonly One[] {
  const [first] = made;
  if (made.length === 1 && typeof first === "object") return [first];
  return made.filter((one) => typeof one !== "string");
}

function fitModel({ model, firstTokenMsMax, place }: Wanted, make: Make): FitModel | string {
  const { read } = make;
  const partTokens = partTokensMax(read.shape, model.parts, model.contextTokens);
  if (partTokens === null) return notTaken(model, read, { catalog: make.deps.catalog(), sandbox: make.sandbox });
  const outputTokensMax = outputTokensMaxOf(read.output, model);
  const made = candidatesOf(model, firstTokenMsMax, outputTokensMax, make);
  const candidates = fitOf(made);
  if (candidates.length === 0) {
    const reason = made.find((one) => typeof one === "string") ?? "content of this kind is not taken";
    return `${model.slug} cannot be asked for this: ${reason}`;
  }
  const unsifted = read.dropped.length > 0 && model.offers.some((offer) => takesUnsifted(offer, read));
  return { model, place, firstTokenMsMax, candidates, partTokens, outputTokensMax, unsifted };
}

/** The field of the request that a reason names first; most are about what is in the conversation. */
function fieldNamedIn(reason: string, { asked, promptField }: ModelRequest): string {
  const words = reason.slice(reason.indexOf(": ") + 1).match(/\w+/g) ?? [];
  return words.find((word) => Object.hasOwn(asked.body, word)) ?? promptField;
}

function promptBytes(read: ModelRequest, { request }: PlanCall): number {
  return request.body.length + (read.keptBytes ?? 0);
}

function promptOf(read: ModelRequest, bodyBytes: number, { audience }: PlanCall): QuotedPrompt {
  return {
    shape: read.shape,
    bodyBytes,
    text: () => read.sentText(),
    choices: read.choices,
    strict: audience.strictBounds,
  };
}

/** The models that can serve a request, in order; or why none can. */
/** Of models behind one name those come last that would not be told where to stop: their answer would be another. */
function stoppedFirst(fits: readonly FitModel[]): readonly FitModel[] {
  const goesOn = ({ candidates: [first] }: FitModel) => first?.unsent().includes("stop") === true;
  return fits.toSorted((a, b) => a.place - b.place || Number(goesOn(a)) - Number(goesOn(b)));
}

function fitModels(wanted: readonly Wanted[], make: Make): readonly FitModel[] | GatewayError {
  const { read } = make;
  const made = wanted.map((one) => fitModel(one, make));
  const fits = fitOf(made);
  if (fits.length > 0 && read.unknownPart === null) {
    return fits.length > 1 && read.asked.body.stop != null ? stoppedFirst(fits) : fits;
  }
  const unknown = `content parts of type ${read.unknownPart} are not known here`;
  const why = read.unknownPart === null ? String(made[0]) : unknown;
  const param = fieldNamedIn(why, read);
  return new GatewayError("bad_request", { param, detail: { detail: `${param}: ${why}` } });
}

/** Which model each candidate serves, those made with fewer output tokens included. */
class Fits {
  #placed: readonly Placed[] = [];
  readonly #read: ModelRequest;

  constructor(read: ModelRequest) {
    this.#read = read;
  }

  /** The route of these candidates, in their order. */
  routeOf(some: readonly Placed[]) {
    this.#placed = this.#placed.length === 0 ? some : [...this.#placed, ...some];
    return ladder(some.map(({ candidate }) => retrying(candidate)));
  }

  of(served: Candidate): FitModel {
    const placed = this.#placed.find(({ candidate }) => candidate === served);
    if (placed === undefined) throw new Error("served by a route that is not the plan's");
    const { fit, candidate } = placed;
    return { ...fit, outputTokensMax: takenBy(candidate.offer, fit.outputTokensMax) };
  }

  /** What the output of the one that served was lowered to; null: it stands as asked. */
  readonly loweredTo = (served: Candidate): number | null => {
    const { outputTokensMax, model } = this.of(served);
    const { asked, shared } = this.#read.output;
    const expected = asked ?? (shared ? ownMax(model) : 0);
    return outputTokensMax < expected ? outputTokensMax : null;
  };
}

function servingRoute(fit: FitModel, { healthKey }: Candidate, first: Placed | null): ServingRoute {
  if (first === null || healthKey === first.candidate.healthKey) return "first";
  return fit.model.slug === first.fit.model.slug ? "same-model" : "other-model";
}

/** The models of candidates, in the order in which they come first. */
function modelsOf(tried: readonly Placed[]): readonly FitModel[] {
  const [first] = tried;
  if (first !== undefined && tried.length === 1) return [first.fit];
  return [...new Set(tried.map(({ fit }) => fit))];
}

function isLowered({ lowerings }: PlanCall["audience"], tags: readonly string[], atMs: number): boolean {
  if (lowerings === undefined) return false;
  return lowerings.some(({ untilMs, tag }) => atMs < untilMs && (tag === undefined || tags.includes(tag)));
}

/** Makes the plan of a request that its wire has read, or says what is wrong with it. */
export function modelPlan(call: PlanCall, read: ModelRequest, deps: ChatDeps): FramedPlan | GatewayError {
  const { request, audience } = call;
  const repeating = repeatingOf(call, read);
  if (repeating instanceof GatewayError) return repeating;
  const { idempotency } = repeating;
  const tags = callTags(request, read.named);
  if (tags instanceof GatewayError) return tags;
  const { settings } = deps;
  const { sandbox } = audience;
  const resolved = resolveModels(read.wanted, deps.catalog(), {
    sandbox,
    lowers: isLowered(audience, tags, deps.clock.epochMs()),
    firstTokenMsMax: settings.firstTokenMsMax,
    firstTokenMsMaxByTier: settings.firstTokenMsMaxByTier,
  });
  if (resolved instanceof GatewayError) return resolved;
  const refused = modelsRefusal(audience.allows, resolved.asked);
  if (refused !== null) return refused;
  const maxCostNano = maxCostOf(request, read.maxCostCents);
  if (maxCostNano instanceof GatewayError) return maxCostNano;
  const id = idAfter(request.id, read.idPrefix);
  const atMs = deps.clock.epochMs();
  const createdS = Math.floor(atMs / 1000);
  const isTraced = request.headers.get("x-tollgate-trace") === "1";
  const asked = resolved.asked.map(({ name }) => name).join(",");
  const bodyBytes = promptBytes(read, call);
  let key: string | null = null;
  const conversation = () => {
    key ??= conversationKey(call, asked, read.asked.body);
    return key;
  };
  const make: Make = {
    deps,
    read,
    requestId: request.id,
    account: audience.payer?.id,
    conversation,
    id,
    createdS,
    sandbox: call.audience.sandbox,
    unfit: isTraced ? [] : null,
  };
  const { ownKeys } = audience;
  const fits = fitModels(ownKeys === undefined ? resolved.models : withOwnKeys(resolved.models, ownKeys), make);
  if (fits instanceof GatewayError) return fits;
  const { health, moved } = deps.upstream;
  // Who says himself in which order routes are tried has them in that order.
  const keepsOrder = read.preferences !== null && (read.preferences.order ?? read.preferences.sort) !== null;
  const ordered = (some: readonly FitModel[]): RouteOrder | GatewayError => {
    const all = placed(some);
    const wanted = read.preferences === null ? all : prefer(all, read.preferences, health.speedOf);
    if (wanted instanceof GatewayError) return wanted;
    const { stay } = read;
    if (stay !== undefined) return routeOrder(wanted, { conversation, moved: { size: 1, routeOf: () => stay } });
    // A caller's own key comes first at every call: what failed once with it is not paid in full from then on.
    const isFree = keepsOrder || ownKeys !== undefined || (moved.size > 0 && !goesOn(call, read.asked.body));
    return routeOrder(wanted, { conversation, moved: isFree ? NEVER_MOVED : moved });
  };
  const order = ordered(fits);
  if (order instanceof GatewayError) return order;
  const tried = order.placed;
  const served = new Fits(read);
  const route = served.routeOf(tried);
  const models = modelsOf(tried);
  const routeOf = (some: readonly FitModel[]) => {
    const left = ordered(some);
    // What was left of all of them is left of some of them.
    if (left instanceof GatewayError) throw left;
    return served.routeOf(left.placed);
  };
  const withOutput = (fit: FitModel, outputTokensMax: number): FitModel => {
    const made = candidatesOf(fit.model, fit.firstTokenMsMax, outputTokensMax, { ...make, unfit: null });
    return { ...fit, outputTokensMax, candidates: made.filter((one) => typeof one !== "string") };
  };
  const { shape } = read;
  const counter = deps.counter.of(call.audience.payer?.id ?? call.request.address);
  const textTokens = countedOnce(() => read.readText(), counter);
  const plan: Plan = {
    operation: read.operation,
    asked,
    streamed: read.stream,
    effect: "read",
    quote: quoteOf(models, promptOf(read, bodyBytes, call), {
      counter,
      fromMs: atMs,
      untilMs: atMs + settings.wholeMsMax,
      routeOf,
      withOutput: read.output.shared ? withOutput : null,
    }),
    hold: { kind: "call" },
    whilePaused: false,
    maxCostNano,
    // What was streamed could not be withheld from a caller who does not pay for it.
    exactPrice: settings.sellsAtBound === true && audience.payer === null && !read.stream && read.output.asked !== null,
    slots: [],
    inference: true,
    ...repeating,
    tags,
    route,
    wholeMsMax: settings.wholeMsMax,
    attemptsMax: settings.attemptsMax,
    failedStatus: 502,
    timedOutStatus: 504,
    limitedStatus: 429,
    // Who asks again under the same key wants the answer that was left, not another one.
    whenCallerLeaves: idempotency === null ? "abort" : "finish",
    cost(candidate, reading, ended) {
      const { partTokens, model } = served.of(candidate);
      const prompt = { textTokens, partTokens, messages: shape.messages };
      return tokenCost(model, candidate as ModelCandidate, reading, { ended, prompt, counter, atMs });
    },
    served(candidate) {
      const route = servingRoute(served.of(candidate), candidate, order.first);
      // A first turn is where the later ones will go on. Served where any call goes, it says nothing of others that begin alike.
      const tells = route !== "first" || (moved.size > 0 && goesOn(call, read.asked.body));
      if (!keepsOrder && tells) moved.served(conversation(), candidate.healthKey, route);
    },
    prepare: null,
  };
  const frame = tellingUnsent(read.frame({ id, createdS, trace: isTraced }));
  return {
    plan,
    asked: read.asked,
    keepAliveMs: keepAliveMs(call),
    headers: headersOf(read, { resolved, order, fits, unfit: make.unfit, health }),
    loweredTo: served.loweredTo,
    frame,
    retell: retelling(read, frame),
  };
}
