// Determines what a list would change here (prices, limits and ends), and why some changes need the operator's approval.

import type { EmbeddingsSpec, ModelSpec } from "../model-spec.ts";
import { compilePrice, priceOn } from "../price.ts";
import { priceWords } from "../price-check.ts";
import { hasEnded } from "../retirement.ts";
import type { ModelEnd } from "../said.ts";
import { type Kind, listingsOf, slugOf, unitListingsOf } from "../slug.ts";
import type { TokenPriceSpec } from "../token-price.ts";
import { compileUnitPrice, type UnitModelSpec, unitPriceText } from "../unit-price.ts";
import { comparedPrice, comparedUnits } from "./compare.ts";
import { familyOf, newestLike, slugLike } from "./families.ts";
import { BadList, type ListedFacts, type ListedVendor, type ModelList, type VendorList } from "./list.ts";
import type { ModelUpdate, UnitModelUpdate } from "./update.ts";

type Models = Readonly<Record<string, ModelSpec | EmbeddingsSpec["models"][string]>>;

/** A vendor as currently sold here, in a form that can be sent to another thread. */
export interface VendorFacts extends ListedVendor {
  readonly maker: string | undefined;
  readonly configured: boolean;
  readonly sandboxOnly: boolean;
  readonly chat: { readonly models: Models } | undefined;
  readonly embeddings: { readonly models: Models } | undefined;
  readonly unitModels: Readonly<Record<string, UnitModelSpec>> | undefined;
}

export type SoldKind = Kind | "unitModels";

export interface Change {
  readonly vendor: string;
  readonly kind: SoldKind;
  readonly model: string;
  readonly slug: string;
  readonly what: "new" | "price" | "length" | "images" | "ends";
  readonly was: string;
  readonly now: string;
  /** Why it needs the operator's approval; null if it does not. */
  readonly held: string | null;
  readonly told: ModelUpdate | UnitModelUpdate;
}

/** A model whose entry in the list matches what is sold here, or will match after the update. */
export interface Seen {
  readonly vendor: string;
  readonly kind: SoldKind;
  readonly model: string;
}

export interface Compared {
  readonly changes: readonly Change[];
  readonly seen: readonly Seen[];
  /** Models sold here that the list lacks although it has their vendor: `<vendor>/<model>`. */
  readonly unknown: readonly string[];
}

export interface Moment {
  /** `YYYY-MM-DD`, UTC. */
  readonly day: string;
  /** `20261126T002503`: part of the version of every price that is applied. */
  readonly stamp: string;
}

/** Lengths that differ by less than this fraction are the same length, rounded. */
const LENGTH_NEAR = 0.05;

function isNear(ours: number, theirs: number): boolean {
  return Math.abs(ours - theirs) <= ours * LENGTH_NEAR;
}

/** Some lists include the answer in the context, others do not. */
function isSameContext(ours: number, theirs: number, output: number): boolean {
  return isNear(ours, theirs) || isNear(ours + output, theirs) || (theirs > ours && theirs < ours + output);
}

interface Listed<OfKind extends SoldKind, Spec> {
  readonly vendor: VendorFacts;
  readonly kind: OfKind;
  readonly model: string;
  readonly slug: string;
  readonly spec: Spec;
  readonly facts: ListedFacts;
  readonly at: Moment;
}
type One = Listed<Kind, ModelSpec>;

/** Two prices as comparable text, with cache writes if either has a price for them. */
function texts(a: TokenPriceSpec, b: TokenPriceSpec): readonly [string, string] {
  const writes = [a, b].some((price) => price.cacheWrite !== undefined);
  return [priceWords(compilePrice(a, ""), writes), priceWords(compilePrice(b, ""), writes)];
}

function changeOf({ vendor, kind, model, slug }: Omit<Listed<SoldKind, unknown>, "spec" | "facts" | "at">) {
  return { vendor: vendor.id, kind, model, slug };
}

/** The list's current and announced prices that differ from ours. */
function priceChanges(one: One): readonly Change[] {
  const { vendor, kind, model, spec, facts, at } = one;
  const ours = priceOn(at.day, spec.prices);
  // A note explains why our price differs from the lists.
  if (ours === null || spec.priceNote !== undefined) return [];
  const where = `${vendor.id}/${model}`;
  return facts.prices.flatMap((theirs): Change[] => {
    const begun = theirs.since <= at.day;
    // A price that has already started applies here from now on: past calls keep the price that they were sold at.
    const since = begun ? at.day : theirs.since;
    const own = begun ? ours : (priceOn(since, spec.prices) ?? ours);
    const onlyInput = kind === "embeddings";
    const found = comparedPrice(where, own, theirs, { onlyInput, since });
    if (found === null) return [];
    const { price, held } = found;
    const [was, next] = texts(own, price);
    const now = begun ? next : `${next} from ${since}`;
    const told = { prices: [{ ...price, taken: at.stamp }] };
    return [{ ...changeOf(one), what: "price", was, now, held, told }];
  });
}

function lengthChanges(one: One): readonly Change[] {
  const { spec, facts } = one;
  const told: { contextTokens?: number; outputTokensMax?: number } = {};
  const { contextTokens, outputTokensMax } = facts;
  if (contextTokens !== null && !isSameContext(spec.contextTokens, contextTokens, spec.outputTokensMax ?? 0))
    told.contextTokens = contextTokens;
  // If the list has no answer limit, it repeats the context's length there.
  const isBound = outputTokensMax !== null && outputTokensMax < spec.contextTokens * (1 - LENGTH_NEAR);
  if (one.kind === "chat" && isBound && !isNear(spec.outputTokensMax ?? 0, outputTokensMax))
    told.outputTokensMax = outputTokensMax;
  if (Object.keys(told).length === 0) return [];
  const words = (context: number, output: number | undefined) => `${context} in, ${output ?? "?"} out`;
  const next = { contextTokens: spec.contextTokens, outputTokensMax: spec.outputTokensMax, ...told };
  // A shorter limit refuses callers whom the vendor might serve.
  const halved =
    next.contextTokens * 2 < spec.contextTokens || (next.outputTokensMax ?? 0) * 2 < (spec.outputTokensMax ?? 0);
  const was = words(spec.contextTokens, spec.outputTokensMax);
  const now = words(next.contextTokens, next.outputTokensMax);
  return [{ ...changeOf(one), what: "length", was, now, held: halved ? "it is less than half as long" : null, told }];
}

function imageChanges(one: One): readonly Change[] {
  const { vendor, kind, model, spec, facts } = one;
  const own = spec.parts?.imageTokensMax;
  if (kind !== "chat" || facts.takesImages === null || facts.takesImages === (own !== undefined)) return [];
  const common = { ...changeOf(one), what: "images" } as const;
  if (own !== undefined) {
    const held = "callers could no longer send images";
    return [{ ...common, was: "takes images", now: "takes none", held, told: { imageTokensMax: 0 } }];
  }
  // No list has the token count of an image: it is copied from a model of the same family, or images are left out.
  const like = Object.entries(vendor.chat?.models ?? {}).find(
    ([name, other]) => familyOf(name) === familyOf(model) && other.parts?.imageTokensMax !== undefined,
  )?.[1].parts?.imageTokensMax;
  return like === undefined
    ? []
    : [{ ...common, was: "takes no images", now: "takes images", held: null, told: { imageTokensMax: like } }];
}

/** Whether this model is the successor of another that ends, and would have to last longer. */
function isNeeded(slug: string, end: string, all: readonly VendorFacts[]): boolean {
  return all.some((vendor) =>
    [...Object.values(vendor.chat?.models ?? {}), ...Object.values(vendor.embeddings?.models ?? {})].some(
      ({ retires }) => retires?.successor === slug && retires.on >= end,
    ),
  );
}

/** A new end, or one earlier than the known one. A list cannot extend a model beyond the end its vendor announced. */
function endChanges(
  one: Listed<SoldKind, { readonly retires?: ModelEnd }>,
  all: readonly VendorFacts[],
): readonly Change[] {
  const { spec, facts, at, slug } = one;
  const on = facts.ends ?? (facts.ended ? at.day : null);
  if (on === null || (spec.retires !== undefined && spec.retires.on <= on)) return [];
  if (isNeeded(slug, on, all)) return [];
  const held = on <= at.day ? "the list says that it has ended already" : null;
  const was = spec.retires === undefined ? "has no end" : `ends on ${spec.retires.on}`;
  return [
    { ...changeOf(one), what: "ends", was, now: `ends on ${on}`, held, told: { retires: { ...spec.retires, on } } },
  ];
}

function knownOf(vendor: VendorFacts, list: VendorList, at: Moment, all: readonly VendorFacts[]): Compared {
  const changes: Change[] = [];
  const seen: Seen[] = [];
  const unknown: string[] = [];
  const found = (kind: SoldKind, model: string, spec: { readonly retires?: ModelEnd }) => {
    if (hasEnded(spec.retires, at.day)) return null;
    const facts = list.find(model);
    if (facts === null) unknown.push(`${vendor.id}/${model}`);
    else seen.push({ vendor: vendor.id, kind, model });
    return facts;
  };
  for (const kind of ["chat", "embeddings"] as const)
    for (const { upstreamModel: model, slug, spec } of listingsOf(vendor.id, vendor, kind)) {
      const facts = found(kind, model, spec);
      if (facts === null) continue;
      const one: One = { vendor, kind, model, slug, spec, facts, at };
      changes.push(...priceChanges(one), ...lengthChanges(one), ...imageChanges(one), ...endChanges(one, all));
    }
  for (const { upstreamModel: model, slug, spec } of unitListingsOf(vendor.id, vendor)) {
    const facts = found("unitModels", model, spec);
    if (facts === null) continue;
    const one = { vendor, kind: "unitModels" as const, model, slug, spec, facts, at };
    changes.push(...unitChanges(one), ...endChanges(one, all));
  }
  return { changes, seen, unknown };
}

function unitChanges(one: Listed<"unitModels", UnitModelSpec>): readonly Change[] {
  const { vendor, model, spec, facts, at } = one;
  const ours = priceOn(at.day, spec.prices);
  const found = ours === null ? null : comparedUnits(`${vendor.id}/${model}`, ours, facts.units, at.day);
  if (ours === null || found === null) return [];
  const words = (price: typeof ours) => {
    const told = Object.entries(unitPriceText(compileUnitPrice(price, "")));
    return told.map(([unit, usd]) => `${unit.replaceAll("_", " ")} ${usd}`).join(", ");
  };
  const told = { prices: [{ ...found.price, taken: at.stamp }] };
  return [{ ...changeOf(one), what: "price", was: words(ours), now: words(found.price), held: found.held, told }];
}

/** Models in the list that are not sold here, but belong to a family that is. */
function newOf(vendor: VendorFacts, list: VendorList, at: Moment): readonly Change[] {
  const changes: Change[] = [];
  for (const kind of ["chat", "embeddings"] as const) {
    const models = vendor[kind]?.models ?? {};
    const known = Object.keys(models);
    const slugs = new Set(listingsOf(vendor.id, vendor, kind).map(({ slug }) => slug));
    for (const model of list.names) {
      if (Object.hasOwn(models, model)) continue;
      const like = newestLike(model, known);
      const change = like === null ? null : newModel({ vendor, kind, model, like }, list, at);
      // Another name of a known model, or the second of two new names of one model.
      if (change === null || slugs.has(change.slug)) continue;
      slugs.add(change.slug);
      changes.push(change);
    }
  }
  return changes;
}

function newModel(
  { vendor, kind, model, like }: { vendor: VendorFacts; kind: Kind; model: string; like: string },
  list: VendorList,
  at: Moment,
): Change | null {
  const spec = vendor[kind]?.models[like];
  const facts = list.find(model);
  const [theirs] = facts?.prices ?? [];
  const ours = spec === undefined ? null : priceOn(at.day, spec.prices);
  if (spec === undefined || facts === null || theirs === undefined || ours === null) return null;
  if (facts.ended || (facts.ends !== null && facts.ends <= at.day) || Number(theirs.input) === 0) return null;
  const slug = spec.slug === undefined ? slugOf(vendor, model, {}) : slugLike(model, like, spec.slug);
  if (slug === null || hasEnded(spec.retires, at.day)) return null;
  const where = `${vendor.id}/${model}`;
  // The cache prices of the similar model do not apply to this one.
  const { cacheRead: _read, cacheWrite: _write, ...plain } = ours;
  const { price, held } = comparedPrice(where, plain, theirs, { onlyInput: kind === "embeddings", since: at.day }) ?? {
    price: { ...plain, since: at.day },
    held: null,
  };
  const images = facts.takesImages === false ? { imageTokensMax: 0 } : {};
  const told: ModelUpdate = {
    like,
    ...(spec.slug === undefined ? {} : { slug }),
    prices: [{ ...price, taken: at.stamp }],
    ...(facts.contextTokens === null ? {} : { contextTokens: facts.contextTokens }),
    ...(kind === "chat" && facts.outputTokensMax !== null ? { outputTokensMax: facts.outputTokensMax } : {}),
    ...images,
    ...(facts.ends === null ? {} : { retires: { on: facts.ends } }),
  };
  const [was, now] = texts(ours, price);
  const common = { vendor: vendor.id, kind, model, slug, what: "new" as const, was: `like ${like} at ${was}` };
  return { ...common, now, held, told };
}

/** Compares everything sold here with a list. Throws BadList if the list is not credible. */
export function compareWith(list: ModelList, vendors: readonly VendorFacts[], at: Moment): Compared {
  const all = vendors.flatMap((vendor): Compared[] => {
    const listed = vendor.sandboxOnly ? null : list.of(vendor);
    if (listed === null) return [];
    const known = knownOf(vendor, listed, at, vendors);
    return [{ ...known, changes: [...known.changes, ...newOf(vendor, listed, at)] }];
  });
  if (all.every(({ seen }) => seen.length === 0)) throw new BadList("it knows no model that is sold here");
  return {
    changes: all.flatMap(({ changes }) => changes),
    seen: all.flatMap(({ seen }) => seen),
    unknown: all.flatMap(({ unknown }) => unknown),
  };
}
