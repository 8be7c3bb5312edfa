// Reads a list in LiteLLM's format: one object keyed by model, prices in USD per token.
import { z } from "zod";
import {
  countOf,
  dayOf,
  isCalled,
  type ListedFacts,
  type ListedUnits,
  listedRows,
  type ModelList,
  NO_FACTS,
  pricesOf,
  ratesIn,
  ratesOf,
  usdText,
} from "./list.ts";

const row = z.looseObject({ litellm_provider: z.string(), mode: z.string().optional() });
type Row = z.infer<typeof row>;

const MILLION = 1_000_000;
const ABOVE = /^input_cost_per_token_above_(\d+)k_tokens$/;

/** The rates above a prompt length such as `_above_200k_tokens`; "": those of all other prompts. */
function bucketsOf(facts: Row, above = "") {
  const [input, output] = [`input_cost_per_token${above}`, `output_cost_per_token${above}`];
  const cached = [`cache_read_input_token_cost${above}`, `cache_creation_input_token_cost${above}`] as const;
  return ratesIn(facts, [input, output, ...cached], MILLION);
}

function stepsOf(facts: Row) {
  const { output } = bucketsOf(facts);
  return Object.keys(facts)
    .flatMap((key) => ABOVE.exec(key)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b)
    .map((thousands) => {
      const above = bucketsOf(facts, `_above_${thousands}k_tokens`);
      return { promptTokens: thousands * 1_000, ...ratesOf({ ...above, output: above.output ?? output }) };
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
  return {
    ...NO_FACTS,
    prices: byToken ? pricesOf(bucketsOf(facts), stepsOf(facts)) : [],
    units: unitsOf(facts),
    contextTokens: countOf(facts.max_input_tokens),
    outputTokensMax: countOf(facts.max_output_tokens),
    takesImages: facts.supports_vision === true ? true : null,
    ends: dayOf(facts.deprecation_date),
  };
}

/** Null: the file has another format. */
export function flatList(json: unknown): ModelList | null {
  if (typeof json !== "object" || json === null || Array.isArray(json)) return null;
  const entries = Object.entries(json);
  if (!entries.slice(0, 20).some(([, one]) => row.safeParse(one).success)) return null;
  const rows = entries.flatMap(([key, value]) => {
    const read = row.safeParse(value).data;
    return read === undefined ? [] : [{ key, facts: read }];
  });
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
      return own.length === 0 ? null : listedRows(new Map(own), factsOf);
    },
  };
}
