// Calls to fal: launched, polled and fetched within one call, at a price for each model.
import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { openActionCatalog } from "../../src/actions/run/action-catalog.ts";
import { tableOf } from "../../src/actions/run/params-schema.ts";
import type { EndpointTable } from "../../src/catalog/endpoint-table.ts";
import { wire } from "../support/adapter-wire.ts";
import { shippedCatalog } from "../support/shipped-catalog.ts";

const fal = await wire("fal");
const table = JSON.parse(await readFile("adapters/fal.json", "utf8")) as EndpointTable;

describe("generate", () => {
  it("keeps the address of the result while it waits", () => {
    expect(fal.actions.generate?.steps?.[0]).toMatchObject({ merge: true, until: { at: "/status", is: "COMPLETED" } });
  });
});

describe("what models cost", () => {
  it("is within the price of the action, and above what the vendor takes, for every model", () => {
    const most = fal.actions.generate?.price.cents ?? 0;
    for (const [model, { cents = 0, upstreamCents = Number.NaN, per, ended }] of Object.entries(table)) {
      if (ended !== undefined) continue;
      expect(cents * (per?.max ?? 1), model).toBeLessThanOrEqual(most);
      expect(cents, model).toBeGreaterThan(upstreamCents);
    }
  });

  it("has no model that its vendor has ended, and names what to ask for instead", async () => {
    const gone = Object.values(table).flatMap(({ ended }) => ended ?? []);
    expect(gone).toContainEqual({ on: "2026-09-24", successor: "veo-3.1-fast" });
    const catalog = await shippedCatalog();
    const sold = openActionCatalog(() => catalog, []).find("fal/generate", { sandbox: false });
    const rows = Object.keys((sold && tableOf(sold)?.rows) ?? {});
    expect(rows).toContain("kling-v4");
    expect(rows.filter((model) => model.startsWith("sora"))).toEqual([]);
  });

  it("counts by params that the model has", () => {
    const lost = Object.entries(table).filter(([, { per, params }]) => per && params[per.param] === undefined);
    expect(lost.map(([model]) => model)).toEqual([]);
  });
});

it("an image edit of Grok Imagine is asked with the list that it reads, and with no other name (M5)", () => {
  const params = table["grok-imagine-image-edit"]?.params ?? {};
  expect(Object.keys(params)).toContain("image_urls");
  expect(Object.keys(params)).not.toContain("image_url");
});
