// Reads a list in LiteLLM's format: one object keyed by model, prices in USD per token.
import { z } from "zod";
import {
  BadList,
  countOf,
  dayOf,
  isCalled,
  type ListedFacts,
  type ListedUnits,
  type ModelList,
  NO_FACTS,
  pricesOf,
  usdText,
} from "./list.ts";

const row = z.looseObject({ litellm_provider: z.string(), mode: z.string().optional() });
type Row = z.infer<typeof row>;

const MILLION = 1_000_000;
const ABOVE = /^input_cost_per_token_above_(\d+)k_tokens$/;

function stepsOf(facts: Row) {
  const rate = (name: string, size: string) => usdText(facts[`${name}_above_${size}k_tokens`], MILLION);
  return Object.keys(facts)
    .flatMap((key) => ABOVE.exec(key)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b)
    .map((thousands) => {
      const size = String(thousands);
      const input = rate("input_cost_per_token", size) ?? "";
      const cacheRead = rate("cache_read_input_token_cost", size);
      const cacheWrite = rate("cache_creation_input_token_cost", size);
      return {
        promptTokens: thousands * 1_000,
        input,
        output: rate("output_cost_per_token", size) ?? usdText(facts.output_cost_per_token, MILLION) ?? "",
        ...(cacheRead === undefined ? {} : { cacheRead }),
        ...(cacheWrite === undefined ? {} : { cacheWrite }),
      };
    });
}

/** Where the list has the prices that an adapter has by units, and for how many units. */
const UNITS: readonly (readonly [unit: keyof ListedUnits, field: string, units: number])[] = [
  ["textIn", "input_cost_per_token", MILLION],
  ["cachedIn", "cache_read_input_token_cost", MILLION],
  ["imageIn", "input_cost_per_image_token", MILLION],
  ["audioIn", "input_cost_per_audio_token", MILLION],
  ["cachedAudioIn", "cache_read_input_audio_token_cost", MILLION],
  ["textOut", "output_cost_per_token", MILLION],
  ["imageOut", "output_cost_per_image_token", MILLION],
  ["audioOut", "output_cost_per_audio_token", MILLION],
  ["characters", "input_cost_per_character", MILLION],
  ["hours", "input_cost_per_second", 3_600],
  ["searches", "input_cost_per_query", 1_000],
];

function unitsOf(facts: Row): ListedUnits {
  const units: Partial<Record<keyof ListedUnits, string>> = {};
  for (const [unit, field, per] of UNITS) {
    const usd = usdText(facts[field], per);
    // For models priced by searches or seconds, it lists tokens at zero: they have no token price.
    if (usd !== undefined && usd !== "0") units[unit] = usd;
  }
  return units;
}

function factsOf(facts: Row): ListedFacts {
  const byToken = facts.mode === undefined || ["chat", "responses", "embedding", "completion"].includes(facts.mode);
  const input = usdText(facts.input_cost_per_token, MILLION);
  const prices = pricesOf({
    input,
    output: usdText(facts.output_cost_per_token, MILLION),
    cacheRead: usdText(facts.cache_read_input_token_cost, MILLION),
    cacheWrite: usdText(facts.cache_creation_input_token_cost, MILLION),
    steps: stepsOf(facts),
  });
  return {
    ...NO_FACTS,
    prices: byToken ? prices : [],
    units: unitsOf(facts),
    contextTokens: countOf(facts.max_input_tokens),
    outputTokensMax: countOf(facts.max_output_tokens),
    takesImages: facts.supports_vision === true ? true : null,
    ends: dayOf(facts.deprecation_date),
  };
}

/** Whether a file looks like this format. */
export function isFlatList(json: unknown): boolean {
  if (typeof json !== "object" || json === null || Array.isArray(json)) return false;
  return Object.values(json)
    .slice(0, 20)
    .some((one) => row.safeParse(one).success);
}

export function flatList(json: unknown): ModelList {
  const rows = Object.entries(json as Readonly<Record<string, unknown>>).flatMap(([key, value]) => {
    const read = row.safeParse(value).data;
    return read === undefined ? [] : [{ key, facts: read }];
  });
  if (rows.length === 0) throw new BadList("it has no model");
  return {
    format: "a list in LiteLLM's format",
    of(vendor) {
      // A vendor's models are listed under their own names, or prefixed with the vendor and a slash.
      const own = rows.flatMap(({ key, facts }) => {
        const slash = key.indexOf("/");
        const before = slash < 0 ? "" : key.slice(0, slash);
        if (isCalled(vendor, before)) return [[key.slice(slash + 1), facts] as const];
        return isCalled(vendor, facts.litellm_provider) ? [[key, facts] as const] : [];
      });
      if (own.length === 0) return null;
      const byName = new Map(own);
      return {
        names: [...byName.keys()],
        find(name) {
          const found = byName.get(name);
          return found === undefined ? null : factsOf(found);
        },
      };
    },
  };
}
