// The way out: connections, keys and route health of this process, and the candidates that use them.
import { Readable } from "node:stream";
import type { ChatSpec, SessionContext } from "../catalog/adapter.ts";
import type { PurseFor } from "../catalog/auth.ts";
import type { ActionOffer, Adapter, EmbeddingOffer, Offer, UnitOffer } from "../catalog/catalog.ts";
import type { ChatWire, ModelPaths } from "../catalog/chat-wire.ts";
import type { Clock } from "../clock.ts";
import { GatewayError } from "../errors.ts";
import type { Json } from "../json.ts";
import { withMembers } from "../json-bytes.ts";
import type { CallerRequest, ThoughtSeal } from "../neutral.ts";
import type { AnswerSink, Attempt, AttemptFailure, Candidate } from "../route.ts";
import { createAccessTokens } from "./access-tokens.ts";
import { type ActionCandidate, type ActionOrder, actionCandidate } from "./action-candidate.ts";
import { openChatAttempt } from "./chat-attempt.ts";
import { createConnections } from "./connections.ts";
import { DIALECTS } from "./dialects/by-name.ts";
import type { ChatContext, OwnSeal, UpstreamBody } from "./dialects/dialect.ts";
import { embeddings, toldOfEmbeddings } from "./dialects/embeddings.ts";
import type { ExchangeRequest } from "./exchange.ts";
import { createMediaFetcher, type UnpaidLinks } from "./fetch-media.ts";
import { type FetchingParts, openFetchingAttempt } from "./fetching-attempt.ts";
import { formedLane } from "./formed-lane.ts";
import { createKeyRing, type KeyRing } from "./key-ring.ts";
import { type CallerSide, type Lane, laneOf, passingLane } from "./lane.ts";
import { type Login, loginAt, type Paying } from "./login.ts";
import type { FetchedMedia } from "./media-links.ts";
import { createMovedConversations, type MovedConversations } from "./moved-conversations.ts";
import { createCountPdf } from "./pdf-at-address.ts";
import { createPublicFetch, type PublicFetch } from "./public-fetch.ts";
import { createRouteFailures, type RouteFailures } from "./route-failures.ts";
import { createRouteHealth, type RouteHealth } from "./route-health.ts";
import { createSidecars } from "./sidecar/sidecars.ts";
import { UNIT_DIALECTS, type UnitAsked } from "./unit-dialects.ts";
import { unitLane } from "./unit-lane.ts";
import { createVendorRateLimiter } from "./vendor-rate-limiter.ts";
import { runVendorScript, type ScriptOrder } from "./vendor-script.ts";
import { unsentOf, wireFor } from "./wire-for.ts";
import { readableFailure } from "./without-key.ts";

/** How long an answer is read on after its caller has left, where reasoning that is not shown may cost more than what was seen. */
const READ_ON_MS_MAX = 60_000;
const KEY_REST_MS = 60_000;
const KEY_REST_RATE_LIMITED_MS = 5_000;

/** The clocks of one candidate, in milliseconds. */
export interface CandidateClocks {
  /** To first content (of a stream) or to the whole answer, while another candidate remains. */
  readonly firstTokenMsMax: number;
  readonly lastFirstTokenMsMax: number;
  readonly gapMsMax: number;
}

/** What a request to a model wants of a candidate. */
export interface ModelOrder {
  readonly requestId: string;
  /** Whose call it is, where it has a payer: what it has opened for nothing is counted. */
  readonly account?: string;
  /** Which conversation it is of; absent: it is of none. */
  readonly conversation?: () => string;
  readonly completionId: string;
  readonly createdS: number;
  readonly stream: boolean;
  readonly servedSlug: string;
  readonly contextTokens: number;
  readonly outputTokensMax: number;
  readonly clocks: CandidateClocks;
}

export type ChatOrder = ModelOrder & CallerSide;

/** Embeddings have one wire, so that their body passes. */
export type EmbeddingOrder = ModelOrder & { readonly body: Json };

/** What a call of a model that is sold by units wants of a candidate. */
export type UnitOrder = Omit<ModelOrder, "contextTokens" | "outputTokensMax" | "stream"> & {
  readonly asked: UnitAsked;
};

export interface Upstream {
  readonly health: RouteHealth;
  readonly failures: RouteFailures;
  readonly moved: MovedConversations;
  /** The candidate of one offer, or the reason why the offer cannot serve this request. */
  chatCandidate(offer: Offer, order: ChatOrder): ModelCandidate | string;
  embeddingCandidate(offer: EmbeddingOffer, order: EmbeddingOrder): ModelCandidate;
  unitCandidate(offer: UnitOffer, order: UnitOrder): UnitCandidate;
  actionCandidate(offer: ActionOffer, order: ActionOrder): ActionCandidate;
  /** Runs a script of an adapter that belongs to no call. Throws VendorFailure, or what the script throws. */
  vendorScript<T>(script: (context: SessionContext) => Promise<T>, order: ScriptOrder): Promise<T>;
  close(): Promise<void>;
}

/** A candidate that serves a model, with what its cost is computed from. */
interface CandidateOf<AnOffer> extends Candidate {
  readonly offer: AnOffer;
  readonly contextTokens: number;
  /** The top-level fields of a caller's body that its vendor is not sent. */
  unsent(): readonly string[];
  /** Whether the answer that it gave was nearly JSON and has been mended. */
  repaired(): boolean;
}

export type ModelCandidate = CandidateOf<Offer | EmbeddingOffer>;
export type UnitCandidate = CandidateOf<UnitOffer>;

/** Where a vendor's embeddings differ, adapters have no field for it. */
const EMBEDDINGS_SPEC: ChatSpec = { dialect: "chat-completions", models: {} };

function contextOf(
  offer: Offer | EmbeddingOffer,
  order: ModelOrder,
  { spec, wire, mayBeEmpty }: { readonly spec: ChatSpec; readonly wire: ChatWire; readonly mayBeEmpty: boolean },
): ChatContext {
  return {
    upstreamModel: offer.upstreamModel,
    servedSlug: order.servedSlug,
    completionId: order.completionId,
    createdS: order.createdS,
    stream: order.stream,
    mayBeEmpty,
    outputTokensMax: order.outputTokensMax,
    spec,
    wire,
  };
}

/** The vendor, and the maker of the model: a thought is of no use to anybody else. */
function makerOf({ id }: Adapter, { servedSlug }: ModelOrder): string {
  return `${id} ${servedSlug.split("/", 1)[0]}`;
}

function ownSeal(seal: ThoughtSeal, maker: string): OwnSeal {
  return { seal: (thought) => seal.seal(thought, maker), open: (text) => seal.open(text, maker) };
}

/** A vendor has refused a key of ours, for what it is or for what is left on it. */
export interface RefusedKey {
  readonly adapter: Adapter;
  /** Which of its keys. */
  readonly key: string;
  readonly failure: AttemptFailure;
}

/** An answer's usage counts something that has no price here. */
export interface UnpricedUsage {
  readonly adapter: Adapter;
  /** The name of the counter. */
  readonly counter: string;
}

/**
 * Opens no connection before the first call. `onRefusedKey` hears of each key at most once in the time that it rests. Links that a vendor
 * cannot open are opened by `publicFetch`; those of an account that were opened for nothing are counted by `unpaidLinks`. What vendors want
 * by the call is paid by `purseFor`. With `http2` they are spoken to in it where they offer it and their adapters do not say otherwise.
 */
export function createUpstream(
  clock: Clock,
  onRefusedKey: (refused: RefusedKey) => void = () => {},
  publicFetch: PublicFetch = createPublicFetch(),
  unpaidLinks: UnpaidLinks | null = null,
  onUnpriced: (told: UnpricedUsage) => void = () => {},
  purseFor: PurseFor = () => null,
  http2 = true,
): Upstream {
  const mediaFetcher = createMediaFetcher(publicFetch.open, unpaidLinks);
  const { dispatcher, ...connections } = createConnections(clock, http2);
  const tokens = createAccessTokens(clock, dispatcher);
  const sidecars = createSidecars(clock);
  const loginOf = (adapter: Adapter, key: string, paying?: Paying): Login =>
    loginAt(adapter, key, { tokens, clock, purseFor }, paying);
  const failures = createRouteFailures(clock);
  const health = createRouteHealth(clock, failures);
  const vendors = new WeakMap<Adapter, Vendor>();

  function vendorOf(adapter: Adapter): Vendor {
    const known = vendors.get(adapter);
    if (known !== undefined) return known;
    connections.keepFor(adapter);
    const vendor = readyVendor(adapter, clock);
    vendors.set(adapter, vendor);
    return vendor;
  }

  /** A failure that is our key's fault rests the key; the candidate may go again at once where another is fit. */
  function restKey(adapter: Adapter, key: string, failure: AttemptFailure): AttemptFailure {
    const auth = failure.kind === "provider_auth_failed" || failure.kind === "provider_billing";
    if (!auth && failure.kind !== "provider_rate_limited") return failure;
    const { ring } = vendorOf(adapter);
    if (auth) tokens.forget(adapter, key);
    if (auth && adapter.ownKey !== true && !ring.rests(key)) onRefusedKey({ adapter, key, failure });
    const restMs = auth ? KEY_REST_MS : (failure.retryAfterMs ?? KEY_REST_RATE_LIMITED_MS);
    const rested = { ...failure, spareKey: ring.rest(key, restMs) };
    // Told where no other way is left: it is the caller's own key, so the caller can mend it.
    if (!auth || adapter.ownKey !== true) return rested;
    return { ...rested, told: new GatewayError("provider_key_refused", { detail: { provider: adapter.id } }) };
  }

  function candidateOf<AnOffer extends Pick<Offer, "adapter" | "healthKey" | "upstreamModel">>(
    offer: AnOffer,
    order: Pick<
      ModelOrder,
      "requestId" | "account" | "conversation" | "stream" | "servedSlug" | "contextTokens" | "clocks"
    >,
    {
      lane,
      wire,
      readOnMsMax,
      asked = null,
      unsent = () => [],
      repaired = () => false,
    }: {
      readonly lane: Lane;
      readonly wire: ChatWire;
      readonly readOnMsMax: number;
      readonly asked?: CallerRequest | null;
      readonly unsent?: () => readonly string[];
      readonly repaired?: () => boolean;
    },
  ): CandidateOf<AnOffer> {
    const vendor = vendorOf(offer.adapter);
    const { ring } = vendor;
    return {
      offer,
      contextTokens: order.contextTokens,
      unsent,
      repaired,
      provider: offer.adapter.id,
      model: order.servedSlug,
      healthKey: offer.healthKey,
      firstTokenMsMax: order.clocks.firstTokenMsMax,
      lastFirstTokenMsMax: order.clocks.lastFirstTokenMsMax,
      readOnMsMax,
      pointlessAfter: (failed, kind) => {
        if (kind === "caller_invalid") return failed.provider === offer.adapter.id;
        if (kind !== "caller_context_length") return false;
        return failed.model === order.servedSlug || order.contextTokens < (failed as ModelCandidate).contextTokens;
      },
      open(sink: AnswerSink, firstTokenMsMax: number): Attempt {
        const attempt = (to: AnswerSink, media?: FetchedMedia): Attempt => {
          const key = ring.take(order.conversation);
          const body = lane.request(media);
          const sent = wire.paths === undefined ? body : placed(body, wire.paths, offer, order.stream);
          const request = exchangeRequest(vendor, sent, { adapter: offer.adapter, requestId: order.requestId });
          return openChatAttempt(
            {
              lane,
              stream: order.stream,
              firstTokenMsMax,
              gapMsMax: order.clocks.gapMsMax,
              dispatcher,
              clock,
              onFailure: (failure) => restKey(offer.adapter, key, readableFailure(failure, key)),
            },
            loginOf(offer.adapter, key).authorize(request),
            to,
          );
        };
        const { links = [] } = lane;
        if (links.length === 0 || asked === null) return attempt(sink);
        const sandbox = offer.adapter.isSandbox === true;
        const { account = null } = order;
        const parts: FetchingParts = {
          fetch: (signal) => mediaFetcher.fetch(links, { asked, account, sandbox, signal }),
          release: (served) => mediaFetcher.release(asked, account, served),
          open: (media, to) => attempt(to, media),
        };
        return openFetchingAttempt(parts, sink);
      },
    };
  }

  const actionParts = {
    dispatcher,
    clock,
    ringOf: (adapter: Adapter) => vendorOf(adapter).ring,
    restKey,
    limiter: createVendorRateLimiter(clock),
    sidecarOf: sidecars.of,
    loginOf,
    countPdf: createCountPdf(mediaFetcher),
  };

  return {
    health,
    failures,
    moved: createMovedConversations(clock),
    actionCandidate: (offer, order) => actionCandidate(offer, order, actionParts),
    vendorScript: (script, order) => runVendorScript(script, order, actionParts),
    chatCandidate(offer, order) {
      const { mayBeEmpty, usesTools } = order.asked;
      const { seal, answers } = order;
      // A vendor that speaks the caller's own wire is spoken to in it.
      const { toolsDialect } = offer.wire;
      const dialect = (usesTools || toolsDialect === order.asked.wire ? toolsDialect : undefined) ?? offer.chat.dialect;
      const wire = wireFor(order.asked, offer.wire, dialect);
      const context: ChatContext = {
        ...contextOf(offer, order, { spec: offer.chat, wire, mayBeEmpty }),
        seal: seal && ownSeal(seal, makerOf(offer.adapter, order)),
        passed: answers.passed,
        unpriced: (counter) => onUnpriced({ adapter: offer.adapter, counter }),
      };
      const lane = laneOf(DIALECTS[dialect], order, context);
      if (typeof lane === "string") return lane;
      const formed = formedLane(lane, order, wire);
      const readOnMsMax = wire.hidesReasoning === true ? READ_ON_MS_MAX : 0;
      const unsent = () => unsentOf(order.asked, wire, dialect);
      return candidateOf(offer, order, { ...formed, wire, readOnMsMax, asked: order.asked, unsent });
    },
    embeddingCandidate(offer, order) {
      const context = contextOf(offer, order, { spec: EMBEDDINGS_SPEC, wire: {}, mayBeEmpty: false });
      return candidateOf(offer, order, {
        lane: { ...passingLane(embeddings, { body: order.body }, context), told: toldOfEmbeddings(context) },
        wire: {},
        readOnMsMax: 0,
      });
    },
    unitCandidate(offer, order) {
      const { upstreamModel, spec } = offer;
      const lane = unitLane(UNIT_DIALECTS[spec.dialect], order.asked, { ...order, upstreamModel, spec });
      const stream = order.asked.stream;
      return candidateOf(offer, { ...order, stream, contextTokens: 0 }, { lane, wire: {}, readOnMsMax: 0 });
    },
    async close() {
      publicFetch.close();
      await Promise.all([connections.close(), sidecars.close()]);
    },
  };
}

/** What all requests to one vendor share, made once. */
interface Vendor {
  readonly ring: KeyRing;
  /** Scheme and authority of the base address, and the path that every call's path is below. */
  readonly origin: string;
  readonly basePath: string;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * A request at the path that names its model, without what the path says already. Headers of the caller's wire are none of a cloud's
 * that has the wire's words in its bodies alone.
 */
function placed(
  { body, bytes }: UpstreamBody,
  paths: ModelPaths,
  offer: Pick<Offer, "adapter" | "upstreamModel">,
  stream: boolean,
): UpstreamBody {
  const path = (stream ? paths.stream : paths.whole).replace(/\{([a-z]+)\}/g, (_, name: string) =>
    encodeURIComponent(name === "model" ? offer.upstreamModel : (offer.adapter.settings[name] ?? "")),
  );
  if (bytes !== undefined) {
    return {
      path,
      body,
      bytes: withMembers(bytes, Object.fromEntries(paths.without.map((field) => [field, undefined]))),
    };
  }
  return { path, body: Object.fromEntries(Object.entries(body).filter(([field]) => !paths.without.includes(field))) };
}

/** What stands before every path below an address. */
function pathOf({ pathname }: URL): string {
  return pathname.replace(/\/$/, "");
}

function readyVendor(adapter: Adapter, clock: Clock): Vendor {
  return {
    ring: createKeyRing(adapter.keys.length === 0 ? [""] : adapter.keys, clock),
    origin: new URL(adapter.origin).origin,
    basePath: pathOf(new URL(adapter.origin)),
    headers: { "content-type": "application/json", ...adapter.spec.headers },
  };
}

function exchangeRequest(
  vendor: Vendor,
  { path, body, bytes, headers: more, form, origin: named }: UpstreamBody,
  { adapter, requestId }: { readonly adapter: Adapter; readonly requestId: string },
): ExchangeRequest {
  const other = named === undefined ? null : new URL(adapter.origins[named] ?? adapter.origin);
  const { origin, basePath } = other === null ? vendor : { origin: other.origin, basePath: pathOf(other) };
  const headers: Record<string, string> = { ...vendor.headers, ...more, "x-request-id": requestId };
  if (form === undefined) return { origin, path: basePath + path, headers, body: bytes ?? JSON.stringify(body) };
  const parts = Readable.from(form.bytes(), { objectMode: false });
  return { origin, path: basePath + path, headers: { ...headers, ...form.headers }, body: parts };
}
