// A model as it was sold when a provider's batch API got its lines: their answers are read and charged accordingly, even if the model has
// another price by then, or is no longer sold.
import type { Adapter, Catalog, SoldEmbedding, SoldModel, SoldUnitModel } from "../catalog/catalog.ts";
import type { ModelCandidate, UnitCandidate } from "../upstream/model-candidate.ts";

type AnySold = SoldModel | SoldEmbedding | SoldUnitModel;

/** The candidate's model with this offer alone, as JSON. A vendor with a batch API describes its models without functions. */
export function soldText(
  { model: slug, offer }: ModelCandidate | UnitCandidate,
  catalog: Catalog,
  audience: { readonly sandbox: boolean },
): string {
  const kind = "kind" in offer.spec ? offer.spec.kind : "chat";
  const sold: AnySold | null =
    kind === "chat"
      ? catalog.model(slug, audience)
      : kind === "embeddings"
        ? catalog.embedding(slug, audience)
        : catalog.unitModel(kind, slug, audience);
  const isThis = (one: AnySold["offers"][number]) =>
    one.adapter.id === offer.adapter.id && one.upstreamModel === offer.upstreamModel;
  const alone = sold === null ? null : { ...sold, offers: sold.offers.filter(isThis) };
  return JSON.stringify(alone, (name, value) => {
    if (name === "adapter") return (value as Adapter).id;
    return value instanceof Map ? [...value] : value;
  });
}

/** The catalog with this model alone, under any name. */
export function catalogThen(text: string, now: Catalog, audience: { readonly sandbox: boolean }): Catalog {
  const adapters = now.adapters(audience);
  const sold = JSON.parse(text, (name, value) => {
    if (name === "adapter") return adapters.get(value);
    return name === "rates" ? new Map(value) : value;
  }) as AnySold;
  const [model, embedding, unitModel] =
    "rates" in sold.sale
      ? [null, null, sold as SoldUnitModel]
      : sold.kind === "chat"
        ? [sold as SoldModel, null, null]
        : [null, sold as SoldEmbedding, null];
  return { ...now, tiers: new Map(), model: () => model, embedding: () => embedding, unitModel: () => unitModel };
}
