// The names under which models are sold: `<maker>/<model>`, or `<adapter>/<model>` for a server that serves any.
import type { EmbeddingsSpec, ModelSpec } from "./model-spec.ts";
import type { UnitModelSpec } from "./unit-price.ts";

export const SLUG = /^[a-z0-9][a-z0-9-]*\/[A-Za-z0-9][A-Za-z0-9._:/-]*$/;

/** Replaces the model in the slug of a server that serves any: means the one that `<ID>_MODEL` names. */
export const NAMED_MODEL = "*";

/** The two kinds of model priced by tokens. */
export type Kind = "chat" | "embeddings";

export interface Listing {
  readonly kind: Kind;
  readonly adapterId: string;
  readonly slug: string;
  readonly upstreamModel: string;
  /** The adapter's declaration; embedding models have no `outputTokensMax`. */
  readonly spec: ModelSpec;
}

interface OfMaker {
  readonly maker?: string | undefined;
}

/** The slug under which an adapter's model is sold. */
export function slugOf({ maker }: OfMaker, upstreamModel: string, { slug }: { readonly slug?: string }): string {
  return slug ?? (maker === undefined ? upstreamModel : `${maker}/${upstreamModel}`);
}

export function listingsOf(
  adapterId: string,
  spec: OfMaker & { readonly [K in Kind]?: Pick<EmbeddingsSpec, "models"> | undefined },
  kind: Kind,
): readonly Listing[] {
  const models: EmbeddingsSpec["models"] = spec[kind]?.models ?? {};
  return Object.entries(models).map(([upstreamModel, model]) => ({
    kind,
    adapterId,
    slug: slugOf(spec, upstreamModel, model),
    upstreamModel,
    spec: model,
  }));
}

export type UnitListing = ReturnType<typeof unitListingsOf>[number];

/** The same of an adapter's models that are priced by units. */
export function unitListingsOf(
  adapterId: string,
  spec: OfMaker & { readonly unitModels?: Readonly<Record<string, UnitModelSpec>> | undefined },
) {
  return Object.entries(spec.unitModels ?? {}).map(([upstreamModel, model]) => {
    return { kind: model.kind, adapterId, slug: slugOf(spec, upstreamModel, model), upstreamModel, spec: model };
  });
}

/** Splits `<adapter>/<model>`; the model may contain slashes. Null if a part is missing. */
export function splitSlug(slug: string): { readonly first: string; readonly rest: string } | null {
  const at = slug.indexOf("/");
  return at > 0 && at < slug.length - 1 ? { first: slug.slice(0, at), rest: slug.slice(at + 1) } : null;
}
