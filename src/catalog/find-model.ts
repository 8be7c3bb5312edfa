// From the name that a caller wrote to a model or a tier: by slug, by a name that only one maker has, or an error that says what was near.
import { GatewayError } from "../core/errors.ts";
import type { Audience, Catalog, SoldEmbedding, SoldModel, SoldUnitModel, Tier } from "./catalog.ts";
import { nearest } from "./nearest.ts";
import { retiredModelError } from "./retirement.ts";
import type { Kind } from "./slug.ts";
import { embeddingByUnits } from "./sold-units.ts";
import type { UnitKind } from "./unit-model.ts";

const TIER_PREFIX = "core/";
const NAME_CHARS_MAX = 200;
const TOKEN_KINDS: readonly Kind[] = ["chat", "embeddings"];

type AnyKind = Kind | UnitKind;

/** How each kind of model is asked, for those who took the wrong path. */
const ENDPOINTS: Readonly<Record<AnyKind, string>> = {
  chat: "a chat model: POST /api/llm/v1/chat/completions",
  embeddings: "an embedding model: POST /api/llm/v1/embeddings",
  images: "a model of images: POST /api/llm/v1/images/generations",
  transcription: "a model that hears: POST /api/llm/v1/audio/transcriptions",
  speech: "a model that speaks: POST /api/llm/v1/audio/speech",
  rerank: "a model that ranks: POST /api/llm/v1/rerank",
  moderation: "a model that moderates: POST /api/llm/v1/moderations",
  completion: "a model that completes text: POST /api/llm/v1/completions",
};

/** A tier as callers name it, which also stands in keys' lists and in postings. */
export function tierName({ id }: Tier): string {
  return `${TIER_PREFIX}${id}`;
}

/** By its full name or without `core/`; null: there is no such tier. */
export function findTier(name: string, catalog: Catalog): Tier | null {
  return catalog.tiers.get(name.startsWith(TIER_PREFIX) ? name.slice(TIER_PREFIX.length) : name) ?? null;
}

/** The tier that stands in for a name that no configured model has; null: none does. */
export function findStandIn(name: string, catalog: Catalog): Tier | null {
  let found: Tier | null = null;
  let longest = 0;
  for (const tier of catalog.tiers.values()) {
    for (const beginning of tier.standsInFor) {
      if (beginning.length <= longest || !name.startsWith(beginning)) continue;
      found = tier;
      longest = beginning.length;
    }
  }
  return found;
}

/** What is looked for, and where. */
interface Search<Model> {
  readonly param: string;
  readonly kinds: readonly AnyKind[];
  readonly catalog: Catalog;
  readonly audience: Audience;
  readonly get: (slug: string) => Model | null;
}

/** The names that could have been meant. */
function namesOf({ kinds, catalog, audience }: Search<unknown>): readonly string[] {
  const chat = kinds.includes("chat") ? [...catalog.tiers.values()].map(tierName) : [];
  const all = [...catalog.listed(audience), ...catalog.unitModels(audience).filter(({ listed }) => listed)];
  const sold = all.filter(({ kind }) => kinds.includes(kind));
  return [...chat, ...sold.map(({ slug }) => slug)];
}

/** `meta/llama:free` without its suffix; null where it has none. A colon before the slash begins none. */
function splitSuffix(name: string): { readonly base: string; readonly suffix: string } | null {
  const colon = name.lastIndexOf(":");
  return colon <= name.indexOf("/") ? null : { base: name.slice(0, colon), suffix: name.slice(colon) };
}

/** The slugs that a name can mean: itself, or those of which it is the part after the maker. */
function slugsOf(name: string, { kinds, catalog, audience, get }: Search<unknown>): readonly string[] {
  return get(name) === null ? kinds.flatMap((kind) => catalog.slugsNamed(name, kind, audience)) : [name];
}

function missing(name: string, more: string, data: Readonly<Record<string, unknown>>, { param }: Search<unknown>) {
  const detail = { model: name.slice(0, NAME_CHARS_MAX), more: more === "" ? "" : ` ${more}` };
  return new GatewayError("model_not_found", { param, detail, data });
}

/** `name` is not known; what stands beside its suffix decides what is near. */
function unknown(name: string, base: string, why: string, search: Search<unknown>): GatewayError {
  const { kinds, catalog, audience } = search;
  const others = (Object.keys(ENDPOINTS) as AnyKind[]).filter((kind) => !kinds.includes(kind));
  const other = others.find((kind) => isOfKind(base, kind, catalog, audience));
  if (other !== undefined) return missing(name, `It is ${ENDPOINTS[other]}.`, { nearest: [] }, search);
  const near = nearest(base, namesOf(search));
  const says = near.length === 0 ? why : `${why} Nearest: ${near.join(", ")}.`;
  return missing(name, says.trim(), { nearest: near }, search);
}

function soldAs(kind: AnyKind, slug: string, catalog: Catalog, audience: Audience) {
  if (kind === "chat") return catalog.model(slug, audience);
  return kind === "embeddings" ? catalog.embedding(slug, audience) : catalog.unitModel(kind, slug, audience);
}

function isOfKind(name: string, kind: AnyKind, catalog: Catalog, audience: Audience): boolean {
  return soldAs(kind, name, catalog, audience) !== null || catalog.slugsNamed(name, kind, audience).length > 0;
}

/** OpenRouter's variants of a model: none of them is sold. */
function suffixed(name: string, base: string, suffix: string, search: Search<unknown>): GatewayError {
  const isFree = suffix === ":free";
  const [slug, ...others] = slugsOf(base, search);
  if (slug === undefined || others.length > 0)
    return unknown(name, base, isFree ? "No model is free here." : "", search);
  const data = { nearest: [slug] };
  if (isFree) return missing(name, `No model is free here; ask for ${slug} at its price.`, data, search);
  const detail = { detail: `the suffix ${suffix} asks for something that is billed apart; ask for ${slug}` };
  return new GatewayError("unsupported_field", { param: search.param, of: "suffix", detail, data });
}

function find<Model>(name: string, search: Search<Model>): Model | GatewayError {
  const found = search.get(name);
  if (found !== null) return found;
  const [slug, ...others] = slugsOf(name, search);
  const named = slug === undefined || others.length > 0 ? null : search.get(slug);
  if (named !== null) return named;
  const candidates = slug === undefined ? [] : [slug, ...others];
  if (candidates.length > 0) {
    return missing(name, `Several makers have one: ${candidates.join(", ")}.`, { candidates }, search);
  }
  const retired = search.kinds.map((kind) => search.catalog.retired(name, kind, search.audience)).find(Boolean);
  if (retired != null) return retiredModelError(retired, search.param);
  const split = splitSuffix(name);
  return split === null ? unknown(name, name, "", search) : suffixed(name, split.base, split.suffix, search);
}

/** The chat model of a name, or why there is none. */
export function findModel(name: string, param: string, catalog: Catalog, audience: Audience): SoldModel | GatewayError {
  return find(name, { param, kinds: ["chat"], catalog, audience, get: (slug) => catalog.model(slug, audience) });
}

/** The model of a name that is sold by units, or why there is none. Embeddings are at the price of the moment, in milliseconds since 1970. */
export function findUnitModel(
  kind: UnitKind,
  name: string,
  { catalog, audience, atMs }: { readonly catalog: Catalog; readonly audience: Audience; readonly atMs: number },
): SoldUnitModel | GatewayError {
  function get(slug: string): SoldUnitModel | null {
    if (kind !== "embeddings") return catalog.unitModel(kind, slug, audience);
    const found = catalog.embedding(slug, audience);
    return found === null ? null : embeddingByUnits(found, atMs);
  }
  return find(name, { param: "model", kinds: [kind], catalog, audience, get });
}

/** The chat or embedding model of a name, or why there is none. */
export function findEither(
  name: string,
  param: string,
  catalog: Catalog,
  audience: Audience,
): SoldModel | SoldEmbedding | GatewayError {
  const get = (slug: string) => catalog.model(slug, audience) ?? catalog.embedding(slug, audience);
  return find(name, { param, kinds: TOKEN_KINDS, catalog, audience, get });
}
