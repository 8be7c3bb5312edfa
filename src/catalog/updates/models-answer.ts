// Reads a vendor's `/models` answer: rows with an id, and whatever prices, limits and ends the vendor includes.
import { z } from "zod";
import {
  BadList,
  countOf,
  dayOf,
  type ListedFacts,
  listedRows,
  type ModelList,
  NO_FACTS,
  pricesOf,
  ratesIn,
} from "./list.ts";

const row = z.looseObject({ id: z.string(), canonical_slug: z.string().optional() });
const rows = z.union([z.object({ data: z.array(row) }).transform(({ data }) => data), z.array(row)]);
type Row = z.infer<typeof row>;

const MILLION = 1_000_000;
const record = z.record(z.string(), z.unknown());
const words = z.array(z.string());

function pricesIn(pricing: Readonly<Record<string, unknown>>) {
  // `prompt` is a price per token; vendors that use `input` state it per million.
  if (pricing.prompt !== undefined) {
    const names = ["prompt", "completion", "input_cache_read", "input_cache_write"] as const;
    return pricesOf(ratesIn(pricing, names, MILLION));
  }
  return pricesOf(ratesIn(pricing, ["input", "output", "cached_input", ""]));
}

function factsOf(one: Row): ListedFacts {
  const pricing = record.safeParse(one.pricing).data;
  const top = record.safeParse(one.top_provider).data ?? {};
  const architecture = record.safeParse(one.architecture).data ?? {};
  const inputs = words.safeParse(architecture.input_modalities).data;
  const context = one.context_length ?? one.context_window ?? one.max_context_length;
  const output = top.max_completion_tokens ?? one.max_completion_tokens ?? one.max_output_tokens;
  return {
    ...NO_FACTS,
    prices: pricing === undefined ? [] : pricesIn(pricing),
    contextTokens: countOf(context),
    outputTokensMax: countOf(output),
    takesImages: inputs?.includes("image") ?? null,
    ends: dayOf(one.expiration_date ?? one.deprecation),
  };
}

/** `vendorId` is the vendor that answered. Null: the file has another format. Throws if a row occurs twice or uses another row's name. */
export function modelsAnswer(json: unknown, vendorId: string | null): ModelList | null {
  const all = rows.safeParse(json).data;
  if (all === undefined) return null;
  if (vendorId === null) throw new BadList("it is a vendor's own list; say whose with --vendor");
  if (all.length === 0) throw new BadList("it has no model");
  const byName = new Map<string, Row>();
  for (const one of all) {
    if (byName.has(one.id)) throw new BadList(`it has ${one.id.slice(0, 100)} twice`);
    byName.set(one.id, one);
  }
  const renamed = all.find(({ id, canonical_slug: slug }) => slug !== undefined && slug !== id && byName.has(slug));
  if (renamed !== undefined) {
    throw new BadList(
      `it has ${renamed.canonical_slug?.slice(0, 100)} under the name of another, ${renamed.id.slice(0, 100)}`,
    );
  }
  return { format: `${vendorId}'s own list`, of: ({ id }) => (id === vendorId ? listedRows(byName, factsOf) : null) };
}
