// Reads a list in the format of models.dev: vendors by id, each with its models, prices in USD per million tokens.
import { z } from "zod";
import {
  BadList,
  countOf,
  dayOf,
  isCalled,
  type ListedFacts,
  listedRows,
  type ModelList,
  NO_FACTS,
  pricesOf,
  ratesIn,
  ratesOf,
} from "./list.ts";

const cost = z.looseObject({ input: z.unknown(), output: z.unknown() });
const model = z.looseObject({
  cost: cost.optional(),
  limit: z.looseObject({ context: z.unknown(), output: z.unknown() }).optional(),
  modalities: z.looseObject({ input: z.array(z.string()) }).optional(),
  status: z.string().optional(),
});
const vendors = z.record(z.string(), z.looseObject({ models: z.record(z.string(), model) }));

const RATES = ["input", "output", "cache_read", "cache_write"] as const;

const OVER = /^context_over_(\d+)k$/;

function stepsOf(one: z.infer<typeof cost>) {
  const steps = Object.entries(one).flatMap(([key, value]) => {
    const thousands = OVER.exec(key)?.[1];
    const rates = cost.safeParse(value).data;
    if (thousands === undefined || rates === undefined) return [];
    return [{ promptTokens: Number(thousands) * 1_000, ...ratesOf(ratesIn(rates, RATES)) }];
  });
  return steps.sort((a, b) => a.promptTokens - b.promptTokens);
}

function factsOf(one: z.infer<typeof model>): ListedFacts {
  return {
    ...NO_FACTS,
    prices: one.cost === undefined ? [] : pricesOf(ratesIn(one.cost, RATES), stepsOf(one.cost)),
    contextTokens: countOf(one.limit?.context),
    outputTokensMax: countOf(one.limit?.output),
    takesImages: one.modalities?.input.includes("image") ?? null,
    ends: dayOf(one.deprecation_date),
    ended: one.status === "deprecated",
  };
}

/** Null: the file has another format. */
export function catalogList(json: unknown): ModelList | null {
  const read = vendors.safeParse(json);
  if (!read.success) return null;
  const all = Object.entries(read.data);
  if (all.every(([, { models }]) => Object.keys(models).length === 0)) throw new BadList("it has no model");
  return {
    format: "a list in the format of models.dev",
    of(vendor) {
      const models = all.find(([id]) => id === vendor.id || isCalled(vendor, id))?.[1].models;
      return models === undefined ? null : listedRows(new Map(Object.entries(models)), factsOf);
    },
  };
}
