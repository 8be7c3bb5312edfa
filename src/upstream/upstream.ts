// The way out: connections, keys and route health of this process, and the routes that use them.
import { Agent } from "undici";
import type { ChatSpec, ChatWire } from "../catalog/adapter.ts";
import type { ActionOffer, Adapter, EmbeddingOffer, Offer } from "../catalog/catalog.ts";
import type { Clock } from "../clock.ts";
import type { AnswerSink, Attempt, AttemptFailure, Candidate } from "../plan.ts";
import { type ActionOrder, type ActionRoute, actionRoute } from "./action-route.ts";
import { openChatAttempt } from "./chat-attempt.ts";
import { chatCompletions } from "./dialects/chat-completions.ts";
import { stopsOf } from "./dialects/chat-request.ts";
import type { ChatBody, ChatContext, Dialect, UpstreamBody } from "./dialects/dialect.ts";
import { embeddings } from "./dialects/embeddings.ts";
import { generateContent } from "./dialects/generate-content.ts";
import { messages } from "./dialects/messages.ts";
import type { ExchangeRequest } from "./exchange.ts";
import { createKeyRing, type KeyRing } from "./key-ring.ts";
import { createRouteHealth, type RouteHealth } from "./route-health.ts";
import { createVendorPace } from "./vendor-pace.ts";

const DIALECTS: Readonly<Record<Offer["chat"]["dialect"], Dialect>> = {
  "chat-completions": chatCompletions,
  messages,
  "generate-content": generateContent,
};

/** How long an answer is read on after its caller has left, where reasoning that nobody sees may cost more than what was seen. */
const READ_ON_MS_MAX = 60_000;
const KEY_REST_MS = 60_000;
const KEY_REST_RATE_LIMITED_MS = 5_000;

/** The clocks of one route, in milliseconds. */
export interface RouteClocks {
  /** To first content (of a stream) or to the whole answer, while another route remains. */
  readonly firstTokenMsMax: number;
  readonly lastFirstTokenMsMax: number;
  readonly gapMsMax: number;
}

/** What one chat request wants of a route. */
export interface ChatOrder {
  readonly body: ChatBody;
  readonly requestId: string;
  readonly completionId: string;
  readonly createdS: number;
  readonly stream: boolean;
  readonly servedSlug: string;
  readonly contextTokens: number;
  readonly outputTokensMax: number;
  readonly clocks: RouteClocks;
}

export interface Upstream {
  readonly health: RouteHealth;
  /** The route of one offer, or the reason why the offer cannot serve this request. */
  chatRoute(offer: Offer, order: ChatOrder): ModelRoute | string;
  embeddingRoute(offer: EmbeddingOffer, order: ChatOrder): ModelRoute | string;
  actionRoute(offer: ActionOffer, order: ActionOrder): ActionRoute;
  close(): Promise<void>;
}

/** A route to a model, with what its cost is computed from. */
export interface ModelRoute extends Candidate {
  readonly offer: Offer | EmbeddingOffer;
  readonly contextTokens: number;
}

/** How an offer's wire is spoken. */
interface Speech {
  readonly dialect: Dialect;
  readonly spec: ChatSpec;
  readonly wire: ChatWire;
}

const EMBEDDINGS: Speech = { dialect: embeddings, spec: { dialect: "chat-completions", models: {} }, wire: {} };

/** Opens no connection before the first call. */
export function createUpstream(clock: Clock): Upstream {
  const dispatcher = new Agent({ keepAliveTimeout: 30_000, pipelining: 1, connect: { timeout: 10_000 } });
  const health = createRouteHealth(clock);
  const vendors = new WeakMap<Adapter, Vendor>();

  function vendorOf(adapter: Adapter): Vendor {
    const known = vendors.get(adapter);
    if (known !== undefined) return known;
    const vendor = readyVendor(adapter, clock);
    vendors.set(adapter, vendor);
    return vendor;
  }

  /** A failure that is our key's fault rests the key; the route may go again at once where another is fit. */
  function restKey(ring: KeyRing, key: string, failure: AttemptFailure): AttemptFailure {
    const auth = failure.kind === "provider_auth_failed" || failure.kind === "provider_billing";
    if (!auth && failure.kind !== "provider_rate_limited") return failure;
    const restMs = auth ? KEY_REST_MS : (failure.retryAfterMs ?? KEY_REST_RATE_LIMITED_MS);
    return { ...failure, spareKey: ring.rest(key, restMs) };
  }

  function routeOf(offer: Offer | EmbeddingOffer, order: ChatOrder, speech: Speech): ModelRoute | string {
    const { dialect, spec, wire } = speech;
    const context: ChatContext = {
      upstreamModel: offer.upstreamModel,
      servedSlug: order.servedSlug,
      completionId: order.completionId,
      createdS: order.createdS,
      stream: order.stream,
      mayBeEmpty: stopsOf(order.body).length > 0,
      outputTokensMax: order.outputTokensMax,
      spec,
      wire,
    };
    const unsupported = dialect.unsupported(order.body, context);
    if (unsupported !== null) return unsupported;
    const vendor = vendorOf(offer.adapter);
    const { ring } = vendor;
    return {
      offer,
      contextTokens: order.contextTokens,
      provider: offer.adapter.id,
      model: order.servedSlug,
      healthKey: offer.healthKey,
      firstTokenMsMax: order.clocks.firstTokenMsMax,
      lastFirstTokenMsMax: order.clocks.lastFirstTokenMsMax,
      readOnMsMax: wire.hidesReasoning === true ? READ_ON_MS_MAX : 0,
      pointlessAfter: (failed, kind) => {
        if (kind !== "caller_context_length") return false;
        return failed.model === order.servedSlug || order.contextTokens < (failed as ModelRoute).contextTokens;
      },
      open(sink: AnswerSink, firstTokenMsMax: number): Attempt {
        const key = ring.take();
        return openChatAttempt(
          {
            dialect,
            context,
            request: exchangeRequest(vendor, key, dialect.request(order.body, context), order.requestId),
            firstTokenMsMax,
            gapMsMax: order.clocks.gapMsMax,
            dispatcher,
            clock,
            onFailure: (failure) => restKey(ring, key, failure),
          },
          sink,
        );
      },
    };
  }

  const actionParts = {
    dispatcher,
    clock,
    ringOf: (adapter: Adapter) => vendorOf(adapter).ring,
    restKey,
    pace: createVendorPace(clock),
  };

  return {
    health,
    actionRoute: (offer, order) => actionRoute(offer, order, actionParts),
    chatRoute: (offer, order) =>
      routeOf(offer, order, { dialect: DIALECTS[offer.chat.dialect], spec: offer.chat, wire: offer.wire }),
    embeddingRoute: (offer, order) => routeOf(offer, order, EMBEDDINGS),
    close: () => dispatcher.destroy(),
  };
}

/** What all requests to one vendor share, made once. */
interface Vendor {
  readonly ring: KeyRing;
  /** Scheme and authority of the base address, and the path that every call's path is below. */
  readonly origin: string;
  readonly basePath: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly auth: Adapter["spec"]["auth"];
}

function readyVendor(adapter: Adapter, clock: Clock): Vendor {
  const { origin } = new URL(adapter.origin);
  return {
    ring: createKeyRing(adapter.keys.length === 0 ? [""] : adapter.keys, clock),
    origin,
    basePath: new URL(adapter.origin).pathname.replace(/\/$/, ""),
    headers: { "content-type": "application/json", ...adapter.spec.headers },
    auth: adapter.spec.auth,
  };
}

function exchangeRequest(
  vendor: Vendor,
  key: string,
  { path, body }: UpstreamBody,
  requestId: string,
): ExchangeRequest {
  const { origin, basePath, auth } = vendor;
  const headers: Record<string, string> = { ...vendor.headers, "x-request-id": requestId };
  if (auth.kind === "header" && key !== "") headers[auth.name] = auth.prefix + key;
  return { origin, path: basePath + path, headers, body: JSON.stringify(body) };
}
