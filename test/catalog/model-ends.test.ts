// A model with an end date: it leaves the lists a month before, answers announce the end while it is served, and later calls are refused
// with the successor.
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { ModelEnd, ModelSpec } from "../../src/catalog/adapter.ts";
import type { Catalog } from "../../src/catalog/catalog.ts";
import { findEither, findModel, findUnitModel } from "../../src/catalog/find-model.ts";
import { modelAnswer, modelsAnswer, pricingAnswer } from "../../src/catalog/price-answers.ts";
import { GatewayError, refusalIn } from "../../src/core/errors.ts";
import { usdPerMillionText } from "../../src/core/money.ts";
import { atOnce } from "../../src/core/slices.ts";
import { manualClock } from "../support/manual-clock.ts";
import { shippedCatalog } from "../support/shipped-catalog.ts";
import { catalogOf, LIVE, PLAY, priced, tier, vendor } from "./catalog-of.ts";

/** The day on which the shipped tiers were last reviewed; all of their models must live for a certain time after it. */
const LOOKED_AT = "2026-11-26";
const DAYS_MIN = 90;

const ending = (on: string, more: Partial<ModelSpec> = {}): ModelSpec => ({
  ...priced("1", "2"),
  retires: { on, successor: "lab/new" },
  ...more,
});

const ENV = { LAB_API_KEY: "k", ROUTER_API_KEY: "k" };

function on(day: string, env: Record<string, string> = ENV): Catalog {
  const lab = vendor(
    { "old-20250101": ending("2026-12-11", { slug: "lab/old" }), both: ending("2026-12-11"), "new": priced("3", "4") },
    { maker: "lab", embeddings: { models: { "old-embed": { ...priced("1", "0"), retires: { on: "2026-12-11" } } } } },
  );
  const router = vendor({ "lab/both": priced("5", "6") });
  const tiers = { any: tier("lab/old", "lab/new") };
  return catalogOf(
    { adapters: { lab, router }, tiers },
    { env, clock: manualClock(Date.parse(`${day}T23:59:59Z`)), allowLoss: true },
  );
}

const listedOn = (day: string) => atOnce(modelsAnswer(on(day), LIVE)).data.map(({ id }) => id);
const attempt = <Found>(find: () => Found) => {
  try {
    return find();
  } catch (error) {
    return refusalIn(error);
  }
};
const find = (name: string, day: string) => attempt(() => findModel(name, "model", on(day), LIVE));
const either = (name: string, day: string) => attempt(() => findEither(name, on(day), LIVE, () => undefined));

describe("a model with an end", () => {
  it("is listed until a month before, and served until the day itself", () => {
    expect(listedOn("2026-11-10")).toContain("lab/old");
    expect(atOnce(pricingAnswer(on("2026-11-10"), LIVE)).models.map(({ model }) => model)).toContain("lab/old");
    for (const day of ["2026-11-11", "2026-12-10"]) {
      expect(listedOn(day)).not.toContain("lab/old");
      expect(atOnce(pricingAnswer(on(day), LIVE)).models.map(({ model }) => model)).not.toContain("lab/old");
      expect(find("lab/old", day)).toMatchObject({ slug: "lab/old", retires: { on: "2026-12-11" } });
      expect(modelAnswer(on(day), "old", LIVE)).toMatchObject({ expiration_date: "2026-12-11", successor: "lab/new" });
    }
    expect(find("lab/old", "2026-12-11")).toBeInstanceOf(GatewayError);
  });

  it.each(["lab/old", "old", "old-20250101"])("is refused after it as %s, with its successor", (name) => {
    const error = find(name, "2026-12-11");
    expect(error).toMatchObject({ code: "gone", status: 410, retry: false });
    if (!(error instanceof GatewayError)) return;
    expect(error.message).toBe("lab/old was retired on 2026-12-11. Ask for lab/new instead.");
    expect(error.options).toMatchObject({ param: "model", data: { successor: "lab/new" } });
    expect(error.hint).toContain("successor");
  });

  it("has no successor where none is named, whatever kind it is", () => {
    expect(either("old-embed", "2026-12-11")).toMatchObject({
      code: "gone",
      message: "lab/old-embed was retired on 2026-12-11. It has no successor.",
    });
    expect(either("old-embed", "2026-12-10")).toMatchObject({ slug: "lab/old-embed" });
  });

  it("goes on at another vendor, at that one's price, and is not said to end while that one serves it", () => {
    const before = on("2026-12-10").model("lab/both", LIVE);
    const after = on("2026-12-11").model("lab/both", LIVE);
    expect(before).toMatchObject({ retires: null, listed: true });
    expect(before?.offers.map(({ adapter }) => adapter.id)).toEqual(["lab", "router"]);
    expect(after?.offers.map(({ adapter }) => adapter.id)).toEqual(["router"]);
    expect(after?.sale.version).toContain("router");
    expect(on("2026-12-10", { LAB_API_KEY: "k" }).model("lab/both", LIVE)).toMatchObject({ listed: false });
  });

  it("leaves its tier to the others, for sandbox accounts too", () => {
    for (const audience of [LIVE, PLAY]) {
      const served = (day: string) =>
        on(day)
          .tiers.get("any")
          ?.models.filter((slug) => on(day).model(slug, audience) !== null);
      expect(served("2026-12-10")).toEqual(["lab/old", "lab/new"]);
      expect(served("2026-12-11")).toEqual(["lab/new"]);
    }
  });

  it("is not what a mistyped name is told", () => {
    const error = find("lab/olt", "2026-11-11");
    expect(error).toMatchObject({ code: "model_not_found" });
    if (error instanceof GatewayError) expect(error.message).not.toContain("lab/old");
  });

  it("needs a successor that is sold, and for longer", () => {
    const next = (spec: ModelSpec) => () =>
      catalogOf({ adapters: { lab: vendor({ a: ending("2026-12-11"), new: spec }, { maker: "lab" }) } });
    expect(next(priced("1", "2"))).not.toThrow();
    expect(next({ ...priced("1", "2"), slug: "lab/newer" })).toThrow(
      /retires names lab\/new, which no adapter sells longer/,
    );
    expect(next({ ...priced("1", "2"), retires: { on: "2026-12-11" } })).toThrow(/no adapter sells longer/);
  });
});

describe("a model that is sold by units", () => {
  const paints = {
    kind: "images",
    dialect: "openai-images",
    prices: [{ since: "2026-01-01", imageOut: "8" }],
  } as const;
  const painters = (successor: string, own: ModelEnd = { on: "2026-12-11", successor }) =>
    vendor({}, { maker: "lab", unitModels: { old: { ...paints, retires: own }, fresh: paints } });
  const paintersOn = (day: string) =>
    catalogOf(
      { adapters: { lab: painters("lab/fresh") } },
      { env: ENV, clock: manualClock(Date.parse(`${day}T23:59:59Z`)) },
    );
  const listed = (day: string) => atOnce(modelsAnswer(paintersOn(day), LIVE)).data.map(({ id }) => id);

  it("leaves the lists a month before its end, and is served until the day itself", () => {
    expect(listed("2026-11-10")).toContain("lab/old");
    expect(listed("2026-11-11")).not.toContain("lab/old");
    expect(atOnce(pricingAnswer(paintersOn("2026-11-11"), LIVE)).unit_models.map(({ model }) => model)).toEqual([
      "lab/fresh",
    ]);
    expect(
      findUnitModel("images", "old", { catalog: paintersOn("2026-12-10"), audience: LIVE, atMs: 0 }),
    ).toMatchObject({ slug: "lab/old" });
    expect(modelAnswer(paintersOn("2026-12-10"), "old", LIVE)).toMatchObject({
      expiration_date: "2026-12-11",
      successor: "lab/fresh",
    });
  });

  it.each(["lab/old", "old"])("is refused after it as %s, with its successor", (name) => {
    const search = { catalog: paintersOn("2026-12-11"), audience: LIVE, atMs: 0 };
    expect(attempt(() => findUnitModel("images", name, search))).toMatchObject({
      code: "gone",
      message: "lab/old was retired on 2026-12-11. Ask for lab/fresh instead.",
    });
  });

  it("needs a successor of its kind that is sold, and for longer", () => {
    const made = (lab: ReturnType<typeof vendor>) => () => catalogOf({ adapters: { lab } });
    expect(made(painters("lab/fresh"))).not.toThrow();
    expect(made(painters("lab/none"))).toThrow(/unitModels.old.retires names lab\/none, which no adapter sells longer/);
    expect(made(painters("lab/old"))).toThrow(/no adapter sells longer/);
  });
});

describe("the shipped tiers", () => {
  it("hold only what lives for ninety days from the day they were looked at, and no preview", async () => {
    const clock = manualClock(Date.parse(`${LOOKED_AT}T12:00:00Z`));
    const catalog = await shippedCatalog({ clock });
    const day = new Date(Date.parse(LOOKED_AT) + DAYS_MIN * 86_400_000).toISOString().slice(0, 10);
    const short = [...catalog.tiers.values()].flatMap(({ id, models }) =>
      models
        .map((slug) => ({ slug, model: catalog.model(slug, PLAY) }))
        .filter(({ slug, model }) => {
          const ends = model?.offers.map(({ spec }) => spec.retires?.on ?? "9999") ?? [];
          const isShort = model === null || ends.some((on) => on < day) || slug.includes("preview");
          return !slug.endsWith("/*") && isShort;
        })
        .map(({ slug }) => `${id}: ${slug}`),
    );
    expect(short).toEqual([]);
  });

  // A program cannot decide which model is best at its price. A comment above the candidates records that a person did, and the price then.
  it.each(["best", "mid", "cheap"])(
    "say above %s's candidates why the first is first, at its price of that day",
    async (id) => {
      const text = readFileSync(new URL(`../../tiers/${id}.ts`, import.meta.url), "utf8");
      const [, why, first = ""] = /\n {2}\/\/ (.+)\n {2}candidates: \[\n {4}\{ model: "([^"]+)" \}/.exec(text) ?? [];
      const clock = manualClock(Date.parse(`${LOOKED_AT}T12:00:00Z`));
      const sale = (await shippedCatalog({ clock })).model(first, PLAY)?.sale;
      const [input, output] = [sale?.input, sale?.output].map((rate) => rate !== undefined && usdPerMillionText(rate));
      expect(why).toMatch(/ comes first: /);
      expect(why).toContain(`${input} and ${output} USD per million tokens`);
    },
  );
});
