// What is sold by units on one day: every slug with its one sale price and the offers that can serve it, in order.
import type { UnitKind } from "./adapter.ts";
import type { Adapter, SoldUnitModel, UnitOffer, UnitPrice } from "./catalog.ts";
import { priceOn } from "./price.ts";
import { splitSlug } from "./slug.ts";
import type { AudienceRules } from "./sold.ts";
import { compileUnitPrice, dearestUnits, isDearerUnits, sellUnitsAt } from "./unit-price.ts";

interface Listed {
  readonly slug: string;
  readonly offer: UnitOffer;
}

function listedBy(adapter: Adapter, day: string, healthScope: string): readonly Listed[] {
  const { id, spec } = adapter;
  return Object.entries(spec.unitModels ?? {}).flatMap(([upstreamModel, model]) => {
    const price = priceOn(day, model.prices);
    if (price === null) return [];
    const slug = model.slug ?? (spec.maker === undefined ? upstreamModel : `${spec.maker}/${upstreamModel}`);
    const cost = compileUnitPrice(price, `${id}:${upstreamModel}`);
    const healthKey = `${healthScope}${id}/${upstreamModel} ${model.kind}`;
    return [{ slug, offer: { adapter, upstreamModel, spec: model, cost, healthKey } }];
  });
}

function isFirstHand({ adapter }: UnitOffer): boolean {
  return adapter.spec.maker !== undefined;
}

/** The maker's own price, or without one the dearest of those who can serve it. */
function listPriceOf(
  slug: string,
  offers: readonly [UnitOffer, ...UnitOffer[]],
  liveIds: ReadonlySet<string>,
): UnitPrice {
  const firstHand = offers.find(isFirstHand);
  if (firstHand !== undefined) return { ...firstHand.cost, version: `${slug}@${firstHand.cost.since}` };
  const live = offers.filter(({ adapter }) => liveIds.has(adapter.id));
  const [first = offers[0], ...rest] = live.length > 0 ? live : offers;
  if (rest.length === 0) return first.cost;
  const ids = [first, ...rest].map(({ adapter }) => adapter.id).join("+");
  return dearestUnits([first.cost, ...rest.map(({ cost }) => cost)], `${slug}(${ids})`);
}

function inOrder(a: UnitOffer, b: UnitOffer): number {
  return Number(isFirstHand(b)) - Number(isFirstHand(a)) || (a.adapter.id < b.adapter.id ? -1 : 1);
}

/** Every model with a price on the day, by kind and slug. */
export function soldUnitModels(
  day: string,
  adapters: Iterable<Adapter>,
  { markupPercent, allowLoss, liveIds, healthScope }: AudienceRules,
): readonly SoldUnitModel[] {
  const listed = [...adapters].flatMap((adapter) => listedBy(adapter, day, healthScope));
  const groups = Map.groupBy(listed, ({ slug, offer }) => `${offer.spec.kind} ${slug}`);
  const models = [...groups.values()].flatMap(([one, ...more]): SoldUnitModel[] => {
    if (one === undefined) return [];
    const { slug, offer } = one;
    const all = [offer, ...more.map((other) => other.offer)] as const;
    const sale = sellUnitsAt(listPriceOf(slug, all, liveIds), markupPercent);
    const offers = all
      .filter(({ adapter, cost }) => adapter.configured && (allowLoss || !isDearerUnits(cost, sale)))
      .sort(inOrder);
    return [{ kind: offer.spec.kind, slug, sale, offers }];
  });
  return models.sort((a, b) => (a.slug < b.slug ? -1 : 1));
}

/** By slug, or by what stands behind the maker where only one has it. */
export function unitModelNamed(models: readonly SoldUnitModel[], kind: UnitKind, name: string): SoldUnitModel | null {
  const ofKind = models.filter((model) => model.kind === kind);
  const exact = ofKind.find(({ slug }) => slug === name);
  if (exact !== undefined) return exact;
  const [only, ...more] = ofKind.filter(({ slug }) => splitSlug(slug)?.rest === name);
  return only === undefined || more.length > 0 ? null : only;
}
