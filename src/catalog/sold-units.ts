// The unit-priced models sold on one day: every slug with its sale price and the offers that can serve it, in order.

import { eachOf, type Steps } from "../core/slices.ts";
import type { Adapter, RetiredModel, SoldEmbedding, SoldUnitModel, UnitOffer } from "./catalog.ts";
import { priceAt, priceOn } from "./price.ts";
import { hasEnded, isListedOn } from "./retirement.ts";
import { splitSlug, unitListingsOf } from "./slug.ts";
import { type AudienceRules, deploymentsOf, isFirstHand, lastEnd, listPriceOf, surchargeOf } from "./sold.ts";
import {
  compileUnitPrice,
  dearestUnits,
  isDearerUnits,
  sellUnitsAt,
  type UnitKind,
  unitsOfTokens,
} from "./unit-price.ts";

interface Listed {
  readonly slug: string;
  readonly offer: UnitOffer;
}

function listedBy(adapter: Adapter, day: string, healthScope: string): readonly Listed[] {
  const { id } = adapter;
  return unitListingsOf(id, adapter.spec).flatMap(({ kind, slug, upstreamModel, spec }) => {
    const price = priceOn(day, spec.prices);
    if (price === null || hasEnded(spec.retires, day)) return [];
    const cost = sellUnitsAt(compileUnitPrice(price, `${id}:${upstreamModel}`), surchargeOf(adapter, upstreamModel));
    return deploymentsOf(adapter, upstreamModel).map(({ name }) => {
      const healthKey = `${healthScope}${id}/${name} ${kind}`;
      return { slug, offer: { adapter, upstreamModel: name, spec, cost, healthKey } };
    });
  });
}

function inOrder(a: UnitOffer, b: UnitOffer): number {
  return Number(isFirstHand(b)) - Number(isFirstHand(a)) || (a.adapter.id < b.adapter.id ? -1 : 1);
}

function soldUnitModel([one, ...more]: readonly Listed[], rules: AudienceRules): readonly SoldUnitModel[] {
  if (one === undefined) return [];
  const { day, markupPercent, allowLoss, liveIds } = rules;
  const { slug, offer } = one;
  const all = [offer, ...more.map((other) => other.offer)] as const;
  const sale = sellUnitsAt(listPriceOf(slug, all, liveIds, dearestUnits), markupPercent);
  const offers = all
    .filter(({ adapter, cost }) => adapter.configured && (allowLoss || !isDearerUnits(cost, sale)))
    .sort(inOrder);
  const retires = lastEnd((offers.length > 0 ? offers : all).map(({ spec }) => spec));
  return [{ kind: offer.spec.kind, slug, sale, offers, retires, listed: isListedOn(day, retires) }];
}

/** Every model with a price on the day, by kind and slug. */
export function* soldUnitModels(adapters: Iterable<Adapter>, rules: AudienceRules): Steps<readonly SoldUnitModel[]> {
  const listed = yield* eachOf(adapters, (adapter) => listedBy(adapter, rules.day, rules.healthScope));
  const groups = Map.groupBy(listed.flat(), ({ slug, offer }) => `${offer.spec.kind} ${slug}`);
  const models = yield* eachOf(groups.values(), (group) => soldUnitModel(group, rules));
  return models.flat().sort((a, b) => (a.slug < b.slug ? -1 : 1));
}

/** Unit-priced models that have ended and are no longer served, by kind and by each of their names. */
export function endedUnitModels(
  day: string,
  adapters: Iterable<Adapter>,
  served: readonly SoldUnitModel[],
): readonly (readonly [name: string, model: RetiredModel])[] {
  const isServed = new Set(served.map(({ kind, slug }) => `${kind} ${slug}`));
  const ended = [...adapters].flatMap(({ id, spec: adapter }) =>
    unitListingsOf(id, adapter).filter(
      ({ kind, slug, spec }) => hasEnded(spec.retires, day) && !isServed.has(`${kind} ${slug}`),
    ),
  );
  return ended.flatMap(({ kind, slug, spec: { retires } }) =>
    [slug, splitSlug(slug)?.rest ?? slug].flatMap((name) =>
      retires === undefined ? [] : [[`${kind} ${name}`, { slug, retires }] as const],
    ),
  );
}

export function unitSlugsNamed(models: readonly SoldUnitModel[], kind: UnitKind, name: string): readonly string[] {
  return models.filter((model) => model.kind === kind && splitSlug(model.slug)?.rest === name).map(({ slug }) => slug);
}

/** By slug, or by the part after the maker if it is unambiguous. */
export function unitModelNamed(models: readonly SoldUnitModel[], kind: UnitKind, name: string): SoldUnitModel | null {
  const withSlug = (slug: string) => models.find((model) => model.kind === kind && model.slug === slug) ?? null;
  const exact = withSlug(name);
  if (exact !== null) return exact;
  const [only, ...more] = unitSlugsNamed(models, kind, name);
  return only === undefined || more.length > 0 ? null : withSlug(only);
}

/** Embeddings are listed by tokens, like chat models; this converts one to a unit-priced model, at the price of the given time. */
export function embeddingByUnits({ slug, sale, offers, retires, listed }: SoldEmbedding, atMs: number): SoldUnitModel {
  return {
    kind: "embeddings",
    slug,
    sale: unitsOfTokens(priceAt(sale, atMs)),
    offers: offers.map(({ adapter, upstreamModel, spec, cost, healthKey }) => ({
      adapter,
      upstreamModel,
      spec: {
        kind: "embeddings",
        dialect: "openai-embeddings",
        inputTokensMax: spec.contextTokens,
        renamed: spec.takes?.renamed ?? {},
        omits: spec.dropFields ?? [],
      },
      cost: unitsOfTokens(priceAt(cost, atMs)),
      healthKey,
    })),
    retires,
    listed,
  };
}
