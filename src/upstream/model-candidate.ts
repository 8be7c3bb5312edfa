// One vendor's way to serve a model of any kind: its dialect, its lane, and its attempts.
import type { Dispatcher } from "undici";
import type { Adapter, Offer, UnitOffer } from "../catalog/catalog.ts";
import type { ChatWire, DialectName } from "../catalog/chat-wire.ts";
import type { Clock } from "../core/clock.ts";
import type { FailureKind } from "../core/failures.ts";
import type { CallerRequest, ThoughtSeal } from "../core/neutral.ts";
import type { AnswerSink, Attempt, AttemptFailure, Candidate } from "../core/route.ts";
import type { Login } from "./access-tokens.ts";
import { answerForm } from "./answer-form.ts";
import { openChatAttempt } from "./chat-attempt.ts";
import type { MediaFetcher } from "./fetch-media.ts";
import { type FetchingParts, openFetchingAttempt } from "./fetching-attempt.ts";
import type { ChatContext, Dialects, OwnSeal, UpstreamBody } from "./format-kit/dialect.ts";
import { ToolFit } from "./format-kit/tool-fit.ts";
import { type KeptAnswer, keptAnswer } from "./kept-answer.ts";
import { type CallerSide, type Lane, laneOf } from "./lane.ts";
import type { FetchedMedia } from "./media-links.ts";
import { UNIT_DIALECTS, type UnitAsked } from "./unit-dialects.ts";
import { unitLane } from "./unit-lane.ts";
import { readableFailure } from "./vendor-failure.ts";
import { exchangeRequest, growingLast, placed, type Vendor } from "./vendor-request.ts";
import { unsentOf, wireFor } from "./wire-for.ts";

/** How long to read on after the caller has left, if hidden reasoning may cost more than what the caller saw. */
const READ_ON_MS_MAX = 60_000;

export interface CandidateClocks {
  /** To first content (of a stream) or to the whole answer, while another candidate remains. */
  readonly firstTokenMsMax: number;
  readonly lastFirstTokenMsMax: number;
  readonly gapMsMax: number;
}

export interface ModelOrder {
  readonly requestId: string;
  /** The paying account, if any; links opened in failed calls count against it. */
  readonly account?: string | undefined;
  /** Identifies the conversation; absent if there is none. */
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

/** What a call of a model sold by units asks of a candidate. */
export type UnitOrder = Omit<ModelOrder, "contextTokens" | "outputTokensMax" | "stream"> & {
  readonly asked: UnitAsked;
};

/** A candidate that serves a model, with the inputs of its cost. */
interface CandidateOf<AnOffer> extends Candidate {
  readonly offer: AnOffer;
  readonly contextTokens: number;
  /** What it sends; null where that is more than one JSON body at one of the vendor's usual paths. */
  request(): UpstreamBody | null;
  /** Makes it read this answer instead of calling the vendor. */
  answerWith(answer: KeptAnswer): void;
  /** The top-level fields of the caller's body that are not sent to the vendor. Found at first use, which must come before `dropRequest`. */
  unsent(): readonly string[];
  /** Whether the answer was near-JSON and has been repaired. */
  repaired(): boolean;
  /** Frees the caller's request: an answer has begun, so nothing is sent anymore. */
  dropRequest(): void;
}

export type ModelCandidate = CandidateOf<Offer>;
export type UnitCandidate = CandidateOf<UnitOffer>;

/** An answer's usage has a counter without a price here. */
export interface UnpricedUsage {
  readonly adapter: Adapter;
  readonly counter: string;
}

export interface ModelCandidateParts {
  readonly dialects: Dialects;
  readonly dispatcher: Dispatcher;
  readonly clock: Clock;
  readonly vendorOf: (adapter: Adapter) => Vendor;
  readonly restKey: (adapter: Adapter, key: string, failure: AttemptFailure) => AttemptFailure;
  readonly loginOf: (adapter: Adapter, key: string) => Login;
  readonly mediaFetcher: MediaFetcher;
  readonly onUnpriced: (told: UnpricedUsage) => void;
}

/** The vendor and the model's maker: a thought is useless to any other. */
function makerOf({ id }: Adapter, { servedSlug }: ModelOrder): string {
  return `${id} ${servedSlug.split("/", 1)[0]}`;
}

function ownSeal(seal: ThoughtSeal, maker: string): OwnSeal {
  return { seal: (thought) => seal.seal(thought, maker), open: (text) => seal.open(text, maker) };
}

/** How to call an offer. */
interface Way {
  readonly lane: Lane;
  readonly wire: ChatWire;
  readonly readOnMsMax: number;
  /** A chat call, and the dialect that its vendor speaks; null: a model sold by units, or the answer has begun. */
  chat: { readonly asked: CallerRequest; readonly dialect: DialectName } | null;
}

type AnyOffer = Pick<Offer, "adapter" | "healthKey" | "upstreamModel">;
type AnyOrder = Omit<ModelOrder, "completionId" | "createdS" | "outputTokensMax">;

/** Opens attempts in the vendor's wire, each with a key of the ring. */
class Served<AnOffer extends AnyOffer> implements CandidateOf<AnOffer> {
  readonly offer: AnOffer;
  readonly contextTokens: number;
  readonly provider: string;
  readonly model: string;
  readonly healthKey: string;
  readonly firstTokenMsMax: number;
  readonly lastFirstTokenMsMax: number;
  readonly readOnMsMax: number;
  /** Null once an answer has begun. */
  #order: AnyOrder | null;
  readonly #way: Way;
  readonly #parts: ModelCandidateParts;
  #answer: KeptAnswer | null = null;
  #unsent: readonly string[] | null = null;

  constructor(offer: AnOffer, order: AnyOrder, way: Way, parts: ModelCandidateParts) {
    this.offer = offer;
    this.contextTokens = order.contextTokens;
    this.provider = offer.adapter.id;
    this.model = order.servedSlug;
    this.healthKey = offer.healthKey;
    this.firstTokenMsMax = order.clocks.firstTokenMsMax;
    this.lastFirstTokenMsMax = order.clocks.lastFirstTokenMsMax;
    this.readOnMsMax = way.readOnMsMax;
    this.#order = order;
    this.#way = way;
    this.#parts = parts;
  }

  unsent(): readonly string[] {
    const { chat, wire } = this.#way;
    if (chat !== null) this.#unsent ??= unsentOf(chat.asked, wire, chat.dialect);
    return this.#unsent ?? NONE_UNSENT;
  }

  dropRequest(): void {
    this.#order = null;
    this.#way.chat = null;
    this.#way.lane.dropRequest?.();
  }

  /** Throws once an answer has begun. */
  get #asked(): AnyOrder {
    if (this.#order === null) throw new Error("nothing is sent once an answer has begun");
    return this.#order;
  }

  repaired(): boolean {
    return this.#way.lane.form?.isRepaired === true;
  }

  request(): UpstreamBody | null {
    const { links = [] } = this.#way.lane;
    const body = links.length > 0 ? null : this.#body();
    return body === null || body.form !== undefined || body.origin !== undefined ? null : body;
  }

  answerWith(answer: KeptAnswer): void {
    this.#answer = answer;
  }

  #body(media?: FetchedMedia): UpstreamBody {
    const { adapter, upstreamModel } = this.offer;
    const { lane, wire } = this.#way;
    const body = growingLast(lane.request(media), lane.grows);
    if (wire.paths === undefined) return body;
    return placed(body, wire.paths, { adapter, upstreamModel }, { stream: this.#asked.stream, last: lane.grows });
  }

  pointlessAfter(failed: Candidate, kind: FailureKind): boolean {
    if (kind === "caller_invalid") return failed.provider === this.provider;
    if (kind !== "caller_context_length") return false;
    return failed.model === this.model || this.contextTokens < (failed as ModelCandidate).contextTokens;
  }

  open(sink: AnswerSink, firstTokenMsMax: number): Attempt {
    const { lane, chat } = this.#way;
    const { links = [] } = lane;
    if (links.length === 0 || chat === null || this.#answer !== null) return this.#ask(sink, firstTokenMsMax);
    const { asked } = chat;
    const sandbox = this.offer.adapter.isSandbox === true;
    const { account = null } = this.#asked;
    const { mediaFetcher } = this.#parts;
    const fetching: FetchingParts = {
      fetch: (signal) => mediaFetcher.fetch(links, { asked, account, sandbox, signal }),
      release: (served) => mediaFetcher.release(asked, account, served),
      open: (media, to) => this.#ask(to, firstTokenMsMax, media),
    };
    return openFetchingAttempt(fetching, sink);
  }

  #ask(to: AnswerSink, firstTokenMsMax: number, media?: FetchedMedia): Attempt {
    const { adapter } = this.offer;
    const { lane } = this.#way;
    const { stream, requestId, conversation, clocks } = this.#asked;
    const { clock, vendorOf, restKey, loginOf } = this.#parts;
    const kept = this.#answer;
    const dispatcher = kept === null ? this.#parts.dispatcher : keptAnswer(kept);
    const vendor = vendorOf(adapter);
    const key = vendor.ring.take(conversation);
    const request = exchangeRequest(vendor, this.#body(media), { adapter, requestId });
    return openChatAttempt(
      {
        lane,
        stream,
        firstTokenMsMax,
        gapMsMax: clocks.gapMsMax,
        dispatcher,
        clock,
        onFailure(failure) {
          const readable = readableFailure(failure, key);
          return kept === null ? restKey(adapter, key, readable) : readable;
        },
      },
      loginOf(adapter, key).authorize(request),
      to,
    );
  }
}

const NONE_UNSENT: readonly string[] = [];

/** Makes the candidate of one offer of a chat model; returns a reason if the offer cannot serve this request. */
export function chatCandidate(offer: Offer, order: ChatOrder, parts: ModelCandidateParts): ModelCandidate | string {
  const { mayBeEmpty, usesTools } = order.asked;
  const { seal, answers } = order;
  // Use the caller's own wire if the vendor speaks it.
  const { toolsDialect } = offer.wire;
  const dialect = (usesTools || toolsDialect === order.asked.wire ? toolsDialect : undefined) ?? offer.chat.dialect;
  const wire = wireFor(order.asked, offer.wire, dialect);
  const spoken = parts.dialects[dialect];
  if (spoken === undefined) return `${dialect} is not spoken here`;
  const context: ChatContext = {
    upstreamModel: offer.upstreamModel,
    servedSlug: order.servedSlug,
    completionId: order.completionId,
    createdS: order.createdS,
    stream: order.stream,
    mayBeEmpty,
    outputTokensMax: order.outputTokensMax,
    spec: offer.chat,
    wire,
    tools: new ToolFit(spoken.wire, wire),
    seal: seal && ownSeal(seal, makerOf(offer.adapter, order)),
    passed: answers.passed,
    unpriced: (counter) => parts.onUnpriced({ adapter: offer.adapter, counter }),
  };
  const lane = laneOf(spoken, order, context);
  if (typeof lane === "string") return lane;
  lane.form = answerForm(order, wire);
  const readOnMsMax = wire.hidesReasoning === true ? READ_ON_MS_MAX : 0;
  return new Served(offer, order, { lane, wire, readOnMsMax, chat: { asked: order.asked, dialect } }, parts);
}

export function unitCandidate(offer: UnitOffer, order: UnitOrder, parts: ModelCandidateParts): UnitCandidate {
  const { upstreamModel, spec } = offer;
  const { stream } = order.asked;
  const lane = unitLane(UNIT_DIALECTS[spec.dialect], order.asked, { ...order, upstreamModel, spec });
  return new Served(
    offer,
    { ...order, stream, contextTokens: 0 },
    { lane, wire: {}, readOnMsMax: 0, chat: null },
    parts,
  );
}
