// Makes a Plan from a chat request: its candidates in order, the most it can cost, its meter and its frame.
import { modelsRefusal } from "../accounts/allowed.ts";
import type { Catalog } from "../catalog/catalog.ts";
import { modelEndHeaders } from "../catalog/retirement.ts";
import type { Clock } from "../clock.ts";
import type { FramedPlan, PlanCall } from "../endpoint.ts";
import { GatewayError } from "../errors.ts";
import { ladder } from "../kernel/routes/ladder.ts";
import { retrying } from "../kernel/routes/retrying.ts";
import type { CallerRequest } from "../neutral.ts";
import type { Plan } from "../plan.ts";
import type { Candidate } from "../route.ts";
import type { ModelCandidate, Upstream } from "../upstream/upstream.ts";
import { callTags, type NamedBy } from "../wires/call-tags.ts";
import { chatCompletionsWire } from "../wires/chat-completions/wire.ts";
import { idempotencyOf } from "../wires/idempotency-key.ts";
import { maxCostOf } from "../wires/max-cost.ts";
import { type ChatRequest, readChatBody } from "./chat-body.ts";
import { CHAT_FIELDS } from "./chat-fields.ts";
import { droppedHeader, isOwnServer } from "./dropped-header.ts";
import { placed, prefer } from "./preferences.ts";
import { partTokensMax } from "./prompt-bounds.ts";
import { readText, sentText } from "./prompt-text.ts";
import { type FitModel, type QuotedPrompt, quoteOf } from "./quote.ts";
import { resolveModels, type Wanted } from "./resolve-models.ts";
import { attemptCost, tokenCost } from "./token-cost.ts";
import type { TokenCounter } from "./token-counter.ts";

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
}

export interface ChatDeps {
  /** The catalog in force: it is replaced when the overlay is read again. */
  readonly catalog: () => Catalog;
  readonly upstream: Upstream;
  readonly counter: TokenCounter;
  readonly clock: Clock;
  readonly settings: ChatSettings;
}

/** A stream cannot be kept, so its key would promise what nobody can keep. */
function keyOf({ request }: PlanCall, chat: ChatRequest): Plan["idempotency"] | GatewayError {
  if (!chat.stream || !request.headers.has("idempotency-key")) return idempotencyOf(request, chat.sent);
  const param = "Idempotency-Key";
  return new GatewayError("bad_request", { param, detail: { detail: `${param}: not possible with stream` } });
}

function keepAliveMs({ request }: PlanCall): number | null {
  const seconds = Number(request.headers.get("x-tollgate-keepalive"));
  return seconds >= 1 && seconds <= 300 ? seconds * 1000 : null;
}

function fitModel(
  { model, firstTokenMsMax, place }: Wanted,
  chat: ChatRequest,
  make: { deps: ChatDeps; asked: CallerRequest; requestId: string; completionId: string; createdS: number },
): FitModel | string {
  const { shape } = chat;
  const partTokens = partTokensMax(shape, model.parts, model.contextTokens);
  if (partTokens === null) return `${model.slug} does not take the kinds of content in messages`;
  const { settings, upstream } = make.deps;
  const outputTokensMax = Math.min(chat.outputTokensMax, model.outputTokensMax ?? chat.outputTokensMax);
  const unaryMs = settings.unaryMs + settings.unaryMsPerToken * outputTokensMax;
  const clocks = chat.stream
    ? { firstTokenMsMax, lastFirstTokenMsMax: settings.lastFirstTokenMsMax, gapMsMax: settings.gapMsMax }
    : { firstTokenMsMax: unaryMs, lastFirstTokenMsMax: unaryMs, gapMsMax: settings.gapMsMax };
  const order = {
    answers: chatCompletionsWire.answers({ id: make.completionId, createdS: make.createdS, model: model.slug }),
    requestId: make.requestId,
    completionId: make.completionId,
    createdS: make.createdS,
    stream: chat.stream,
    servedSlug: model.slug,
    contextTokens: model.contextTokens,
    outputTokensMax,
    clocks,
  };
  const made = model.offers
    .filter(({ spec }) => partTokensMax(shape, spec.parts ?? {}, spec.contextTokens) !== null)
    .map((offer) => {
      const asked = isOwnServer(offer) ? chatCompletionsWire.request(chat.unsifted()) : make.asked;
      return upstream.chatCandidate(offer, { ...order, asked });
    });
  const candidates = made.filter((one) => typeof one !== "string");
  if (candidates.length === 0) {
    const reason = made.find((one) => typeof one === "string") ?? "content of this kind is not taken";
    return `${model.slug} cannot be asked for this: ${reason}`;
  }
  const unsifted = chat.dropped.length > 0 && model.offers.some(isOwnServer);
  return { model, place, candidates, partTokens, outputTokensMax, unsifted };
}

/** The field of the request that a reason names first; most are about what is in the messages. */
function fieldNamedIn(reason: string, body: ChatRequest["body"]): string {
  const words = reason.slice(reason.indexOf(": ") + 1).match(/\w+/g) ?? [];
  return words.find((word) => Object.hasOwn(body, word)) ?? "messages";
}

function promptOf(chat: ChatRequest, { request, audience }: PlanCall): QuotedPrompt {
  return {
    shape: chat.shape,
    bodyBytes: request.body.length,
    text: () => sentText(chat.body, CHAT_FIELDS),
    choices: chat.choices,
    outputTokensMax: chat.outputTokensMax,
    strict: audience.strictBounds,
  };
}

/** Checks a chat request and makes its plan, or says what is wrong with it. */
export function chatPlan(call: PlanCall, deps: ChatDeps): FramedPlan | GatewayError {
  const { request, audience } = call;
  const chat = readChatBody(request.body);
  if (chat instanceof GatewayError) return chat;
  const idempotency = keyOf(call, chat);
  if (idempotency instanceof GatewayError) return idempotency;
  const tags = callTags(request, chat.body as NamedBy);
  if (tags instanceof GatewayError) return tags;
  const { settings } = deps;
  const { sandbox } = audience;
  const resolved = resolveModels(chat.wanted, deps.catalog(), { sandbox, ...settings });
  if (resolved instanceof GatewayError) return resolved;
  const refused = modelsRefusal(audience.allows, resolved.asked);
  if (refused !== null) return refused;
  const maxCostNano = maxCostOf(request, chat.maxCostCents);
  if (maxCostNano instanceof GatewayError) return maxCostNano;
  const { shape, unknownPart } = chat;
  const completionId = request.id.replace(/^req_/, "chatcmpl-");
  const createdS = Math.floor(deps.clock.epochMs() / 1000);
  const asked = chatCompletionsWire.request(chat.body);
  const made = resolved.models.map((one) =>
    fitModel(one, chat, { deps, asked, requestId: request.id, completionId, createdS }),
  );
  const fits = made.filter((one) => typeof one !== "string");
  if (fits.length === 0 || unknownPart !== null) {
    const unknown = `content parts of type ${unknownPart} are not known here`;
    const why = unknownPart === null ? String(made[0]) : unknown;
    const param = fieldNamedIn(why, chat.body);
    return new GatewayError("bad_request", { param, detail: { detail: `${param}: ${why}` } });
  }
  const tried = chat.preferences === null ? placed(fits) : prefer(placed(fits), chat.preferences);
  if (tried instanceof GatewayError) return tried;
  const fitModels = new Map<Candidate, FitModel>(tried.map(({ candidate, fit }) => [candidate, fit]));
  const models = [...new Set(fitModels.values())];
  const routeOf = (some: readonly FitModel[]) =>
    ladder(tried.filter(({ fit }) => some.includes(fit)).map(({ candidate }) => retrying(candidate)));
  const plan: Plan = {
    operation: "chat",
    asked: resolved.asked.map(({ name }) => name).join(","),
    streamed: chat.stream,
    effect: "read",
    quote: quoteOf(models, promptOf(chat, call), deps.counter, routeOf),
    hold: { kind: "call" },
    whilePaused: false,
    maxCostNano,
    slots: [],
    inference: true,
    idempotency,
    tags,
    route: routeOf(models),
    wholeMsMax: settings.wholeMsMax,
    attemptsMax: settings.attemptsMax,
    failedStatus: 502,
    timedOutStatus: 504,
    // Who asks again under the same key wants the answer that was left, not another one.
    whenCallerLeaves: idempotency === null ? "abort" : "finish",
    cost(served, reading, ended) {
      const fit = fitModels.get(served);
      if (fit === undefined) throw new Error("served by a route that is not the plan's");
      const { partTokens, model } = fit;
      const prompt = { text: () => readText(chat.body, CHAT_FIELDS), partTokens, messages: shape.messages };
      return tokenCost(model, served as ModelCandidate, reading, { ended, prompt, counter: deps.counter });
    },
    upstreamNano: (candidate, attempt) => attemptCost(candidate as ModelCandidate, attempt, request.body.length),
    prepare: null,
  };
  return {
    plan,
    keepAliveMs: keepAliveMs(call),
    headers: {
      ...modelEndHeaders(resolved.ends),
      ...droppedHeader(
        chat.dropped,
        tried.every(({ candidate }) => isOwnServer(candidate.offer)),
      ),
    },
    frame: chatCompletionsWire.frame({
      completionId,
      createdS,
      stream: chat.stream,
      includeUsage: chat.includeUsage,
      trace: request.headers.get("x-tollgate-trace") === "1",
      loweredTo: chat.lowered ? chat.outputTokensMax : null,
    }),
  };
}
