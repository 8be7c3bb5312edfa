// Explains why a model cannot take images, audio or files: which kinds it does not accept, and which models do.
import type { Catalog, SoldModel } from "../../catalog/catalog.ts";
import { tierName } from "../../catalog/find-model.ts";
import { CONTENT_KINDS } from "../../catalog/model-facts.ts";
import type { ModelRequest } from "../formats/model-request.ts";

const TAKERS_NAMED = 5;

/** Where to look for other models for this caller. */
export interface Others {
  readonly catalog: Catalog;
  readonly sandbox: boolean;
}

export function notTaken(
  { slug, parts }: SoldModel,
  { shape, promptField }: Pick<ModelRequest, "shape" | "promptField">,
  { catalog, sandbox }: Others,
): string {
  // A file's content is not always known; it may be of any kind.
  const sent = CONTENT_KINDS.filter(([kind]) => shape.parts[kind] > 0 || (kind === "file" && shape.parts.anything > 0));
  const lacking = sent.filter(([, bound]) => parts[bound] === undefined).map(([kind]) => kind);
  const takes = (one: SoldModel | null) =>
    one !== null && one.offers.length > 0 && sent.every(([, bound]) => one.parts[bound] !== undefined);
  const tiers = [...catalog.tiers.values()].filter(({ models }) =>
    models.some((name) => takes(catalog.model(name, { sandbox }))),
  );
  const models = catalog.models({ sandbox }).filter((one) => one.listed && takes(one));
  const takers = [...tiers.map(tierName), ...models.map((one) => one.slug)];
  const who = takers.length === 0 ? "nobody who is configured here does" : takers.slice(0, TAKERS_NAMED).join(", ");
  return `${slug} does not take content of kind ${lacking.join(" and ")} in ${promptField}. Who takes it: ${who}`;
}
