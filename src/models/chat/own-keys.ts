// Models by keys of the caller's own: before each model stands the same one at the providers that the caller has a key of, sold at the fee.
import type { Adapter, Offer, SoldModel, TokenPrice } from "../../catalog/catalog.ts";
import { FREE_PRICE, feeOf } from "../../catalog/price.ts";
import type { OwnKey } from "../../core/plan.ts";
import type { Wanted } from "./resolve-models.ts";

/** A provider as an account reaches it, made once for as long as its key is remembered: its connections and rests are its own. */
const adapters = new WeakMap<OwnKey, Adapter>();

function adapterOf(adapter: Adapter, own: OwnKey): Adapter {
  const known = adapters.get(own);
  if (known !== undefined && known.spec === adapter.spec) return known;
  // What a vendor has promised the operator it has not promised the caller.
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

/** The models in their order, each with the caller's own way to it before it; without ours where the caller wants no other. */
export function withOwnKeys(models: readonly Wanted[], ownKeys: ReadonlyMap<string, OwnKey>): readonly Wanted[] {
  return models.flatMap((wanted) => {
    const own = ownModel(wanted.model, ownKeys);
    if (own === null) return [wanted];
    const goesOn = wanted.model.offers.every(({ adapter }) => ownKeys.get(adapter.id)?.fallback !== false);
    return goesOn ? [{ ...wanted, model: own }, wanted] : [{ ...wanted, model: own }];
  });
}
