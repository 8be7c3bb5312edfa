// From the name that a caller wrote to a model that is sold by units, or an error that says what was near or where it is asked.
import { GatewayError } from "../errors.ts";
import type { UnitKind } from "./adapter.ts";
import type { Audience, Catalog, SoldUnitModel } from "./catalog.ts";
import { nearest } from "./nearest.ts";
import { retiredModelError } from "./retirement.ts";

const NAME_CHARS_MAX = 200;

/** Where each kind of model is asked. */
export const UNIT_ENDPOINTS: Readonly<Record<UnitKind, string>> = {
  images: "a model of images: POST /api/llm/v1/images/generations",
  transcription: "a model that hears: POST /api/llm/v1/audio/transcriptions",
  speech: "a model that speaks: POST /api/llm/v1/audio/speech",
  rerank: "a model that ranks: POST /api/llm/v1/rerank",
  moderation: "a model that moderates: POST /api/llm/v1/moderations",
  completion: "a model that completes text: POST /api/llm/v1/completions",
};

/** Where a model is asked that is sold by units under this name; null: there is none. */
export function unitEndpointOf(name: string, catalog: Catalog, audience: Audience): string | null {
  const found = catalog
    .unitModels(audience)
    .find(({ kind, slug }) => slug === name || catalog.unitModel(kind, name, audience) !== null);
  return found === undefined ? null : UNIT_ENDPOINTS[found.kind];
}

/** The model of a name, or why there is none. */
export function findUnitModel(
  kind: UnitKind,
  name: string,
  catalog: Catalog,
  audience: Audience,
): SoldUnitModel | GatewayError {
  const found = catalog.unitModel(kind, name, audience);
  if (found !== null) return found;
  const retired = catalog.retired(name, kind, audience);
  if (retired !== null) return retiredModelError(retired, "model");
  const other = unitEndpointOf(name, catalog, audience);
  const isChat = catalog.model(name, audience) !== null || catalog.slugsNamed(name, "chat", audience).length > 0;
  const elsewhere = isChat ? "a chat model: POST /api/llm/v1/chat/completions" : other;
  const slugs = catalog.unitModels(audience).filter((model) => model.kind === kind && model.listed);
  const near =
    elsewhere === null
      ? nearest(
          name,
          slugs.map(({ slug }) => slug),
        )
      : [];
  const says = near.length === 0 ? "" : ` Nearest: ${near.join(", ")}.`;
  const detail = { model: name.slice(0, NAME_CHARS_MAX), more: elsewhere === null ? says : ` It is ${elsewhere}.` };
  return new GatewayError("model_not_found", { param: "model", detail, data: { nearest: near } });
}
