import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { TokenPriceSpec } from "../../src/catalog/adapter.ts";
import type { TokenPrice, TokenRates } from "../../src/catalog/catalog.ts";
import { boundOf, compilePrice, costlierBy, costOfUsage, dearest, isDearer, priceOn } from "../../src/catalog/price.ts";
import { parseUsdPerMillion, usdPerMillionText } from "../../src/core/money.ts";
import type { TokenUsage } from "../../src/core/route.ts";

const plain: TokenPriceSpec = { since: "2026-01-01", input: "2.5", output: "15", cacheRead: "0.25" };
const long = { promptTokens: 272_000, input: "5", output: "22.5", cacheRead: "0.5" };

function usage(counts: Partial<TokenUsage>): TokenUsage {
  return { inputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens: 0, reasoningTokens: 0, ...counts };
}

/** Prices as files write them, from zero to ten thousand dollars per million. */
const decimal = fc.nat({ max: 10_000_000_000 }).map((pico) => usdPerMillionText(pico as TokenRates["input"]));
test("what a call costs beside its tokens is in the cost, in the bound, in the sale, and makes an offer dearer", () => {
  const price = compilePrice({ since: "2026-01-01", input: "1", output: "2", thousandCalls: "5" }, "x");
  const usage = { inputTokens: 10, outputTokens: 20, cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 };
  expect(costOfUsage(price, usage)).toBe(5_000_000 + 10 * 1_000 + 20 * 2_000);
  expect(costOfUsage(price, { ...usage, inputTokens: 0, outputTokens: 0 })).toBe(5_000_000);
  expect(boundOf(price, { inputTokensMax: 10, outputTokensMax: 20 })).toBe(costOfUsage(price, usage));
  expect(costOfUsage(costlierBy(price, 10), { ...usage, inputTokens: 0, outputTokens: 0 })).toBe(5_500_000);
  const cheaper = compilePrice({ since: "2026-01-01", input: "1", output: "2" }, "y");
  expect([isDearer(price, cheaper), isDearer(cheaper, price)]).toEqual([true, false]);
});

const rates = fc.record({ input: decimal, output: decimal, cacheRead: decimal, cacheWrite: decimal });
const spec: fc.Arbitrary<TokenPriceSpec> = fc
  .tuple(
    rates,
    fc.uniqueArray(fc.tuple(fc.integer({ min: 1, max: 2_000_000 }), rates), { selector: ([at]) => at, maxLength: 3 }),
  )
  .map(([base, steps]) => ({
    since: "2026-01-01",
    ...base,
    steps: steps.sort(([a], [b]) => a - b).map(([promptTokens, step]) => ({ promptTokens, ...step })),
  }));
const count = fc.oneof(fc.nat({ max: 20 }), fc.nat({ max: 400_000 }), fc.nat({ max: 50_000_000 }));
const anyUsage = fc.record({
  inputTokens: count,
  cacheReadTokens: count,
  cacheWriteTokens: count,
  outputTokens: count,
  reasoningTokens: fc.constant(0),
});

/** An independent implementation of the cost: directly from the file's decimals, in BigInt. */
function reference(price: TokenPriceSpec, used: TokenUsage): bigint {
  const prompt = used.inputTokens + used.cacheReadTokens + used.cacheWriteTokens;
  const at = [price, ...(price.steps ?? []).filter((step) => prompt > step.promptTokens)].at(-1) ?? price;
  const pico = (text: string) => {
    const [whole = "0", fraction = ""] = text.split(".");
    return BigInt(whole) * 1_000_000n + BigInt(fraction.padEnd(6, "0"));
  };
  const sum =
    BigInt(used.inputTokens) * pico(at.input) +
    BigInt(used.cacheReadTokens) * pico(at.cacheRead ?? at.input) +
    BigInt(used.cacheWriteTokens) * pico(at.cacheWrite ?? at.input) +
    BigInt(used.outputTokens) * pico(at.output);
  return sum / 1_000n + (sum % 1_000n === 0n ? 0n : 1n);
}

describe("the cost of a call", () => {
  test("charges each bucket at its own price and rounds up once", () => {
    const price = compilePrice({ ...plain, cacheWrite: "3.125" }, "m");
    const used = usage({ inputTokens: 1_000, cacheReadTokens: 10, cacheWriteTokens: 3, outputTokens: 7 });
    expect(costOfUsage(price, used)).toBe(2_500_000 + 2_500 + 9_375 + 105_000);
    expect(costOfUsage(compilePrice({ ...plain, input: "0.000001" }, "m"), usage({ inputTokens: 1 }))).toBe(1);
  });

  test("cached tokens without a price of their own cost as input", () => {
    const price = compilePrice({ since: "2026-01-01", input: "1", output: "2" }, "m");
    expect(costOfUsage(price, usage({ cacheReadTokens: 5, cacheWriteTokens: 7 }))).toBe(12_000);
  });

  test("a prompt above a step pays the step's price for the whole call, cached tokens counting toward it", () => {
    const price = compilePrice({ ...plain, steps: [long] }, "m");
    const at = usage({ inputTokens: 200_000, cacheReadTokens: 72_000, outputTokens: 10 });
    expect(costOfUsage(price, at)).toBe(200_000 * 2_500 + 72_000 * 250 + 10 * 15_000);
    const above = usage({ ...at, cacheReadTokens: 72_001 });
    expect(costOfUsage(price, above)).toBe(200_000 * 5_000 + 72_001 * 500 + 10 * 22_500);
  });

  test("equals exact arithmetic for any price and usage", () => {
    fc.assert(
      fc.property(spec, anyUsage, (price, used) => {
        const exact = reference(price, used);
        fc.pre(exact <= BigInt(Number.MAX_SAFE_INTEGER));
        expect(BigInt(costOfUsage(compilePrice(price, "m"), used))).toBe(exact);
      }),
    );
  });
});

describe("the bound of a call", () => {
  test("is never below the cost of any usage within it", () => {
    const within = fc.tuple(spec, anyUsage, fc.nat({ max: 1_000_000 }), fc.nat({ max: 1_000_000 }));
    fc.assert(
      fc.property(within, ([price, used, moreInput, moreOutput]) => {
        const prompt = used.inputTokens + used.cacheReadTokens + used.cacheWriteTokens;
        const bound = { inputTokensMax: prompt + moreInput, outputTokensMax: used.outputTokens + moreOutput };
        fc.pre(reference(price, used) <= BigInt(Number.MAX_SAFE_INTEGER) / 8n);
        fc.pre((bound.inputTokensMax + bound.outputTokensMax) * 10_000_000_000 <= Number.MAX_SAFE_INTEGER * 1_000);
        const compiled = compilePrice(price, "m");
        expect(boundOf(compiled, bound)).toBeGreaterThanOrEqual(costOfUsage(compiled, used));
      }),
    );
  });

  test("takes the dearest bucket of the prompt, and a step only where the prompt can reach it", () => {
    const price = compilePrice({ ...plain, cacheWrite: "3.125", steps: [long] }, "m");
    expect(boundOf(price, { inputTokensMax: 272_000, outputTokensMax: 1 })).toBe(272_000 * 3_125 + 15_000);
    expect(boundOf(price, { inputTokensMax: 272_001, outputTokensMax: 1 })).toBe(272_001 * 5_000 + 22_500);
  });
});

describe("the price in force", () => {
  const prices = [plain, { ...plain, since: "2026-09-01", input: "3" }];

  test("is the last that has begun", () => {
    expect(priceOn("2026-08-31", prices)?.input).toBe("2.5");
    expect(priceOn("2026-09-01", prices)?.input).toBe("3");
    expect(priceOn("2027-01-01", prices)?.input).toBe("3");
  });

  test("is none before the first", () => {
    expect(priceOn("2025-12-31", prices)).toBeNull();
  });
});

describe("sale prices", () => {
  test("a markup raises every bucket and every step, and shows in the version", () => {
    const sale = costlierBy(compilePrice({ ...plain, steps: [long] }, "maker/model"), 10);
    expect(sale.input).toBe(parseUsdPerMillion("2.75"));
    expect(sale.cacheRead).toBe(parseUsdPerMillion("0.275"));
    expect(sale.steps[0]?.output).toBe(parseUsdPerMillion("24.75"));
    expect(sale.version).toBe("maker/model@2026-01-01+10%");
  });

  test("the dearest of several prices is never below any of them, for any usage", () => {
    fc.assert(
      fc.property(fc.array(spec, { minLength: 1, maxLength: 4 }), anyUsage, (specs, used) => {
        const costs = specs.map((one) => compilePrice(one, "m"));
        const [first, ...rest] = costs;
        fc.pre(first !== undefined && specs.every((one) => reference(one, used) < 2n ** 51n));
        const sale = dearest([first as TokenPrice, ...rest], "m");
        for (const cost of costs) {
          expect(isDearer(cost, sale)).toBe(false);
          expect(costOfUsage(cost, used)).toBeLessThanOrEqual(costOfUsage(sale, used));
        }
      }),
    );
  });

  test("an offer is dearer where a single bucket or step is", () => {
    const sale = compilePrice({ ...plain, steps: [long] }, "sale");
    expect(isDearer(compilePrice({ ...plain, steps: [long] }, "same"), sale)).toBe(false);
    expect(isDearer(compilePrice({ ...plain, cacheRead: "0.26", steps: [long] }, "cache"), sale)).toBe(true);
    expect(isDearer(compilePrice({ ...plain, steps: [{ ...long, output: "23" }] }, "step"), sale)).toBe(true);
    const earlier = { ...long, promptTokens: 200_000 };
    expect(isDearer(compilePrice({ ...plain, steps: [earlier] }, "earlier"), sale)).toBe(true);
  });
});
