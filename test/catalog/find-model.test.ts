import { describe, expect, test } from "vitest";
import { findEither, findModel, findUnitModel } from "../../src/catalog/find-model.ts";
import { GatewayError, refusalIn } from "../../src/core/errors.ts";
import { anyServer, catalogOf, LIVE, priced, tier, vendor } from "./catalog-of.ts";

const lab = vendor(
  { "big-1-20260101": { ...priced("1", "2"), slug: "lab/big-1" }, shared: priced("1", "2") },
  { maker: "lab", embeddings: { models: { embed: priced("0.02", "0") } } },
);
const forge = vendor({ shared: priced("1", "2") }, { maker: "forge" });
const router = vendor({ "lab/big-1": priced("1", "2"), "meta/open": priced("1", "2") });
const catalog = catalogOf(
  { adapters: { lab, forge, router, any: anyServer() }, tiers: { cheap: tier("lab/big-1") } },
  { env: { LAB_API_KEY: "k", FORGE_API_KEY: "k", ROUTER_API_KEY: "k" } },
);

function find(name: string) {
  try {
    return findModel(name, "model", catalog, LIVE);
  } catch (error) {
    return refusalIn(error);
  }
}
const slugOf = (name: string) => {
  const found = find(name);
  return found instanceof GatewayError ? found.code : found.slug;
};

describe("a name", () => {
  test("is a slug, its part after the maker, or what its maker calls it", () => {
    for (const name of ["lab/big-1", "big-1", "big-1-20260101"]) expect(slugOf(name)).toBe("lab/big-1");
    expect(slugOf("open")).toBe("meta/open");
    expect(slugOf("any/whatever")).toBe("any/whatever");
  });

  test("that several makers have is not guessed: its candidates are named", () => {
    const found = find("shared");
    expect(found).toMatchObject({ code: "model_not_found" });
    if (!(found instanceof GatewayError)) return;
    expect(found.message).toBe("No model or tier is called shared. Several makers have one: lab/shared, forge/shared.");
    expect(found.options).toMatchObject({ param: "model", data: { candidates: ["lab/shared", "forge/shared"] } });
  });

  test("finds the other kind of model only where either would do", () => {
    expect(slugOf("embed")).toBe("model_not_found");
    expect(findUnitModel("embeddings", "embed", { catalog, audience: LIVE, atMs: 0 })).toMatchObject({
      slug: "lab/embed",
    });
    expect(findEither("embed", catalog, LIVE, () => undefined)).toMatchObject({ slug: "lab/embed" });
    expect(findEither("big-1", catalog, LIVE, () => undefined)).toMatchObject({ slug: "lab/big-1" });
  });

  test("of any length and of anything gets an answer of few words", () => {
    for (const name of ["", "/", ":", "::free", "lab/", "__proto__", "x".repeat(100_000), "a:".repeat(1_000)]) {
      const found = find(name);
      expect(found).toMatchObject({ code: "model_not_found" });
      if (found instanceof GatewayError) expect(found.message.length).toBeLessThan(400);
    }
  });
});
