// Reads a list in the format of models.dev: vendors by id, each with its models, prices in USD per million tokens.
import { z } from "zod";
import {
  BadList,
  countOf,
  dayOf,
  isCalled,
  type ListedFacts,
  type ModelList,
  NO_FACTS,
  pricesOf,
  usdText,
} from "./list.ts";

const cost = z.looseObject({ input: z.unknown(), output: z.unknown() });
const model = z.looseObject({
  cost: cost.optional(),
  limit: z.looseObject({ context: z.unknown(), output: z.unknown() }).optional(),
  modalities: z.looseObject({ input: z.array(z.string()) }).optional(),
  status: z.string().optional(),
});
const vendors = z.record(z.string(), z.looseObject({ models: z.record(z.string(), model) }));

function ratesOf(one: z.infer<typeof cost>) {
  return {
    input: usdText(one.input),
    output: usdText(one.output),
    cacheRead: usdText(one.cache_read),
    cacheWrite: usdText(one.cache_write),
  };
}

const OVER = /^context_over_(\d+)k$/;

function stepsOf(one: z.infer<typeof cost>) {
  return Object.entries(one).flatMap(([key, value]) => {
    const thousands = OVER.exec(key)?.[1];
    const rates = cost.safeParse(value).data;
    if (thousands === undefined || rates === undefined) return [];
    const { input = "", output = "", cacheRead, cacheWrite } = ratesOf(rates);
    const step = { promptTokens: Number(thousands) * 1_000, input, output };
    return [
      {
        ...step,
        ...(cacheRead === undefined ? {} : { cacheRead }),
        ...(cacheWrite === undefined ? {} : { cacheWrite }),
      },
    ];
  });
}

function factsOf(one: z.infer<typeof model>): ListedFacts {
  return {
    ...NO_FACTS,
    prices: one.cost === undefined ? [] : pricesOf({ ...ratesOf(one.cost), steps: stepsOf(one.cost) }),
    contextTokens: countOf(one.limit?.context),
    outputTokensMax: countOf(one.limit?.output),
    takesImages: one.modalities?.input.includes("image") ?? null,
    ends: dayOf(one.deprecation_date),
    ended: one.status === "deprecated",
  };
}

/** Whether a file looks like this format. */
export function isCatalogList(json: unknown): boolean {
  return vendors.safeParse(json).success;
}

export function catalogList(json: unknown): ModelList {
  const all = Object.entries(vendors.parse(json));
  if (all.every(([, { models }]) => Object.keys(models).length === 0)) throw new BadList("it has no model");
  return {
    format: "a list in the format of models.dev",
    of(vendor) {
      const models = all.find(([id]) => id === vendor.id || isCalled(vendor, id))?.[1].models;
      if (models === undefined) return null;
      return {
        names: Object.keys(models),
        find(name) {
          const found = Object.hasOwn(models, name) ? models[name] : undefined;
          return found === undefined ? null : factsOf(found);
        },
      };
    },
  };
}
