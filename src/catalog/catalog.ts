// What is sold and by whom, as the rest of the gateway sees it: every price compiled, every candidate in order.
import type { PicoPerToken } from "../core/money.ts";
import type { ActionFacts, ActionSpec } from "./action.ts";
import type { ChatWire } from "./chat-wire.ts";
import type { EndpointTable } from "./endpoint-table.ts";
import type { ChatSpec, ModelSpec, PartBounds, Tokenizer } from "./model-spec.ts";
import type { JsonObject, ModelEnd } from "./said.ts";
import type { Kind } from "./slug.ts";
import type { AdapterSpec } from "./spec.ts";
import type { CompositeTierSpec } from "./tier.ts";
import type { UnitKind, UnitSpec } from "./unit-model.ts";

/** What each of the four disjoint buckets of tokens costs. */
export interface TokenRates {
  readonly input: PicoPerToken;
  readonly output: PicoPerToken;
  readonly cacheRead: PicoPerToken;
  readonly cacheWrite: PicoPerToken;
  /** A call costs a thousand of these beside its tokens. */
  readonly thousandth: PicoPerToken;
}

/** Rates of the whole call once its prompt (input + cache read + cache write) is longer than `promptTokens`. */
export interface PriceStep extends TokenRates {
  readonly promptTokens: number;
}

/** Another price at some hours of the day, UTC. */
export interface PriceHours {
  /** Minutes of the day; the last is no longer within. */
  readonly fromMinute: number;
  readonly untilMinute: number;
  readonly weekdaysOnly: boolean;
  readonly price: TokenPrice;
}

export interface TokenPrice extends TokenRates {
  /** Shortest prompt first. */
  readonly steps: readonly PriceStep[];
  /** The first that a moment is in holds; without one the price is this itself. Those within have none. */
  readonly hours: readonly PriceHours[];
  /** The day it came into force, `YYYY-MM-DD`. */
  readonly since: string;
  /**
   * What a posting keeps to say which price it was charged at: the slug and the day (`maker/model@2026-08-21`), without
   * a maker the adapters that made it (`lab/model(a+b)@...`, `a:model@...`), and the markup (`...+10%`).
   */
  readonly version: string;
}

/** Whose catalog is asked for: sandbox accounts see every vendor as configured and reach none of them. */
export interface Audience {
  readonly sandbox: boolean;
}

export interface Adapter {
  readonly id: string;
  readonly spec: AdapterSpec;
  /** Where its calls go, with the version path and without a slash at the end. For a sandbox, the sandbox upstream. */
  readonly origin: string;
  /** The other hosts of `spec.origins`, as `origin` is. */
  readonly origins: Readonly<Record<string, string>>;
  /** The parts of its address that are set, by their names. */
  readonly settings: Readonly<Record<string, string>>;
  /** By the adapter's name of a model; null: its models are reached by their own names. */
  readonly deployments: ReadonlyMap<string, readonly Deployment[]> | null;
  /** In rotation; empty where the server needs none, and then no key is sent. The parts of a key are joined by newlines. */
  readonly keys: readonly string[];
  /** The User-Agent that names us to those who ask for it; null: none is sent. */
  readonly userAgent: string | null;
  readonly configured: boolean;
  /** As sandbox accounts see it: nothing of theirs reaches the internet. */
  readonly isSandbox?: true;
  /** Its key is the caller's own: what the vendor says of it is none of the operator's matter, and what it takes none of our cost. */
  readonly ownKey?: true;
  /** What it is sent it does not keep, and trains on nothing of it. */
  readonly keepsNothing?: true;
  /** Why it is not configured, where it is not for want of a key alone. */
  readonly waitsFor?: string;
  /** Actions that it sells and the operator's own server of it does not have. */
  readonly lacks?: readonly string[];
}

/** A model by the name that the operator gave it. */
export interface Deployment {
  readonly name: string;
  /** Of all calls that its equals get, as many parts as this go to it. */
  readonly weight: number;
}

/** One way to serve a model: an adapter and its own name for it. */
interface OfferOf<Spec> {
  readonly adapter: Adapter;
  readonly upstreamModel: string;
  readonly spec: Spec;
  /** Of the calls that go to its equals, the deployments of one model, as many parts as this are its. */
  readonly weight: number;
  /** What the upstream takes from us. */
  readonly cost: TokenPrice;
  /** Shared by all requests that this candidate's health is kept for; sandbox and live never share one. */
  readonly healthKey: string;
}

export interface Offer extends OfferOf<ModelSpec> {
  readonly chat: ChatSpec;
  /** The vendor's fields, with the model's own laid over them. */
  readonly wire: ChatWire;
}

export type EmbeddingOffer = OfferOf<Omit<ModelSpec, "outputTokensMax">>;

interface Sold<Kind extends string, AnOffer> {
  readonly kind: Kind;
  readonly slug: string;
  /** The largest context of its offers. */
  readonly contextTokens: number;
  /** The longest answer of its offers; null where it is known of none of them. */
  readonly outputTokensMax: number | null;
  /** The largest bound of its offers for each kind of part that one of them takes. */
  readonly parts: PartBounds;
  /** That of all its offers; `unknown` where one of them does not say. */
  readonly tokenizer: Tokenizer;
  /** What callers pay, whichever candidate serves them. */
  readonly sale: TokenPrice;
  /** Configured ones only: the maker's own first, then by cost. Empty: known, but no provider that serves it is configured. */
  readonly offers: readonly AnOffer[];
  /** Adapters that are configured and are not asked, because it costs more there than callers pay. */
  readonly tooDear: readonly string[];
  /** When the last of its offers ends; null: one of them has no end that is known. */
  readonly retires: ModelEnd | null;
  /** Whether lists show it. What ends within a month is still served, and no longer recommended. */
  readonly listed: boolean;
}

/** A model that was sold until its end. */
export interface RetiredModel {
  readonly slug: string;
  readonly retires: ModelEnd;
}

export type SoldModel = Sold<"chat", Offer>;
export type SoldEmbedding = Sold<"embeddings", EmbeddingOffer>;

/** A price by units, compiled. */
export interface UnitPrice {
  /** By unit (`textIn`, `seconds`, `image 1024x1024 high`): pico-USD for each. What is not here is not sold. */
  readonly rates: ReadonlyMap<string, PicoPerToken>;
  /** As of a TokenPrice. */
  readonly since: string;
  readonly version: string;
}

/** One way to serve a model that is sold by units. */
export interface UnitOffer {
  readonly adapter: Adapter;
  readonly upstreamModel: string;
  readonly spec: UnitSpec;
  /** What the upstream takes from us. */
  readonly cost: UnitPrice;
  readonly healthKey: string;
}

/** A model that is no chat model, as it is sold. */
export interface SoldUnitModel {
  readonly kind: UnitKind;
  readonly slug: string;
  /** What callers pay, whichever candidate serves them. */
  readonly sale: UnitPrice;
  /** Configured ones only: the maker's own first, then by name. */
  readonly offers: readonly UnitOffer[];
  /** As of other models. */
  readonly retires: ModelEnd | null;
  readonly listed: boolean;
}

/** One vendor's action that can serve a sold one. */
export interface ActionOffer {
  readonly adapter: Adapter;
  /** `<adapter id>/<action>`. */
  readonly id: string;
  readonly spec: ActionSpec;
  readonly table: EndpointTable | null;
  readonly healthKey: string;
  /** The sold action's name of a param -> this one's; empty but in tiers. */
  readonly names: Readonly<Record<string, string>>;
  /** Params of the sold action that this one cannot take. */
  readonly lacks: readonly string[];
}

/** An action as it is sold: a vendor's, or a tier of several vendors'. */
export interface SoldAction {
  /** `<service>/<action>`. */
  readonly id: string;
  readonly service: string;
  readonly action: string;
  readonly facts: ActionFacts;
  /** The table that the params of a vendor's action are completed from; null: there is none. */
  readonly table: EndpointTable | null;
  readonly exampleParams: JsonObject;
  readonly pinnedBy: string | null;
  readonly servedAs: string | null;
  /** All candidates, in order; those whose `adapter.configured` is false cannot serve. */
  readonly offers: readonly ActionOffer[];
  /** Whether one of the offers can serve. */
  readonly configured: boolean;
}

export interface Tier {
  readonly id: string;
  readonly purpose: string;
  /** Slugs in order of preference, each known to the catalog. */
  readonly models: readonly string[];
  /** What names begin with that mean it where no model of such a name is configured. */
  readonly standsInFor: readonly string[];
  /** The id of the tier below it; null: there is none. */
  readonly lower: string | null;
  readonly firstTokenMsMax: number;
}

/** The file beside an adapter by which the sandbox plays its vendor. It is read where a sandbox asks for it, and by nothing else. */
export interface StandInFile {
  /** As it is named in complaints. */
  readonly name: string;
  /** Its default export. Rejects where the file is no module. */
  load(): Promise<unknown>;
}

/** Prices are those of the day (UTC) of the call to it, so keep a model for one request, not longer. */
export interface Catalog {
  /** By id. The objects stay the same for as long as the catalog does. */
  adapters(audience: Audience): ReadonlyMap<string, Adapter>;
  /** By adapter id. */
  readonly standIns: ReadonlyMap<string, StandInFile>;
  readonly tiers: ReadonlyMap<string, Tier>;
  /** What our composites go by, by the names of the files. */
  readonly compositeTiers: ReadonlyMap<string, CompositeTierSpec>;
  /** Every model with a price today, listed or not. Of a server that serves any, only the one that the operator names is among them. */
  models(audience: Audience): readonly SoldModel[];
  embeddings(audience: Audience): readonly SoldEmbedding[];
  /** Null: no such model. A model without offers is known, but no provider that serves it is configured. */
  model(slug: string, audience: Audience): SoldModel | null;
  embedding(slug: string, audience: Audience): SoldEmbedding | null;
  /** Every model that is sold by units, listed or not. */
  unitModels(audience: Audience): readonly SoldUnitModel[];
  /** By slug, or by a name without a maker that is only one's. */
  unitModel(kind: UnitKind, name: string, audience: Audience): SoldUnitModel | null;
  /** The slugs that a name without a maker can mean: those that end in it, and those whose maker calls them so. */
  slugsNamed(name: string, kind: Kind | UnitKind, audience: Audience): readonly string[];
  /** Of either kind, those that lists show, by slug. */
  listed(audience: Audience): readonly (SoldModel | SoldEmbedding)[];
  /** The model of a slug, or of a name without a maker, that is not served any more; null: there never was one, or it is served. */
  retired(name: string, kind: Kind | UnitKind, audience: Audience): RetiredModel | null;
  /** Every action, by service and name. */
  actions(audience: Audience): readonly SoldAction[];
  /** By `<service>/<action>`; null: no such action. */
  action(id: string, audience: Audience): SoldAction | null;
}

/** The catalog that is shown without a key. */
export const EVERYBODY: Audience = { sandbox: false };

/** Such answers differ by key, which caches must know. */
export const BY_KEY = { vary: "authorization" } as const;

/** The audience of a free answer: the caller's, or the live one without a key. */
export function seenBy(caller: Audience | null): Audience {
  return caller ?? EVERYBODY;
}
