// Resolves a model name to a model or tier: by slug, by a name that one maker uses, or with an error that suggests others.
import { GatewayError } from "../core/errors.ts";
import type { Audience, Catalog, SoldEmbedding, SoldModel, SoldUnitModel, Tier } from "./catalog.ts";
import { nearest } from "./nearest.ts";
import { retiredModelError } from "./retirement.ts";
import type { Kind } from "./slug.ts";
import { embeddingByUnits } from "./sold-units.ts";
import type { UnitKind } from "./unit-price.ts";

const TIER_PREFIX = "core/";
const NAME_CHARS_MAX = 200;
const TOKEN_KINDS: readonly Kind[] = ["chat", "embeddings"];

type AnyKind = Kind | UnitKind;

/** The endpoint of each kind of model, for callers who used the wrong one. */
const ENDPOINTS: Readonly<Record<AnyKind, string>> = {
  chat: "a chat model: POST /api/llm/v1/chat/completions",
  embeddings: "an embedding model: POST /api/llm/v1/embeddings",
  images: "a model of images: POST /api/llm/v1/images/generations",
  transcription: "a model that hears: POST /api/llm/v1/audio/transcriptions",
  speech: "a model that speaks: POST /api/llm/v1/audio/speech",
  rerank: "a model that ranks: POST /api/llm/v1/rerank",
  moderation: "a model that moderates: POST /api/llm/v1/moderations",
  completion: "a model that completes text: POST /api/llm/v1/completions",
  realtime: "a realtime model: open a WebSocket at /api/llm/v1/realtime",
};

/** A tier's name for callers, also used in keys' lists and postings. */
export function tierName({ id }: Tier): string {
  return `${TIER_PREFIX}${id}`;
}

/** By its full name or without `core/`; null if no tier has it. */
export function findTier(name: string, catalog: Catalog): Tier | null {
  return catalog.tiers.get(name.startsWith(TIER_PREFIX) ? name.slice(TIER_PREFIX.length) : name) ?? null;
}

/** The tier that serves a name that no configured model has; null if there is none. */
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

interface Search<Model> {
  readonly param: string;
  readonly kinds: readonly AnyKind[];
  readonly catalog: Catalog;
  readonly audience: Audience;
  readonly get: (slug: string) => Model | null;
}

function namesOf({ kinds, catalog, audience }: Search<unknown>): readonly string[] {
  const chat = kinds.includes("chat") ? [...catalog.tiers.values()].map(tierName) : [];
  const all = [...catalog.listed(audience), ...catalog.unitModels(audience).filter(({ listed }) => listed)];
  const sold = all.filter(({ kind }) => kinds.includes(kind));
  return [...chat, ...sold.map(({ slug }) => slug)];
}

/** Splits the suffix from `meta/llama:free`; null if there is none. A colon before the slash does not count. */
function splitSuffix(name: string): { readonly base: string; readonly suffix: string } | null {
  const colon = name.lastIndexOf(":");
  return colon <= name.indexOf("/") ? null : { base: name.slice(0, colon), suffix: name.slice(colon) };
}

/** The slugs that a name can mean: itself, or those where it is the part after the maker. */
function slugsOf(name: string, { kinds, catalog, audience, get }: Search<unknown>): readonly string[] {
  return get(name) === null ? kinds.flatMap((kind) => catalog.slugsNamed(name, kind, audience)) : [name];
}

function missing(name: string, more: string, data: Readonly<Record<string, unknown>>, { param }: Search<unknown>) {
  const detail = { model: name.slice(0, NAME_CHARS_MAX), more: more === "" ? "" : ` ${more}` };
  return new GatewayError("model_not_found", { param, detail, data });
}

/** The error for an unknown `name`; similar names are found by its base without the suffix. */
function unknown(name: string, base: string, why: string, search: Search<unknown>): GatewayError {
  const { kinds, catalog, audience } = search;
  const others = (Object.keys(ENDPOINTS) as AnyKind[]).filter((kind) => !kinds.includes(kind));
  const other = others.find((kind) => isOfKind(base, kind, catalog, audience));
  if (other !== undefined) return missing(name, `It is ${ENDPOINTS[other]}.`, { nearest: [] }, search);
  const near = nearest(base, namesOf(search));
  const says = near.length === 0 ? why : `${why} Nearest: ${near.join(", ")}.`;
  return missing(name, says.trim(), { nearest: near }, search);
}

function isOfKind(name: string, kind: AnyKind, catalog: Catalog, audience: Audience): boolean {
  if (catalog.slugsNamed(name, kind, audience).length > 0) return true;
  if (kind === "chat") return catalog.model(name, audience) !== null;
  return (kind === "embeddings" ? catalog.embedding(name, audience) : catalog.unitModel(kind, name, audience)) !== null;
}

/** The error for OpenRouter's model variants, none of which is sold. */
function suffixed(name: string, base: string, suffix: string, search: Search<unknown>): GatewayError {
  const isFree = suffix === ":free";
  const [slug, ...others] = slugsOf(base, search);
  if (slug === undefined || others.length > 0)
    return unknown(name, base, isFree ? "No model is free here." : "", search);
  const data = { nearest: [slug] };
  if (isFree) return missing(name, `No model is free here; ask for ${slug} at its price.`, data, search);
  const detail = `the suffix ${suffix} asks for something that is billed apart; ask for ${slug}`;
  return new GatewayError("unsupported_field", { param: search.param, of: "suffix", detail, data });
}

/** Null: no model has that name, or several have. */
function lookUp<Model>(name: string, search: Search<Model>): Model | null {
  const found = search.get(name);
  if (found !== null) return found;
  const [slug, ...others] = slugsOf(name, search);
  return slug === undefined || others.length > 0 ? null : search.get(slug);
}

/** The error for a model name that is not sold. */
function whyNot(name: string, search: Search<unknown>): GatewayError {
  const candidates = slugsOf(name, search);
  if (candidates.length > 0)
    return missing(name, `Several makers have one: ${candidates.join(", ")}.`, { candidates }, search);
  const retired = search.kinds.map((kind) => search.catalog.retired(name, kind, search.audience)).find(Boolean);
  if (retired != null) return retiredModelError(retired, search.param);
  const split = splitSuffix(name);
  return split === null ? unknown(name, name, "", search) : suffixed(name, split.base, split.suffix, search);
}

function find<Model>(name: string, search: Search<Model>): Model {
  const found = lookUp(name, search);
  if (found === null) throw whyNot(name, search);
  return found;
}

function chatSearch(param: string, catalog: Catalog, audience: Audience): Search<SoldModel> {
  return { param, kinds: ["chat"], catalog, audience, get: (slug) => catalog.model(slug, audience) };
}

/** The chat model of that name; null if there is none. */
export function knownModel(name: string, catalog: Catalog, audience: Audience): SoldModel | null {
  return lookUp(name, chatSearch("", catalog, audience));
}

export function findModel(name: string, param: string, catalog: Catalog, audience: Audience): SoldModel {
  return find(name, chatSearch(param, catalog, audience));
}

/** The unit-priced model of that name. Throws where there is none. Embeddings get their price at the given time, in milliseconds since 1970. */
export function findUnitModel(
  kind: UnitKind,
  name: string,
  { catalog, audience, atMs }: { readonly catalog: Catalog; readonly audience: Audience; readonly atMs: number },
): SoldUnitModel {
  function get(slug: string): SoldUnitModel | null {
    if (kind !== "embeddings") return catalog.unitModel(kind, slug, audience);
    const found = catalog.embedding(slug, audience);
    return found === null ? null : embeddingByUnits(found, atMs);
  }
  return find(name, { param: "model", kinds: [kind], catalog, audience, get });
}

export function realtimeModels(tier: Tier, catalog: Catalog, audience: Audience): readonly SoldUnitModel[] {
  return tier.models.map((slug) => catalog.unitModel("realtime", slug, audience)).filter((model) => model !== null);
}

/** The realtime models of a name, in order of preference: one model, or the candidates of a tier. Throws where there is none. */
export function findRealtime(
  name: string,
  { catalog, audience, atMs }: { readonly catalog: Catalog; readonly audience: Audience; readonly atMs: number },
): { readonly name: string; readonly models: readonly SoldUnitModel[] } {
  const tier = catalog.realtimeTiers.get(name.startsWith(TIER_PREFIX) ? name.slice(TIER_PREFIX.length) : name);
  if (tier !== undefined) return { name: tierName(tier), models: realtimeModels(tier, catalog, audience) };
  const model = findUnitModel("realtime", name, { catalog, audience, atMs });
  return { name: model.slug, models: [model] };
}

/** The chat or embedding model of that name, else what `otherwise` finds. Throws where both find nothing. */
export function findEither<Other>(
  name: string,
  catalog: Catalog,
  audience: Audience,
  otherwise: () => Other | undefined,
): SoldModel | SoldEmbedding | Other {
  const get = (slug: string) => catalog.model(slug, audience) ?? catalog.embedding(slug, audience);
  const search = { param: "slug", kinds: TOKEN_KINDS, catalog, audience, get };
  return lookUp(name, search) ?? otherwise() ?? find(name, search);
}
