// What a catalog sells, as plain data, to be compared with lists in another thread.
import type { Catalog } from "../catalog.ts";
import type { VendorFacts } from "./changes.ts";

/** Every vendor whose adapter lists models, with `configured` as live accounts see it. */
export function vendorFactsOf(catalog: Catalog): readonly VendorFacts[] {
  const live = catalog.adapters({ sandbox: false });
  return [...catalog.adapters({ sandbox: true })].flatMap(([id, { spec }]) => {
    const { chat, embeddings, unitModels, pricedAs, alsoCalled, maker, sandboxOnly } = spec;
    if (chat === undefined && embeddings === undefined && unitModels === undefined) return [];
    const facts: VendorFacts = {
      id,
      pricedAs: pricedAs ?? null,
      alsoCalled: alsoCalled ?? [],
      maker,
      configured: live.get(id)?.configured === true,
      sandboxOnly: sandboxOnly === true,
      chat: chat && { models: chat.models },
      embeddings: embeddings && { models: embeddings.models },
      unitModels,
    };
    return [facts];
  });
}
