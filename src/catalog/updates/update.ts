// What model lists have reported since the adapters were written: dated facts that are merged over the adapters and checked like them.
import { z } from "zod";
import { eachOf, type Steps } from "../../core/slices.ts";
import type { ModelSpec, PartBounds } from "../model-spec.ts";
import { count, day, modelEnd, type Said, slug } from "../said.ts";
import type { AdapterSpec } from "../spec.ts";
import { plainTokenPrices, type TokenPriceSpec, tokenPrices } from "../token-price.ts";
import { unitPrices } from "../unit-price.ts";

/** The facts about one model at one vendor. Facts that are left out come from the adapter. */
const modelUpdate = z.strictObject({
  /** The day on which a list last matched what is sold here. */
  seen: day.optional(),
  /** For a model that no adapter lists: the model of the same vendor whose wire it shares. */
  like: z.string().min(1).max(200).optional(),
  slug: slug.optional(),
  prices: tokenPrices.optional(),
  contextTokens: count.optional(),
  outputTokensMax: count.optional(),
  /** The maximum token count of one image; 0 if it accepts none. */
  imageTokensMax: z.int().nonnegative().optional(),
  retires: modelEnd.optional(),
});
const unitModelUpdate = z.strictObject({
  seen: day.optional(),
  prices: unitPrices.optional(),
  retires: modelEnd.optional(),
});
const name = z.string().min(1).max(200);
const vendor = z.strictObject({
  chat: z.record(name, modelUpdate).optional(),
  embeddings: z.record(name, modelUpdate.extend({ prices: plainTokenPrices.optional() })).optional(),
  unitModels: z.record(name, unitModelUpdate).optional(),
});
const moment = z.string().regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/, "is not a time as YYYY-MM-DDTHH:MM:SSZ");
const update = z.strictObject({
  format: z.literal(1),
  /** When its list was read, `YYYY-MM-DDTHH:MM:SSZ`. */
  takenAt: moment,
  /** When a list was last compared with what is sold. */
  checkedAt: moment,
  source: z.string().min(1).max(500),
  /** Each vendor is parsed separately: all at once would block the thread for as long as ten calls take. */
  vendors: z.record(z.string().regex(/^[a-z0-9]+(-[a-z0-9]+)*$/), z.unknown()),
});

export type ModelUpdate = Said<z.infer<typeof modelUpdate>>;
export type UnitModelUpdate = Said<z.infer<typeof unitModelUpdate>>;
export type VendorUpdate = Said<z.infer<typeof vendor>>;
export type ModelsUpdate = Omit<Said<z.infer<typeof update>>, "vendors"> & {
  readonly vendors: Readonly<Record<string, VendorUpdate>>;
};

/** Parses an update. Throws with a line that names the field. */
export function* updateOf(text: string): Steps<ModelsUpdate> {
  const { vendors, ...head } = wellRead(update, JSON.parse(text), []);
  const told = yield* eachOf(
    Object.entries(vendors),
    ([id, one]) => [id, wellRead(vendor, one, ["vendors", id])] as const,
  );
  // The schemas have the same fields, and JSON has no undefined fields.
  return { ...head, vendors: Object.fromEntries(told) } as ModelsUpdate;
}

function wellRead<Schema extends z.ZodType>(schema: Schema, value: unknown, place: readonly string[]): z.infer<Schema> {
  const read = schema.safeParse(value);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  throw new Error(`${[...place, ...(issue?.path ?? [])].join(".")} ${issue?.message ?? "is wrong"}`.trim());
}

type Dated = Pick<TokenPriceSpec, "since">;

/** Merges both lists by date; if the dates are equal, the update's price counts. */
export function withPrices<Price extends Dated>(own: readonly Price[], told: readonly Price[] = []): readonly Price[] {
  if (told.length === 0) return own;
  const days = new Set(told.map(({ since }) => since));
  return [...own.filter(({ since }) => !days.has(since)), ...told].sort((a, b) => (a.since < b.since ? -1 : 1));
}

type Named = Pick<ModelSpec, "retires" | "priceNote" | "slug">;
interface AnyModel {
  readonly prices: readonly Dated[];
  readonly parts?: PartBounds;
}

/** What an update says about a model, however it is priced. */
export type AnyUpdate = Omit<ModelUpdate, "prices"> & { readonly prices?: readonly Dated[] };

function amended<Spec extends AnyModel>(spec: Spec, told: AnyUpdate): Spec {
  const { imageTokensMax, contextTokens, outputTokensMax, retires } = told;
  const { imageTokensMax: own, ...otherParts } = spec.parts ?? {};
  const images = imageTokensMax ?? own ?? 0;
  const parts = images === 0 ? otherParts : { ...otherParts, imageTokensMax: images };
  const facts = Object.entries({ contextTokens, outputTokensMax, retires }).filter(([, value]) => value !== undefined);
  return {
    ...spec,
    prices: withPrices(spec.prices, told.prices),
    ...Object.fromEntries(facts),
    ...(Object.keys(parts).length === 0 && spec.parts === undefined ? {} : { parts }),
  };
}

/** Builds a new model from a similar one, at its own prices. Null if the similar one no longer exists or there is no price. */
function likened<Spec extends AnyModel>(models: Readonly<Record<string, Spec>>, told: AnyUpdate): Spec | null {
  const like = told.like === undefined || !Object.hasOwn(models, told.like) ? undefined : models[told.like];
  if (like === undefined || told.prices === undefined) return null;
  const { retires: _end, priceNote: _note, slug: _slug, ...spec } = like as AnyModel & Partial<Named>;
  const named = told.slug === undefined ? spec : { ...spec, slug: told.slug };
  return amended({ ...named, prices: [] } as unknown as Spec, told);
}

function* withModels<Spec extends AnyModel>(
  own: Readonly<Record<string, Spec>>,
  told: Readonly<Record<string, AnyUpdate>>,
): Steps<Readonly<Record<string, Spec>>> {
  const models: Record<string, Spec> = { ...own };
  for (const [name, facts] of Object.entries(told)) {
    const known = Object.hasOwn(own, name) ? own[name] : undefined;
    const spec = known === undefined ? likened(own, facts) : amended(known, facts);
    if (spec !== null) models[name] = spec;
    yield;
  }
  return models;
}

type Models = Readonly<Record<string, AnyModel>>;

/** What a vendor sells, from an adapter or from data sent to another thread. */
interface Selling {
  readonly chat?: { readonly models: Models } | undefined;
  readonly embeddings?: { readonly models: Models } | undefined;
  readonly unitModels?: Models | undefined;
}

/** A vendor with the update's facts about its models applied. */
export function* withTold<Spec extends Selling>(spec: Spec, told: VendorUpdate): Steps<Spec> {
  const { chat, embeddings, unitModels } = spec;
  const laid: Record<string, unknown> = {};
  if (chat && told.chat) laid.chat = { ...chat, models: yield* withModels(chat.models, told.chat) };
  if (embeddings && told.embeddings)
    laid.embeddings = { ...embeddings, models: yield* withModels(embeddings.models, told.embeddings) };
  if (unitModels && told.unitModels) laid.unitModels = yield* withModels(unitModels, told.unitModels);
  return { ...spec, ...laid };
}

/** The adapters with an update merged over them. Facts about vendors and models that no longer exist are ignored. */
export function* withUpdate(
  adapters: ReadonlyMap<string, AdapterSpec>,
  told: ModelsUpdate | null,
): Steps<ReadonlyMap<string, AdapterSpec>> {
  if (told === null) return adapters;
  const all = new Map(adapters);
  for (const [id, facts] of Object.entries(told.vendors)) {
    const spec = all.get(id);
    if (spec !== undefined) all.set(id, yield* withTold(spec, facts));
  }
  return all;
}
