// The unit-priced models sold on one day: every slug with its sale price and the offers that can serve it, in order.

import { eachOf, type Steps } from "../core/slices.ts";
import type { Adapter, SoldEmbedding, SoldUnitModel, UnitOffer } from "./catalog.ts";
import { priceAt, priceOn } from "./price.ts";
import { hasEnded, isListedOn } from "./retirement.ts";
import { unitListingsOf } from "./slug.ts";
import { type AudienceRules, deploymentsOf, isFirstHand, lastEnd, listPriceOf, surchargeOf } from "./sold.ts";
import { compileUnitPrice, dearestUnits, isDearerUnits, sellUnitsAt, unitsOfTokens } from "./unit-price.ts";

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

function soldUnitModel([one, ...more]: readonly Listed[], rules: AudienceRules): readonly SoldUnitModel[] {
  if (one === undefined) return [];
  const { day, markupPercent, allowLoss, liveIds } = rules;
  const { slug, offer } = one;
  const all = [offer, ...more.map((other) => other.offer)] as const;
  const sale = sellUnitsAt(listPriceOf(slug, all, liveIds, dearestUnits), markupPercent);
  const offers = all
    .filter(({ adapter, cost }) => adapter.configured && (allowLoss || !isDearerUnits(cost, sale)))
    .sort((a, b) => Number(isFirstHand(b)) - Number(isFirstHand(a)) || (a.adapter.id < b.adapter.id ? -1 : 1));
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
