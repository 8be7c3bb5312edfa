// Makes a Plan from a chat request: its routes in order, the most it can cost, its meter and its frame.
import { modelsRefusal } from "../accounts/allowed.ts";
import type { Catalog, SoldModel } from "../catalog/catalog.ts";
import { boundOf, ratesOf } from "../catalog/price.ts";
import type { Clock } from "../clock.ts";
import { GatewayError } from "../errors.ts";
import { affordable, minus, most, type Nano } from "../money.ts";
import type { CallerRequest } from "../neutral.ts";
import { idempotencyOf } from "../pipeline/idempotency-key.ts";
import type { Call, Caller, Plan, Quote, Route } from "../plan.ts";
import type { ModelRoute, Upstream } from "../upstream/upstream.ts";
import { chatCompletionsWire } from "../wires/chat-completions/wire.ts";
import { type ChatRequest, readChatBody } from "./chat-body.ts";
import {
  countedTokensMax,
  type PromptShape,
  partTokensMax,
  promptText,
  shapeOf,
  textTokensMax,
} from "./prompt-bounds.ts";
import { resolveModels, type Wanted } from "./resolve-models.ts";
import { tokenCost } from "./token-cost.ts";
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

/** A model that can serve this very request, with the bounds of its quote. */
interface Candidate {
  readonly model: SoldModel;
  readonly routes: readonly ModelRoute[];
  readonly partTokens: number;
  readonly outputTokensMax: number;
}

/** A stream cannot be kept, so its key would promise what nobody can keep. */
function keyOf({ request }: Call, chat: ChatRequest): Plan["idempotency"] | GatewayError {
  if (!chat.stream || !request.headers.has("idempotency-key")) return idempotencyOf(request, chat.body);
  const param = "Idempotency-Key";
  return new GatewayError("bad_request", { param, detail: { detail: `${param}: not possible with stream` } });
}

function keepAliveMs({ request }: Call): number | null {
  const seconds = Number(request.headers.get("x-tollgate-keepalive"));
  return seconds >= 1 && seconds <= 300 ? seconds * 1000 : null;
}

function candidateOf(
  { model, firstTokenMsMax }: Wanted,
  chat: ChatRequest,
  shape: PromptShape,
  make: { deps: ChatDeps; asked: CallerRequest; requestId: string; completionId: string; createdS: number },
): Candidate | string {
  const partTokens = partTokensMax(shape, model.parts);
  if (partTokens === null) return `${model.slug} does not take the kinds of content in messages`;
  const { settings, upstream } = make.deps;
  const outputTokensMax = Math.min(chat.outputTokensMax, model.outputTokensMax ?? chat.outputTokensMax);
  const unaryMs = settings.unaryMs + settings.unaryMsPerToken * outputTokensMax;
  const clocks = chat.stream
    ? { firstTokenMsMax, lastFirstTokenMsMax: settings.lastFirstTokenMsMax, gapMsMax: settings.gapMsMax }
    : { firstTokenMsMax: unaryMs, lastFirstTokenMsMax: unaryMs, gapMsMax: settings.gapMsMax };
  const order = {
    asked: make.asked,
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
    .filter(({ spec }) => partTokensMax(shape, spec.parts ?? {}) !== null)
    .map((offer) => upstream.chatRoute(offer, order));
  const routes = made.filter((route) => typeof route !== "string");
  if (routes.length === 0) {
    const reason = made.find((route) => typeof route === "string") ?? "content of this kind is not taken";
    return `${model.slug} cannot be asked for this: ${reason}`;
  }
  return { model, routes, partTokens, outputTokensMax };
}

/** The field of the request that a reason names first; most are about what is in the messages. */
function fieldNamedIn(reason: string, body: ChatRequest["body"]): string {
  const words = reason.slice(reason.indexOf(": ") + 1).match(/\w+/g) ?? [];
  return words.find((word) => Object.hasOwn(body, word)) ?? "messages";
}

/** The most that any candidate can cost: of several, the dearest. */
function quoteOf(
  candidates: readonly Candidate[],
  chat: ChatRequest,
  shape: PromptShape,
  bodyBytes: number,
  deps: ChatDeps,
): Quote {
  const bound = (textTokens: number): Nano => {
    const bounds = candidates.map(({ model, partTokens, outputTokensMax }) =>
      boundOf(model.sale, {
        // No prompt longer than the model's context is ever served.
        inputTokensMax: Math.min(textTokens + partTokens, model.contextTokens),
        outputTokensMax: outputTokensMax * chat.choices,
      }),
    );
    return bounds.reduce((a, b) => most(a, b));
  };
  const cheapTokens = textTokensMax(shape, bodyBytes);
  let textTokens = cheapTokens;
  return {
    nano: bound(cheapTokens),
    async tighten() {
      textTokens = Math.min(cheapTokens, countedTokensMax(shape, await deps.counter.count(promptText(chat.body))));
      return bound(textTokens);
    },
    affordable(free) {
      const each = candidates.map(({ model, partTokens }) => {
        const inputTokensMax = Math.min(textTokens + partTokens, model.contextTokens);
        const left = minus(free, boundOf(model.sale, { inputTokensMax, outputTokensMax: 0 }));
        const tokens = affordable(left, ratesOf(model.sale, inputTokensMax).output);
        return tokens === null ? chat.outputTokensMax : Math.floor(tokens / chat.choices);
      });
      return { affordable_output_tokens: Math.min(chat.outputTokensMax, ...each) };
    },
  };
}

/** Checks a chat request and makes its plan, or says what is wrong with it. */
export function chatPlan(call: Call & { readonly caller: Caller }, deps: ChatDeps): Plan | GatewayError {
  const { request, caller } = call;
  const chat = readChatBody(request.body);
  if (chat instanceof GatewayError) return chat;
  const idempotency = keyOf(call, chat);
  if (idempotency instanceof GatewayError) return idempotency;
  const { settings } = deps;
  const { sandbox } = caller.payer;
  const wanted = resolveModels(chat.wanted, deps.catalog(), { sandbox, ...settings });
  if (wanted instanceof GatewayError) return wanted;
  const refused = modelsRefusal(caller.allows, chat.wanted);
  if (refused !== null) return refused;
  const shape = shapeOf(chat.body);
  const completionId = request.id.replace(/^req_/, "chatcmpl-");
  const createdS = Math.floor(deps.clock.epochMs() / 1000);
  const asked = chatCompletionsWire.request(chat.body);
  const made = wanted.map((one) =>
    candidateOf(one, chat, shape, { deps, asked, requestId: request.id, completionId, createdS }),
  );
  const candidates = made.filter((candidate) => typeof candidate !== "string");
  if (candidates.length === 0 || shape.unknownPart !== null) {
    const unknown = `content parts of type ${shape.unknownPart} are not known here`;
    const why = shape.unknownPart === null ? String(made[0]) : unknown;
    const param = fieldNamedIn(why, chat.body);
    return new GatewayError("bad_request", { param, detail: { detail: `${param}: ${why}` } });
  }
  const byRoute = new Map<Route, Candidate>(candidates.flatMap((one) => one.routes.map((route) => [route, one])));
  return {
    operation: "chat",
    asked: chat.wanted.map(({ name }) => name).join(","),
    streamed: chat.stream,
    effect: "read",
    quote: quoteOf(candidates, chat, shape, request.body.length, deps),
    free: false,
    maxCostNano: null,
    slots: [],
    inference: true,
    idempotency,
    routes: [...byRoute.keys()],
    wholeMsMax: settings.wholeMsMax,
    attemptsMax: settings.attemptsMax,
    keepAliveMs: keepAliveMs(call),
    failedStatus: 502,
    timedOutStatus: 504,
    whenClientLeaves: "abort",
    cost(served, reading, ended) {
      const candidate = byRoute.get(served);
      if (candidate === undefined) throw new Error("served by a route that is not the plan's");
      const { partTokens, model } = candidate;
      const prompt = { text: () => promptText(chat.body), partTokens, messages: shape.messages };
      return tokenCost(model, served as ModelRoute, reading, { ended, prompt, counter: deps.counter });
    },
    prepare: null,
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
