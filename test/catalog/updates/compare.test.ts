// Compares a model list with what is sold: which changes are applied, which need approval, and what makes the whole list not credible.
import { describe, expect, it } from "vitest";
import type { ModelSpec } from "../../../src/catalog/adapter.ts";
import type { VendorFacts } from "../../../src/catalog/updates/changes.ts";
import { newestLike, slugLike } from "../../../src/catalog/updates/families.ts";
import { proposalOf } from "../../../src/catalog/updates/proposal.ts";
import { updateOf } from "../../../src/catalog/updates/update.ts";
import { atOnce } from "../../../src/core/slices.ts";
import { priced } from "../catalog-of.ts";

const TAKEN = "2026-11-21T12:00:00Z";

function vendorOf(
  id: string,
  models: Readonly<Record<string, ModelSpec>>,
  more: Partial<VendorFacts> = {},
): VendorFacts {
  const facts = { id, pricedAs: null, alsoCalled: [], maker: undefined, configured: true, sandboxOnly: false };
  return { ...facts, chat: { models }, embeddings: undefined, unitModels: undefined, ...more };
}

const LAB = vendorOf(
  "lab",
  { "big-1.5": priced("2", "10", { cacheRead: "0.2" }), "small-2": priced("0.1", "0.4") },
  { maker: "lab" },
);

function proposed(
  list: unknown,
  more: { vendors?: readonly VendorFacts[]; vendor?: string; yes?: boolean; text?: string } = {},
) {
  return proposalOf({
    bytes: Buffer.from(more.text ?? JSON.stringify(list)),
    source: "a test",
    vendor: more.vendor ?? null,
    vendors: more.vendors ?? [LAB],
    before: null,
    markupPercent: 0,
    takenAt: TAKEN,
    yes: more.yes ?? false,
  });
}

const whose = (vendor: unknown) => (typeof vendor === "string" ? { vendor } : {});
const token = (usd: number) => usd / 1_000_000;
const flat = (input: number, output: number, more: object = {}) => ({
  litellm_provider: "lab",
  mode: "chat",
  input_cost_per_token: token(input),
  output_cost_per_token: token(output),
  ...more,
});
const told = (list: unknown, more = {}) =>
  proposed(list, more).changes.map(({ model, what, now, held }) => [model, what, now, held]);

describe("a list", () => {
  const formats: readonly (readonly [name: string, list: unknown, vendor?: string])[] = [
    [
      "genai-prices",
      [
        {
          id: "lab",
          models: [
            {
              id: "big-1.5",
              match: { equals: "big-1.5" },
              prices: { input_mtok: 3, output_mtok: 12, cache_read_mtok: 0.3 },
            },
          ],
        },
      ],
    ],
    ["LiteLLM", { "lab/big-1.5": flat(3, 12, { cache_read_input_token_cost: token(0.3) }) }],
    [
      "models.dev",
      {
        lab: {
          models: {
            "big-1.5": { cost: { input: 3, output: 12, cache_read: 0.3 }, limit: { context: 8192, output: 4000 } },
          },
        },
      },
    ],
    [
      "a vendor, by the token",
      {
        data: [
          { id: "big-1.5", pricing: { prompt: "0.000003", completion: "0.000012", input_cache_read: "0.0000003" } },
        ],
      },
      "lab",
    ],
    ["a vendor, by the million", [{ id: "big-1.5", pricing: { input: 3, output: 12, cached_input: 0.3 } }], "lab"],
  ];

  it.each(formats)("of %s says the same of a price", (_, list, vendor) => {
    const { changes, update } = proposed(list, whose(vendor));
    const [price] = changes.filter(({ what }) => what === "price");
    expect(price).toMatchObject({ vendor: "lab", model: "big-1.5", was: "2/10/0.2", now: "3/12/0.3", held: null });
    expect(update.vendors.lab?.chat?.["big-1.5"]).toMatchObject({
      seen: "2026-11-21",
      prices: [{ since: "2026-11-21", taken: "20261121T120000", input: "3", output: "12", cacheRead: "0.3" }],
    });
    expect(atOnce(updateOf(JSON.stringify(update)))).toEqual(update);
  });

  it("that agrees changes nothing, and is remembered as a look", () => {
    const { changes, compared, unknown, update } = proposed({ "big-1.5": flat(2, 10) });
    expect([changes, compared, unknown]).toEqual([[], 1, ["lab/small-2"]]);
    expect(update.vendors).toEqual({ lab: { chat: { "big-1.5": { seen: "2026-11-21" } } } });
  });

  it("announces prices of days to come", () => {
    const prices = [
      { prices: { input_mtok: 2, output_mtok: 10 } },
      { constraint: { start_date: "2026-12-01" }, prices: { input_mtok: 4, output_mtok: 20 } },
    ];
    expect(told([{ id: "lab", models: [{ match: { equals: "big-1.5" }, prices }] }])).toEqual([
      ["big-1.5", "price", "4/20/0.2 from 2026-12-01", null],
    ]);
  });

  it("moves a price by more than three times only with the operator's word, and by a hundred never", () => {
    expect(told({ "big-1.5": flat(7, 10) })).toEqual([["big-1.5", "price", "7/10/0.2", "it moves by 3.5 times"]]);
    expect(proposed({ "big-1.5": flat(7, 10) }).update.vendors.lab).toBeUndefined();
    expect(
      proposed({ "big-1.5": flat(7, 10) }, { yes: true }).update.vendors.lab?.chat?.["big-1.5"]?.prices,
    ).toHaveLength(1);
    expect(() => proposed({ "big-1.5": flat(2_000, 10_000) }, { yes: true })).toThrow("other units");
  });

  it("brings new models of known families at their list price, and no others", () => {
    const list = {
      "big-1.5": flat(2, 10),
      "big-1.6": flat(3, 12, { max_input_tokens: 16_384, max_output_tokens: 2_000 }),
      "big-1.4": flat(1, 2),
      "big-1.6-20261120": flat(3, 12),
      "other-9": flat(1, 1),
    };
    const { changes, update } = proposed(list);
    expect(changes.map(({ model, slug, what, held }) => [model, slug, what, held])).toEqual([
      ["big-1.6", "lab/big-1.6", "new", null],
    ]);
    expect(update.vendors.lab?.chat?.["big-1.6"]).toMatchObject({
      like: "big-1.5",
      contextTokens: 16_384,
      outputTokensMax: 2_000,
    });
  });

  it("lengthens and ends models, ends none later than their vendor has said, and none at once", () => {
    const ending = vendorOf("lab", { "big-1.5": { ...priced("2", "10"), retires: { on: "2026-12-31" } } });
    const list = (day: string) => ({ "big-1.5": flat(2, 10, { deprecation_date: day }) });
    expect(told(list("2026-12-01"), { vendors: [ending] })).toEqual([["big-1.5", "ends", "ends on 2026-12-01", null]]);
    expect(told(list("2027-02-01"), { vendors: [ending] })).toEqual([]);
    expect(told(list("2026-11-01"))).toEqual([
      ["big-1.5", "ends", "ends on 2026-11-01", "the list says that it has ended already"],
    ]);
    expect(told({ "big-1.5": flat(2, 10, { max_input_tokens: 100_000 }) })).toEqual([
      ["big-1.5", "length", "100000 in, ? out", null],
    ]);
  });

  it.each(["2027-02-30", "2026-11-31", 1_796_083_200_000, 1e14])("leaves out the end %s, which is no day", (end) => {
    expect(told({ "big-1.5": flat(2, 10, { deprecation_date: end }) })).toEqual([]);
    const row = { id: "big-1.5", pricing: { prompt: token(2), completion: token(10) }, expiration_date: end };
    expect(told({ data: [row] }, { vendor: "lab" })).toEqual([]);
  });

  it("makes an update that can be read again, in whatever order it states the prices of long prompts", () => {
    const over = { input: 4, output: 20, cache_read: 0.4 };
    const cost = { input: 2, output: 10, context_over_400k: over, context_over_200k: { ...over, input: 3 } };
    const { update } = proposed({ lab: { models: { "big-1.5": { cost } } } });
    expect(update.vendors.lab?.chat?.["big-1.5"]?.prices).toMatchObject([
      { steps: [{ promptTokens: 200_000 }, { promptTokens: 400_000 }] },
    ]);
    expect(atOnce(updateOf(JSON.stringify(update)))).toEqual(update);
  });

  it("is not taken where its update could not be read again", () => {
    const base = { prices: { input_mtok: 2, output_mtok: 10, cache_read_mtok: 0.2 } };
    const atNight = { constraint: { start_time: "night" }, prices: { input_mtok: 1, output_mtok: 5 } };
    const model = { id: "big-1.5", match: { equals: "big-1.5" }, prices: [base, atNight] };
    expect(() => proposed([{ id: "lab", models: [model] }])).toThrow(
      /vendors\.lab\.chat\.big-1\.5\.prices\.0\.hours\.0\.from is not a time of day as HH:MM/,
    );
  });

  it("does not make a price one that those who serve it lose by", () => {
    const reseller = vendorOf("far", { "lab/big-1.5": priced("2", "10", { cacheRead: "0.2" }) });
    const list = { "lab/big-1.5": flat(1, 5, { cache_read_input_token_cost: token(0.1) }) };
    expect(told(list, { vendors: [LAB, reseller] })).toEqual([
      ["big-1.5", "price", "1/5/0.1", "far would cost more than it is sold for"],
    ]);
    expect(told(list, { vendors: [LAB, { ...reseller, configured: false }] })[0]?.[3]).toBeNull();
  });

  it("leaves alone what it cannot know: long prompts, hours, and prices with a note", () => {
    const step = { promptTokens: 100_000, input: "4", output: "20" };
    const stepped = vendorOf("lab", { "big-1.5": priced("2", "10", { steps: [step] }) });
    expect(told({ "big-1.5": flat(2, 10) }, { vendors: [stepped] })).toEqual([]);
    expect(told({ "big-1.5": flat(1, 10) }, { vendors: [stepped] })[0]?.[3]).toBe(
      "the list does not say what long prompts cost",
    );
    const noted = vendorOf("lab", { "big-1.5": { ...priced("2", "10"), priceNote: "lists are wrong" } });
    expect(told({ "big-1.5": flat(1, 10) }, { vendors: [noted] })).toEqual([]);
  });

  it("has images and sound by their units, as tokens or hours", () => {
    const unitModels = {
      ears: {
        kind: "transcription" as const,
        dialect: "openai-audio" as const,
        prices: [{ since: "2026-01-01", hours: "0.36" }],
      },
      brush: {
        kind: "images" as const,
        dialect: "openai-images" as const,
        prices: [{ since: "2026-01-01", textIn: "5", imageOut: "40" }],
      },
    };
    const list = {
      ears: { litellm_provider: "lab", mode: "audio_transcription", input_cost_per_second: 0.0002 },
      brush: {
        litellm_provider: "lab",
        mode: "image_generation",
        input_cost_per_token: token(5),
        output_cost_per_image_token: token(30),
      },
    };
    const { changes, update } = proposed(list, { vendors: [{ ...LAB, unitModels }] });
    expect(changes.map(({ model, now }) => [model, now])).toEqual([
      ["ears", "hour 0.72"],
      ["brush", "million text in tokens 5, million image out tokens 30, million cached in tokens 5"],
    ]);
    expect(update.vendors.lab?.unitModels?.ears?.prices?.[0]).toMatchObject({ hours: "0.72", since: "2026-11-21" });
  });
});

describe("a list that is wrong", () => {
  const row =
    '{"litellm_provider":"lab","mode":"chat","input_cost_per_token":0.000002,"output_cost_per_token":0.00001}';
  const wrong: readonly (readonly [name: string, text: string, why: string, vendor?: string])[] = [
    [
      "has a price of nothing",
      JSON.stringify({ "big-1.5": flat(0, 10) }),
      "lab/big-1.5 costs nothing there, and 2 here",
    ],
    ["has a price below nothing", JSON.stringify({ "big-1.5": flat(-2, 10) }), "lab/big-1.5 has no price: -2"],
    [
      "has its prices in other units",
      '{"lab":{"models":{"big-1.5":{"cost":{"input":0.002,"output":0.01}}}}}',
      "other units",
    ],
    ["is HTML", "<!doctype html><p>Sign in", "it is a page of HTML or XML"],
    ["is half a file", `{"big-1.5":${row},"small-2":{"litellm_pro`, "it is not complete JSON"],
    ["has a model twice", `{"big-1.5":${row},"big-1.5":${row}}`, "it has big-1.5 twice"],
    ["has a row twice", '{"data":[{"id":"big-1.5"},{"id":"big-1.5"}]}', "it has big-1.5 twice", "lab"],
    [
      "has a model by another's name",
      '{"data":[{"id":"big-1.5","canonical_slug":"small-2"},{"id":"small-2"}]}',
      "it has small-2 under the name of another, big-1.5",
      "lab",
    ],
    ["is nested without an end", "[".repeat(100_000), "nested deeper"],
    ["is about others", '{"x":{"litellm_provider":"x"}}', "it knows no model that is sold here"],
    ["is something else", '{"a":1}', "in a format that is known here"],
    ["is one vendor's, and not said whose", '{"data":[{"id":"big-1.5"}]}', "say whose with --vendor"],
    ["is too long", " ".repeat(25 * 1024 * 1024), "more than 24 MiB"],
  ];

  it.each(wrong)("because it %s is refused whole, in a line", (_, text, why, vendor) => {
    expect(() => proposed(null, { text: String(text), yes: true, ...whose(vendor) })).toThrow(String(why));
  });
});

describe("families", () => {
  it("are names that differ in numbers, and grow by them", () => {
    const known = ["gpt-5.4-mini", "gpt-5.4", "llama-3.3-70b"];
    expect(newestLike("gpt-5.5-mini", known)).toBe("gpt-5.4-mini");
    expect(newestLike("gpt-5.4-mini-2026-03-05", known)).toBeNull();
    expect(newestLike("llama-3-70b", known)).toBeNull();
    expect(newestLike("llama-4-70b", known)).toBe("llama-3.3-70b");
    expect(slugLike("haiku-5-6", "haiku-5-5", "anthropic/haiku-5.5")).toBe("anthropic/haiku-5.6");
    expect(slugLike("haiku-5-6", "haiku-5-5", "anthropic/haiku")).toBeNull();
  });
});
