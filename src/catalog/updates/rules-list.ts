// Reads a list in the format of genai-prices: vendors, their models with rules that match names, and dated prices.
import { finder, type ListedModel, listedModels, listedPrice, type PriceList, priceListOf } from "../price-check.ts";
import type { TokenPriceSpec } from "../token-price.ts";
import { BadList, countOf, type ListedFacts, type ModelList, NO_FACTS } from "./list.ts";

/** The days on which its prices start; "" for a price without a date. */
function beginningsOf({ prices }: ListedModel): readonly string[] {
  const all = Array.isArray(prices) ? prices : [];
  return [...new Set(["", ...all.map(({ constraint }) => constraint?.start_date ?? "")])].toSorted();
}

/** The current price and the announced ones, oldest first. Buckets that the list has nowhere are left out. */
function pricesOf(found: ListedModel, day: string): readonly TokenPriceSpec[] {
  const all = Array.isArray(found.prices) ? found.prices : [{ prices: found.prices }];
  const hasWrites = all.some(({ prices }) => prices.cache_write_mtok !== undefined);
  const hasReads = all.some(({ prices }) => prices.cache_read_mtok !== undefined);
  const begun = beginningsOf(found).filter((one) => one <= day);
  const days = [begun.at(-1) ?? "", ...beginningsOf(found).filter((one) => one > day)];
  return days.flatMap((since) => {
    const price = listedPrice(since === "" ? day : since, found);
    if (price === null) return [];
    const { cacheRead, cacheWrite, ...rest } = { ...price, since };
    const read = hasReads && cacheRead !== undefined ? { cacheRead } : {};
    return [{ ...rest, ...read, ...(hasWrites && cacheWrite !== undefined ? { cacheWrite } : {}) }];
  });
}

function factsOf(found: ListedModel, day: string): ListedFacts {
  return {
    ...NO_FACTS,
    prices: pricesOf(found, day),
    contextTokens: countOf(found.context_window),
    ended: found.deprecated === true,
  };
}

/** Prices are those of `day` and later. Null: the file has another format. */
export function rulesList(json: unknown, day: string): ModelList | null {
  let list: PriceList;
  try {
    list = priceListOf(json);
  } catch {
    return null;
  }
  return {
    format: "a list in the format of genai-prices",
    of({ id, pricedAs }) {
      const called = pricedAs ?? id;
      const find = finder(list, called);
      if (find === null) return null;
      const rows = listedModels.parse(list(called) ?? []);
      const ids = rows.map((row) => row.id ?? "");
      const twice = ids.find((one, at) => one !== "" && ids.indexOf(one) < at);
      if (twice !== undefined) throw new BadList(`it has ${called}/${twice.slice(0, 100)} twice`);
      return {
        names: ids.filter((one) => one !== ""),
        find(name) {
          const found = find(name);
          return found === undefined ? null : factsOf(found, day);
        },
      };
    },
  };
}
