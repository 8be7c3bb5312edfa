// A model as it was sold when a provider's batch API got its lines. Its answers are read and charged by that, even if its price has changed
// since, or it is not sold any more.
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
  const unit = () => (kind === "chat" ? null : catalog.unitModel(kind, slug, audience));
  const byTokens = { chat: catalog.model, embeddings: catalog.embedding }[kind as string];
  const sold: AnySold | null = byTokens === undefined ? unit() : byTokens(slug, audience);
  const isThis = ({ adapter, upstreamModel }: AnySold["offers"][number]) =>
    adapter.id === offer.adapter.id && upstreamModel === offer.upstreamModel;
  return JSON.stringify(sold && { ...sold, offers: sold.offers.filter(isThis) }, (name, value) => {
    if (name === "adapter") return (value as Adapter).id;
    return value instanceof Map ? [...value] : value;
  });
}

/** The catalog with this model alone, under any name; the current catalog if the model was already gone, or its provider is now. */
export function catalogThen(text: string, now: Catalog, audience: { readonly sandbox: boolean }): Catalog {
  const adapters = now.adapters(audience);
  const sold = JSON.parse(text, (name, value) => {
    if (name === "adapter") return adapters.get(value);
    return name === "rates" ? new Map(value) : value;
  }) as AnySold | null;
  if (sold === null || sold.offers.some(({ adapter }) => adapter === undefined)) return now;
  return {
    ...now,
    tiers: new Map(),
    model: () => (sold.kind === "chat" ? (sold as SoldModel) : null),
    embedding: () => (sold.kind === "embeddings" ? (sold as SoldEmbedding) : null),
    unitModel: () => ("rates" in sold.sale ? (sold as SoldUnitModel) : null),
  };
}
