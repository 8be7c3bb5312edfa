// The compiled catalog as the rest of the gateway sees it: models and actions with all prices compiled and all candidates ordered.
import type { PicoPerToken } from "../core/money.ts";
import type { ActionFacts, ActionSpec } from "./action.ts";
import type { ChatWire } from "./chat-wire.ts";
import type { EndpointTable } from "./endpoint-table.ts";
import type { ChatSpec, ModelSpec, PartBounds, Tokenizer } from "./model-spec.ts";
import type { JsonObject, ModelEnd } from "./said.ts";
import type { Kind } from "./slug.ts";
import type { AdapterSpec } from "./spec.ts";
import type { CompositeTierSpec } from "./tier.ts";
import type { UnitKind, UnitSpec } from "./unit-price.ts";

/** The prices of the four disjoint token buckets. */
export interface TokenRates {
  readonly input: PicoPerToken;
  readonly output: PicoPerToken;
  readonly cacheRead: PicoPerToken;
  readonly cacheWrite: PicoPerToken;
  /** Additional price of a call, in thousandths: each call costs 1,000 of these. */
  readonly thousandth: PicoPerToken;
}

/** Rates for the whole call if its prompt (input + cache read + cache write) exceeds `promptTokens`. */
export interface PriceStep extends TokenRates {
  readonly promptTokens: number;
}

/** A different price at certain times of day, UTC. */
export interface PriceHours {
  /** Minutes of the day; the end is exclusive. */
  readonly fromMinute: number;
  readonly untilMinute: number;
  readonly weekdaysOnly: boolean;
  readonly price: TokenPrice;
}

export interface TokenPrice extends TokenRates {
  /** Shortest prompt first. */
  readonly steps: readonly PriceStep[];
  /** The first entry that contains the moment applies; outside all of them, this price itself does. Entries have no hours. */
  readonly hours: readonly PriceHours[];
  /** The day it took effect, `YYYY-MM-DD`. */
  readonly since: string;
  /**
   * Identifies in a posting the price that was charged: slug and day (`maker/model@2026-08-21`), for models without a maker also the
   * adapters that defined the price (`lab/model(a+b)@...`, `a:model@...`), and the markup (`...+10%`).
   */
  readonly version: string;
}

/** Whose view of the catalog is requested: sandbox accounts see every vendor as configured and reach none of them. */
export interface Audience {
  readonly sandbox: boolean;
}

export interface Adapter {
  readonly id: string;
  readonly spec: AdapterSpec;
  /** The base URL of its calls, including the version path, without a trailing slash. For a sandbox, the sandbox upstream. */
  readonly origin: string;
  /** The other hosts of `spec.origins`, in the form of `origin`. */
  readonly origins: Readonly<Record<string, string>>;
  /** The configured parts of its address, by name. */
  readonly settings: Readonly<Record<string, string>>;
  /** By the adapter's model name; null: the names are the vendor's. */
  readonly deployments: ReadonlyMap<string, readonly Deployment[]> | null;
  /** Used in rotation; empty if the server needs no key, and then none is sent. The parts of a key are joined by newlines. */
  readonly keys: readonly string[];
  /** The User-Agent for vendors that require one; null: none is sent. */
  readonly userAgent: string | null;
  readonly configured: boolean;
  /** The sandbox's view: no traffic reaches the internet. */
  readonly isSandbox?: true;
  /** The caller's own key is used: the vendor's errors about it do not concern the operator, and the vendor's charges are not our cost. */
  readonly ownKey?: true;
  /** The vendor neither stores nor trains on what it receives. */
  readonly keepsNothing?: true;
  /** Why it is not configured, if anything other than a key is missing. */
  readonly waitsFor?: string;
  /** Actions that the vendor sells but the operator's self-hosted server lacks. */
  readonly lacks?: readonly string[];
}

/** A model under the name that the operator gave it. */
export interface Deployment {
  readonly name: string;
  /** The relative share of calls that it gets among the deployments of its model. */
  readonly weight: number;
}

/** One way to serve a model: an adapter and the adapter's name for the model. */
interface OfferOf<Spec> {
  readonly adapter: Adapter;
  readonly upstreamModel: string;
  readonly spec: Spec;
  /** The relative share of calls that it gets among the deployments of its model. */
  readonly weight: number;
  /** What the upstream charges us. */
  readonly cost: TokenPrice;
  /** Shared by all requests whose health is tracked together; sandbox and live never share one. */
  readonly healthKey: string;
}

export interface Offer extends OfferOf<ModelSpec> {
  readonly chat: ChatSpec;
  /** The vendor's fields, overridden by the model's. */
  readonly wire: ChatWire;
}

export type EmbeddingOffer = OfferOf<Omit<ModelSpec, "outputTokensMax">>;

interface Sold<Kind extends string, AnOffer> {
  readonly kind: Kind;
  readonly slug: string;
  /** The largest context among its offers. */
  readonly contextTokens: number;
  /** The longest answer among its offers; null if none of them states it. */
  readonly outputTokensMax: number | null;
  /** The highest limit among its offers for each kind of part that any of them accepts. */
  readonly parts: PartBounds;
  /** The tokenizer that all offers share; `unknown` if one of them does not name it. */
  readonly tokenizer: Tokenizer;
  /** What callers pay, whichever candidate serves the call. */
  readonly sale: TokenPrice;
  /** Configured offers only: the maker's own first, then by cost. Empty: the model is known, but no configured provider serves it. */
  readonly offers: readonly AnOffer[];
  /** Configured adapters that are skipped because they cost more than callers pay. */
  readonly tooDear: readonly string[];
  /** When its last offer ends; null if one of them has no known end. */
  readonly retires: ModelEnd | null;
  /** Whether lists show it. A model that ends within a month is still served but no longer recommended. */
  readonly listed: boolean;
}

export interface RetiredModel {
  readonly slug: string;
  readonly retires: ModelEnd;
}

export type SoldModel = Sold<"chat", Offer>;
export type SoldEmbedding = Sold<"embeddings", EmbeddingOffer>;

export interface UnitPrice {
  /** By unit (`textIn`, `seconds`, `image 1024x1024 high`), in pico-USD each. A unit without a rate is not sold. */
  readonly rates: ReadonlyMap<string, PicoPerToken>;
  readonly since: string;
  readonly version: string;
}

/** One way to serve a model that is priced by units. */
export interface UnitOffer {
  readonly adapter: Adapter;
  readonly upstreamModel: string;
  readonly spec: UnitSpec;
  readonly cost: UnitPrice;
  readonly healthKey: string;
}

export interface SoldUnitModel {
  readonly kind: UnitKind;
  readonly slug: string;
  /** What callers pay, whichever candidate serves the call. */
  readonly sale: UnitPrice;
  /** Configured offers only: the maker's own first, then by name. */
  readonly offers: readonly UnitOffer[];
  readonly retires: ModelEnd | null;
  readonly listed: boolean;
}

/** A vendor's action that can serve a sold action. */
export interface ActionOffer {
  readonly adapter: Adapter;
  readonly id: string;
  readonly spec: ActionSpec;
  readonly table: EndpointTable | null;
  readonly healthKey: string;
  /** Maps the sold action's param names to this action's; empty except in tiers. */
  readonly names: Readonly<Record<string, string>>;
  /** Params of the sold action that this action does not support. */
  readonly lacks: readonly string[];
}

/** An action as sold: one vendor's, or a tier of several vendors'. */
export interface SoldAction {
  /** `<service>/<action>`. */
  readonly id: string;
  readonly service: string;
  readonly action: string;
  readonly facts: ActionFacts;
  /** The table that completes the params of a vendor's action; null if it has none. */
  readonly table: EndpointTable | null;
  readonly exampleParams: JsonObject;
  readonly pinnedBy: string | null;
  readonly servedAs: string | null;
  /** All candidates in order; those with `adapter.configured` false cannot serve. */
  readonly offers: readonly ActionOffer[];
  readonly configured: boolean;
}

export interface Tier {
  readonly id: string;
  readonly purpose: string;
  /** Slugs in order of preference; all are in the catalog. */
  readonly models: readonly string[];
  /** Prefixes of model names that this tier serves if no configured model has the name. */
  readonly standsInFor: readonly string[];
  /** The id of the next tier down; null if there is none. */
  readonly lower: string | null;
  readonly firstTokenMsMax: number;
}

/** The file beside an adapter that simulates its vendor in the sandbox. Only a sandbox loads it. */
export interface StandInFile {
  /** Its name in error messages. */
  readonly name: string;
  /** Its default export. Rejects if the file is not a module. */
  load(): Promise<unknown>;
}

/** Prices are those of the day (UTC) of the method call, so do not keep a model for longer than one request. */
export interface Catalog {
  /** By id. The objects stay the same for the catalog's lifetime. */
  adapters(audience: Audience): ReadonlyMap<string, Adapter>;
  /** By adapter id. */
  readonly standIns: ReadonlyMap<string, StandInFile>;
  readonly tiers: ReadonlyMap<string, Tier>;
  readonly realtimeTiers: ReadonlyMap<string, Tier>;
  readonly compositeTiers: ReadonlyMap<string, CompositeTierSpec>;
  /** Every model with a price today, listed or not. Of a server that serves any model, only the one that the operator names is included. */
  models(audience: Audience): readonly SoldModel[];
  embeddings(audience: Audience): readonly SoldEmbedding[];
  /** Null: no such model. A model without offers is known, but no configured provider serves it. */
  model(slug: string, audience: Audience): SoldModel | null;
  embedding(slug: string, audience: Audience): SoldEmbedding | null;
  /** Every model that is priced by units, listed or not. */
  unitModels(audience: Audience): readonly SoldUnitModel[];
  /** By slug, or by a name without a maker if it is unambiguous. */
  unitModel(kind: UnitKind, name: string, audience: Audience): SoldUnitModel | null;
  /** The slugs that a name without a maker can refer to: those that end in it, and those whose maker uses that name. */
  slugsNamed(name: string, kind: Kind | UnitKind, audience: Audience): readonly string[];
  /** Models of both kinds that lists show, by slug. */
  listed(audience: Audience): readonly (SoldModel | SoldEmbedding)[];
  /** A model that is no longer served, by slug or by name without a maker; null if it never existed or is still served. */
  retired(name: string, kind: Kind | UnitKind, audience: Audience): RetiredModel | null;
  /** Every action, by service and name. */
  actions(audience: Audience): readonly SoldAction[];
  /** By `<service>/<action>`; null: no such action. */
  action(id: string, audience: Audience): SoldAction | null;
}

/** The catalog as shown without a key. */
export const EVERYBODY: Audience = { sandbox: false };

/** For caches: these answers differ by key. */
export const BY_KEY = { vary: "authorization" } as const;

/** The audience of a free answer: the caller's, or live if there is no key. */
export function seenBy(caller: Audience | null): Audience {
  return caller ?? EVERYBODY;
}
