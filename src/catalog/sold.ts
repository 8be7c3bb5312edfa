// The chat and embedding models sold on one day: every slug with its sale price and the offers that can serve it, in order.

import { eachOf, type Steps } from "../core/slices.ts";
import type { Adapter, Deployment, EmbeddingOffer, Offer, SoldEmbedding, SoldModel, TokenPrice } from "./catalog.ts";
import { type ChatWire, wireFields } from "./chat-wire.ts";
import type { ChatSpec, ModelSpec, PartBounds } from "./model-spec.ts";
import { blendOf, compilePrice, costlierBy, dearest, isDearer, priceOn, renamedVersion } from "./price.ts";
import { regionalPercent } from "./regional-cost.ts";
import { hasEnded, isListedOn } from "./retirement.ts";
import type { ModelEnd } from "./said.ts";
import { type Kind, type Listing, listingsOf } from "./slug.ts";

export interface SaleRules {
  readonly markupPercent: number;
  /** `ALLOW_LOSS`: offers that cost more than the sale price also serve. */
  readonly allowLoss: boolean;
}

export interface AudienceRules extends SaleRules {
  /** The adapters configured for live accounts: they determine the price for sandbox accounts too. */
  readonly liveIds: ReadonlySet<string>;
  /** `YYYY-MM-DD`, UTC. */
  readonly day: string;
  readonly healthScope: string;
}

type SalePriceRules = Pick<AudienceRules, "liveIds" | "markupPercent">;

export interface PricedListing extends Listing {
  readonly adapter: Adapter;
  readonly weight: number;
  readonly cost: TokenPrice;
}

/** The upstream names of a listed model: its own, or those that the operator gave its deployments. */
export function deploymentsOf(adapter: Adapter, upstreamModel: string): readonly Deployment[] {
  if (adapter.deployments === null) return [{ name: upstreamModel, weight: 1 }];
  return adapter.deployments.get(upstreamModel) ?? [];
}

/** By how many percent the adapter's region makes a model more expensive. */
export function surchargeOf({ isSandbox, spec, settings }: Adapter, upstreamModel: string): number {
  return isSandbox === true ? 0 : regionalPercent(spec.regionalCost, settings, upstreamModel);
}

/** A listing, once per upstream name; empty if it has no price on the day or has ended. */
function pricedListings(day: string, adapter: Adapter, listing: Listing): readonly PricedListing[] {
  const spec = priceOn(day, listing.spec.prices);
  if (spec === null || hasEnded(listing.spec.retires, day)) return [];
  const price = compilePrice(spec, `${adapter.id}:${listing.upstreamModel}`);
  const cost = costlierBy(price, surchargeOf(adapter, listing.upstreamModel));
  return deploymentsOf(adapter, listing.upstreamModel).map(({ name, weight }) => {
    return { ...listing, upstreamModel: name, adapter, weight, cost };
  });
}

export function* pricedOn(day: string, kind: Kind, adapters: Iterable<Adapter>): Steps<readonly PricedListing[]> {
  const priced: PricedListing[] = [];
  for (const adapter of adapters) {
    const listings = listingsOf(adapter.id, adapter.spec, kind);
    priced.push(...(yield* eachOf(listings, (listing) => pricedListings(day, adapter, listing))).flat());
  }
  return priced;
}

/** What an adapter sells a model at. */
interface Priced<Price> {
  readonly adapter: Adapter;
  readonly cost: Price;
}

export function isFirstHand({ adapter }: Priced<unknown>): boolean {
  return adapter.spec.maker !== undefined;
}

type AtLeastOne<T> = readonly [T, ...T[]];
export type Group = AtLeastOne<PricedListing>;

/** The listings whose prices count if no maker sets one: the configured ones, or all if none is configured. */
function sellersOf<Price>(group: AtLeastOne<Priced<Price>>, liveIds: ReadonlySet<string>): AtLeastOne<Priced<Price>> {
  const [live, ...others] = group.filter(({ adapter }) => liveIds.has(adapter.id));
  if (live !== undefined) return [live, ...others];
  const [real, ...rest] = group.filter(({ adapter }) => !adapter.spec.sandboxOnly);
  return real === undefined ? group : [real, ...rest];
}

/** The list price of a slug: its maker's own, or the highest among its vendors if the maker has none. */
export function listPriceOf<Price extends { readonly version: string }>(
  slug: string,
  group: AtLeastOne<Priced<Price>>,
  liveIds: ReadonlySet<string>,
  dearestOf: (prices: AtLeastOne<Price>, name: string) => Price,
): Price {
  const firstHand = group.find(isFirstHand);
  if (firstHand !== undefined) return { ...firstHand.cost, version: renamedVersion(firstHand.cost.version, slug) };
  const [first, ...rest] = sellersOf(group, liveIds);
  if (rest.length === 0) return first.cost;
  const ids = [first, ...rest].map(({ adapter }) => adapter.id).join("+");
  return dearestOf([first.cost, ...rest.map(({ cost }) => cost)], `${slug}(${ids})`);
}

/** The price that callers pay for a model, with our markup. */
export function salePriceOf(slug: string, group: Group, { liveIds, markupPercent }: SalePriceRules): TokenPrice {
  const list = listPriceOf(slug, group, liveIds, (prices, name) => dearest(prices, name, true));
  return costlierBy(list, markupPercent);
}

function inOrder(a: PricedListing, b: PricedListing): number {
  const firstHand = Number(isFirstHand(b)) - Number(isFirstHand(a));
  return firstHand || blendOf(a.cost) - blendOf(b.cost) || (a.adapter.id < b.adapter.id ? -1 : 1);
}

/** The vendor's wire, overridden by the model's own fields. */
function wireOf(chat: ChatSpec, model: ModelSpec): ChatWire {
  const laid = { ...chat, ...model };
  return Object.fromEntries(Object.entries(laid).filter(([field]) => Object.hasOwn(wireFields, field)));
}

function largestParts(specs: readonly ModelSpec[]): PartBounds {
  const largest: Record<string, number> = {};
  for (const [name, count] of specs.flatMap((spec) => Object.entries(spec.parts ?? {})))
    largest[name] = Math.max(largest[name] ?? 0, count);
  return largest;
}

function sizesOf(specs: readonly ModelSpec[]) {
  const outputs = specs.flatMap((spec) => spec.outputTokensMax ?? []);
  return {
    contextTokens: Math.max(...specs.map((spec) => spec.contextTokens)),
    outputTokensMax: outputs.length === 0 ? null : Math.max(...outputs),
    parts: largestParts(specs),
    tokenizer: specs.every((spec) => spec.tokenizer === "o200k") ? ("o200k" as const) : ("unknown" as const),
  };
}

/** The latest of several ends; null if one of them has none. */
export function lastEnd(specs: readonly { readonly retires?: ModelEnd }[]): ModelEnd | null {
  const ends = specs.map(({ retires }) => retires).filter((end) => end !== undefined);
  return ends.length < specs.length ? null : (ends.toSorted((a, b) => (a.on < b.on ? -1 : 1)).at(-1) ?? null);
}

function soldOf(slug: string, group: Group, rules: AudienceRules) {
  const sale = salePriceOf(slug, group, rules);
  const on = group.filter(({ adapter }) => adapter.configured);
  const dear = rules.allowLoss ? [] : on.filter(({ cost }) => isDearer(cost, sale));
  const serving = on.filter((listing) => !dear.includes(listing)).sort(inOrder);
  const tooDear = [...new Set(dear.map(({ adapter }) => adapter.id))];
  const specs = (serving.length > 0 ? serving : group).map((listing) => listing.spec);
  const retires = lastEnd(specs);
  return { slug, sale, serving, tooDear, ...sizesOf(specs), retires, listed: isListedOn(rules.day, retires) };
}

function embeddingOfferOf(listing: PricedListing, healthScope: string): EmbeddingOffer {
  const { adapter, upstreamModel, spec, weight, cost } = listing;
  return { adapter, upstreamModel, spec, weight, cost, healthKey: `${healthScope}${adapter.id}/${upstreamModel}` };
}

export function soldModel(slug: string, group: Group, rules: AudienceRules): SoldModel {
  const { serving, ...sold } = soldOf(slug, group, rules);
  const offers = serving.flatMap((listing): readonly Offer[] => {
    const { chat } = listing.adapter.spec;
    if (chat === undefined) return [];
    return [{ ...embeddingOfferOf(listing, rules.healthScope), chat, wire: wireOf(chat, listing.spec) }];
  });
  return { kind: "chat", ...sold, offers };
}

export function soldEmbedding(slug: string, group: Group, rules: AudienceRules): SoldEmbedding {
  const { serving, ...sold } = soldOf(slug, group, rules);
  return { kind: "embeddings", ...sold, offers: serving.map((one) => embeddingOfferOf(one, rules.healthScope)) };
}
