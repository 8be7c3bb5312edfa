// The caller's own vendor keys: before each model, the same model at providers whose key the caller has, sold at the fee.
import type { Adapter, Offer, SoldModel, TokenPrice } from "../../catalog/catalog.ts";
import { FREE_PRICE, feeOf } from "../../catalog/price.ts";
import type { OwnKey } from "../../core/plan.ts";
import type { Wanted } from "./resolve-models.ts";

/** An adapter per own key, cached as long as the key object lives, so that it has its own connections and cooldowns. */
const adapters = new WeakMap<OwnKey, Adapter>();

function adapterOf(adapter: Adapter, own: OwnKey): Adapter {
  const known = adapters.get(own);
  if (known !== undefined && known.spec === adapter.spec) return known;
  // The vendor's promise to the operator does not extend to the caller's account.
  const { keepsNothing: _, ...theirs } = adapter;
  const made = { ...theirs, keys: [own.key], ownKey: true as const };
  adapters.set(own, made);
  return made;
}

function ownOffer(offer: Offer, own: OwnKey, cost: TokenPrice): Offer {
  const healthKey = `own ${own.accountId} ${offer.healthKey}`;
  return { ...offer, adapter: adapterOf(offer.adapter, own), healthKey, cost };
}

function ownModel(model: SoldModel, ownKeys: ReadonlyMap<string, OwnKey>): SoldModel | null {
  const offers = model.offers.flatMap((offer) => {
    const own = ownKeys.get(offer.adapter.id);
    return own === undefined ? [] : [ownOffer(offer, own, FREE_PRICE)];
  });
  const [first] = model.offers.flatMap(({ adapter }) => ownKeys.get(adapter.id) ?? []);
  return first === undefined ? null : { ...model, offers, sale: feeOf(model.sale, first.feePercent) };
}

/** The models in order, each preceded by the caller's own route to it; without our route where the caller disabled the fallback. */
export function withOwnKeys(models: readonly Wanted[], ownKeys: ReadonlyMap<string, OwnKey>): readonly Wanted[] {
  return models.flatMap((wanted) => {
    const own = ownModel(wanted.model, ownKeys);
    if (own === null) return [wanted];
    const goesOn = wanted.model.offers.every(({ adapter }) => ownKeys.get(adapter.id)?.fallback !== false);
    return goesOn ? [{ ...wanted, model: own }, wanted] : [{ ...wanted, model: own }];
  });
}
