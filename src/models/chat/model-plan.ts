// Plans a model call of any format: its candidates in order, its maximum cost, its meter and its frame.
import type { Frame, FramedPlan, KeptForm, PlanCall } from "../../core/endpoint.ts";
import { idAfter } from "../../core/ids.ts";
import type { Plan, Quote } from "../../core/plan.ts";
import type { Candidate, Reading, Route } from "../../core/route.ts";
import { ladder } from "../../kernel/routes/ladder.ts";
import { retrying } from "../../kernel/routes/retrying.ts";
import { requireModels } from "../../money/accounts/allowed.ts";
import type { ModelCandidate } from "../../upstream/model-candidate.ts";
import type { ServingRoute } from "../../upstream/moved-conversations.ts";
import { callTags } from "../formats/call-tags.ts";
import { maxCostOf } from "../formats/max-cost.ts";
import type { ModelRequest, OutputBound } from "../formats/model-request.ts";
import { conversationKey, goesOn } from "./conversation-key.ts";
import type { ChatDeps } from "./deps.ts";
import { tellingUnsent } from "./dropped-header.ts";
import { type FittedCall, fitModels, ownMax, takenBy, withOutput } from "./fit-models.ts";
import { withOwnKeys } from "./own-keys.ts";
import { headersOf, type Unfit } from "./plan-headers.ts";
import { type Placed, placed, prefer } from "./prefer.ts";
import { type FitModel, quoteOf } from "./quote.ts";
import { type Resolved, resolveModels } from "./resolve-models.ts";
import { repeatingOf, retell } from "./retold.ts";
import { type RouteOrder, routeOrder } from "./route-order.ts";
import { TokenMeter } from "./token-cost.ts";

function keepAliveMs({ request }: PlanCall): number | null {
  const seconds = Number(request.headers.get("x-tollgate-keepalive"));
  return seconds >= 1 && seconds <= 300 ? seconds * 1000 : null;
}

/** For callers that chose the route order: ignores where conversations moved. */
const NEVER_MOVED = { size: 0, routeOf: () => null };

/** The distinct models of the candidates, in order of first appearance. */
function modelsOf(tried: readonly Placed[]): readonly FitModel[] {
  const [first] = tried;
  if (first !== undefined && tried.length === 1) return [first.fit];
  return [...new Set(tried.map(({ fit }) => fit))];
}

function isLowered({ lowerings }: PlanCall["audience"], tags: readonly string[], atMs: number): boolean {
  if (lowerings === undefined) return false;
  return lowerings.some(({ untilMs, tag }) => atMs < untilMs && (tag === undefined || tags.includes(tag)));
}

/** One model call, while it is planned and while it runs. */
class ModelCall implements FittedCall {
  readonly deps: ChatDeps;
  readonly id: string;
  readonly unfit: Unfit[] | null;
  readonly atMs: number;
  /** Null once the answer has begun: thousands of open streams would keep their callers' requests. */
  #read: ModelRequest | null;
  readonly #call: PlanCall;
  readonly #names: string;
  readonly #output: OutputBound;
  /** Of the request and of what it refers to; kept because the body itself is freed. */
  readonly #promptBytes: number;
  readonly #meter: TokenMeter;
  #conversation: string | null = null;
  /** The conversation that `served` notes, once the answer has begun; null: none. */
  #noted: string | null = null;
  #first: Placed | null = null;
  /** All candidates with their models, including those with a lowered output limit. */
  #placed: readonly Placed[] = [];

  constructor(call: PlanCall, read: ModelRequest, { asked }: Pick<Resolved, "asked">, deps: ChatDeps) {
    const { request, audience } = call;
    this.#call = call;
    this.#read = read;
    this.deps = deps;
    this.id = idAfter(request.id, read.idPrefix);
    this.atMs = deps.clock.epochMs();
    this.unfit = request.headers.get("x-tollgate-trace") === "1" ? [] : null;
    this.#names =
      asked.length === 1 && asked[0] !== undefined ? asked[0].name : asked.map(({ name }) => name).join(",");
    this.#output = read.output;
    this.#promptBytes = request.body.length + (read.keptBytes ?? 0);
    const { readText, shape } = read;
    const prompt = { readText, messages: shape.messages };
    this.#meter = new TokenMeter(prompt, deps.counter.of(audience.payer?.id ?? request.address), this.atMs);
  }

  get read(): ModelRequest {
    if (this.#read === null) throw new Error("the request is gone once its answer has begun");
    return this.#read;
  }

  get createdS(): number {
    return Math.floor(this.atMs / 1000);
  }

  get requestId(): string {
    return this.#call.request.id;
  }

  get account(): string | undefined {
    return this.#call.audience.payer?.id;
  }

  get sandbox(): boolean {
    return this.#call.audience.sandbox;
  }

  readonly conversation = (): string => {
    this.#conversation ??= conversationKey(this.#call, this.#names, this.read.asked.body);
    return this.#conversation;
  };

  get #keepsOrder(): boolean {
    const { preferences } = this.read;
    return preferences !== null && (preferences.order ?? preferences.sort) !== null;
  }

  /** The models' candidates in the order to try them. */
  order(models: readonly FitModel[]): RouteOrder {
    const { preferences, stay, asked } = this.read;
    const { health, moved } = this.deps.upstream;
    const all = placed(models);
    const wanted = preferences === null ? all : prefer(all, preferences, health.speedOf);
    const { conversation } = this;
    if (stay !== undefined) return routeOrder(wanted, { conversation, moved: { size: 1, routeOf: () => stay } });
    // The caller's own key comes first in every call: one failure of it must not make later calls pay our full price.
    const isFree =
      this.#keepsOrder ||
      this.#call.audience.ownKeys !== undefined ||
      (moved.size > 0 && !goesOn(this.#call, asked.body));
    return routeOrder(wanted, { conversation, moved: isFree ? NEVER_MOVED : moved });
  }

  routeOf({ placed: some, first }: RouteOrder): Route {
    if (this.#placed.length === 0) this.#first = first;
    this.#placed = this.#placed.length === 0 ? some : [...this.#placed, ...some];
    return ladder(some.map(({ candidate }) => retrying(candidate)));
  }

  quote({ placed: tried }: RouteOrder): Quote {
    const { read, deps, atMs } = this;
    const prompt = {
      shape: read.shape,
      bodyBytes: this.#promptBytes,
      text: () => this.read.sentText(),
      choices: read.choices,
      strict: this.#call.audience.strictBounds,
    };
    return quoteOf(modelsOf(tried), prompt, {
      counter: this.#meter.counter,
      fromMs: atMs,
      untilMs: atMs + deps.settings.wholeMsMax,
      routeOf: (models) => this.routeOf(this.order(models)),
      withOutput: read.output.shared ? (fit, tokens) => withOutput(fit, tokens, this) : null,
    });
  }

  #fitOf(served: Candidate): FitModel {
    const found = this.#placed.find(({ candidate }) => candidate === served);
    if (found === undefined) throw new Error("served by a route that is not the plan's");
    return found.fit;
  }

  cost(served: Candidate, reading: Reading, ended: "whole" | "left"): ReturnType<Plan["cost"]> {
    return this.#meter.cost(this.#fitOf(served), served as ModelCandidate, reading, ended);
  }

  /** The lowered output limit of the candidate that served; null if it was not lowered. */
  loweredTo(served: Candidate): number | null {
    const fit = this.#fitOf(served);
    const outputTokensMax = takenBy((served as ModelCandidate).offer, fit.outputTokensMax);
    const { asked, shared } = this.#output;
    const expected = asked ?? (shared ? ownMax(fit.model) : 0);
    return outputTokensMax < expected ? outputTokensMax : null;
  }

  /** The conversation whose route is to be remembered; null: none. */
  #notable(served: Candidate): string | null {
    if (this.#keepsOrder) return null;
    const { moved } = this.deps.upstream;
    // A first turn on the default route says nothing about other conversations with the same beginning.
    const isNotable =
      this.#servingRoute(served) !== "first" || (moved.size > 0 && goesOn(this.#call, this.read.asked.body));
    return isNotable ? this.conversation() : null;
  }

  /** Keeps what the end of the call needs, and frees the request. */
  begun(served: Candidate): void {
    this.#noted = this.#notable(served);
    // The head of an answer that a tool loop gathers is written later.
    (served as ModelCandidate).unsent();
    for (const { candidates } of modelsOf(this.#placed)) for (const candidate of candidates) candidate.dropRequest();
    this.#read = null;
    this.#call.request.dropHeaders?.();
  }

  /** Remembers the route for the rest of the conversation. */
  served(candidate: Candidate): void {
    const noted = this.#read === null ? this.#noted : this.#notable(candidate);
    if (noted !== null) this.deps.upstream.moved.served(noted, candidate.healthKey, this.#servingRoute(candidate));
  }

  /** A stored answer in the form of this call. */
  retell(frame: Frame, kept: KeptForm): Uint8Array | string | null {
    return retell(this.read, frame, kept);
  }

  #servingRoute(served: Candidate): ServingRoute {
    const first = this.#first;
    if (first === null || served.healthKey === first.candidate.healthKey) return "first";
    return this.#fitOf(served).model.slug === first.fit.model.slug ? "same-model" : "other-model";
  }

  plan(order: RouteOrder, given: Pick<Plan, "idempotency" | "onlyAgain" | "tags" | "maxCostNano">): Plan {
    const { read } = this;
    const { settings } = this.deps;
    const route = this.routeOf(order);
    return {
      operation: read.operation,
      asked: this.#names,
      streamed: read.stream,
      effect: "read",
      quote: this.quote(order),
      hold: { kind: "call" },
      whilePaused: false,
      // A stream cannot be withheld if payment fails.
      exactPrice:
        settings.sellsAtBound === true &&
        this.#call.audience.payer === null &&
        !read.stream &&
        read.output.asked !== null,
      slots: [],
      inference: true,
      route,
      wholeMsMax: settings.wholeMsMax,
      attemptsMax: settings.attemptsMax,
      failedStatus: 502,
      timedOutStatus: 504,
      limitedStatus: 429,
      // A caller that repeats the call with the same key wants this answer, not a new one.
      whenCallerLeaves: given.idempotency === null ? "abort" : "finish",
      cost: (candidate, reading, ended) => this.cost(candidate, reading, ended),
      begun: (served) => this.begun(served),
      served: (candidate) => this.served(candidate),
      prepare: null,
      // Last, because adding fields after a spread grows the object step by step.
      ...given,
    };
  }
}

export function modelPlan(call: PlanCall, read: ModelRequest, deps: ChatDeps): FramedPlan {
  const { request, audience } = call;
  const { ownKeys } = audience;
  const repeating = repeatingOf(call, read);
  const tags = callTags(request, read.named);
  const resolved = resolveModels(read.wanted, deps.catalog(), {
    sandbox: audience.sandbox,
    lowers: isLowered(audience, tags, deps.clock.epochMs()),
    firstTokenMsMax: deps.settings.firstTokenMsMax,
    firstTokenMsMaxByTier: deps.settings.firstTokenMsMaxByTier,
  });
  requireModels(audience.allows, resolved.asked);
  const maxCostNano = maxCostOf(request, read.maxCostCents);
  const planned = new ModelCall(call, read, resolved, deps);
  const fits = fitModels(ownKeys === undefined ? resolved.models : withOwnKeys(resolved.models, ownKeys), planned);
  const order = planned.order(fits);
  const { id, createdS, unfit } = planned;
  const frame = tellingUnsent(read.frame({ id, createdS, trace: unfit !== null }));
  return {
    plan: planned.plan(order, { ...repeating, tags, maxCostNano }),
    asked: read.asked,
    keepAliveMs: keepAliveMs(call),
    headers: headersOf(read, { resolved, order, fits, unfit, health: deps.upstream.health }),
    loweredTo: (served) => planned.loweredTo(served),
    frame,
    retell: (kept) => planned.retell(frame, kept),
  };
}
