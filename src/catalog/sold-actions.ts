// Builds the actions that are sold to one audience, from all adapters and the action tiers.

import { eachOf, type Steps } from "../core/slices.ts";
import type { ActionSpec } from "./action.ts";
import type { ActionOffer, Adapter, SoldAction } from "./catalog.ts";
import type { EndpointTable } from "./endpoint-table.ts";
import { NOT_SELF_HOSTED } from "./self-hosted.ts";
import type { ActionTierSpec } from "./tier.ts";

export interface ActionSource {
  readonly adapters: ReadonlyMap<string, Adapter>;
  readonly tables: ReadonlyMap<string, EndpointTable>;
  readonly tiers: Iterable<ActionTierSpec>;
  /** Separates the health of sandbox candidates from that of live ones. */
  readonly healthScope: string;
}

function offerOf(adapter: Adapter, name: string, spec: ActionSpec, source: ActionSource): ActionOffer {
  const id = `${adapter.id}/${name}`;
  const isLacking = adapter.lacks?.includes(name) === true;
  return {
    adapter: isLacking ? { ...adapter, configured: false, waitsFor: NOT_SELF_HOSTED } : adapter,
    id,
    spec,
    table: spec.table === undefined ? null : (source.tables.get(adapter.id) ?? null),
    healthKey: `${source.healthScope}${id}`,
    names: {},
    lacks: [],
  };
}

function soldBy(offer: ActionOffer): SoldAction {
  const { adapter, spec, table } = offer;
  return {
    id: offer.id,
    service: adapter.id,
    action: offer.id.slice(adapter.id.length + 1),
    facts: spec,
    table,
    exampleParams: spec.example.params,
    pinnedBy: null,
    servedAs: null,
    offers: [offer],
    configured: adapter.configured,
  };
}

function soldByTier(tier: ActionTierSpec, offers: ReadonlyMap<string, ActionOffer>): SoldAction {
  const [service = "", action = ""] = tier.sells.split("/");
  const candidates = tier.candidates.flatMap(({ action: id, names = {}, lacks = [] }) => {
    const offer = offers.get(id);
    return offer === undefined ? [] : [{ ...offer, names, lacks }];
  });
  return {
    id: tier.sells,
    service,
    action,
    facts: tier,
    table: null,
    exampleParams: tier.example.params,
    pinnedBy: tier.pinnedBy ?? null,
    servedAs: tier.servedAs ?? null,
    offers: candidates,
    configured: candidates.some((offer) => offer.adapter.configured),
  };
}

export function* soldActions(source: ActionSource): Steps<ReadonlyMap<string, SoldAction>> {
  const offersOf = (adapter: Adapter) =>
    Object.entries(adapter.spec.actions ?? {}).map(([name, spec]) => offerOf(adapter, name, spec, source));
  const offers = (yield* eachOf(source.adapters.values(), offersOf)).flat();
  const byId = new Map(offers.map((offer) => [offer.id, offer]));
  const tiers = yield* eachOf(source.tiers, (tier) => soldByTier(tier, byId));
  const sold = [...offers.map(soldBy), ...tiers];
  return new Map(sold.sort((a, b) => (a.id < b.id ? -1 : 1)).map((one) => [one.id, one]));
}
