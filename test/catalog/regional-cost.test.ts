// Clouds that charge more in some regions: our cost there, whether their models still serve, and that the operator is told.
import { expect, it } from "vitest";
import { priceRows } from "../../src/catalog/price-table.ts";
import { usdPerMillionText } from "../../src/core/money.ts";
import { atOnce } from "../../src/core/slices.ts";
import { shippedCatalog } from "../support/shipped-catalog.ts";
import { LIVE } from "./catalog-of.ts";

const AZURE = {
  OPENAI_API_KEY: "k",
  AZURE_OPENAI_API_KEY: "k",
  AZURE_OPENAI_RESOURCE: "ours",
  AZURE_OPENAI_DEPLOYMENTS: "gpt-5.4=prod-54",
};

it.each([
  [undefined, 0, "2.5", ["openai", "azure-openai"], []],
  ["zone", 0, null, ["openai"], ["azure-openai"]],
  ["zone", 10, "2.75", ["openai", "azure-openai"], []],
  ["region", 10, null, ["openai"], ["azure-openai"]],
  ["region", 21, "3.025", ["openai", "azure-openai"], []],
])(
  "Azure's deployments that are %s serve at a markup of %d %% what does not cost more than it is sold for",
  async (scope, markupPercent, cost, asked, tooDear) => {
    const env = { ...AZURE, ...(scope === undefined ? {} : { AZURE_OPENAI_SCOPE: scope }) };
    const catalog = await shippedCatalog({ env, markupPercent });
    const { offers = [] } = catalog.model("openai/gpt-5.4", LIVE) ?? {};
    const atAzure = offers.find(({ adapter }) => adapter.id === "azure-openai");
    expect(atAzure === undefined ? null : usdPerMillionText(atAzure.cost.input)).toBe(cost);
    const row = atOnce(priceRows(catalog, LIVE)).find(({ model }) => model === "openai/gpt-5.4");
    expect([row?.providers, row?.tooDear]).toEqual([asked, tooDear]);
  },
);

it("a scope that is none is an error that says which there are", async () => {
  const env = { ...AZURE, AZURE_OPENAI_SCOPE: "europe" };
  await expect(shippedCatalog({ env })).rejects.toThrow("AZURE_OPENAI_SCOPE is none of global, zone, region");
});

it("a model that the cloud alone sells is sold for what it costs in its region, and one that is asked everywhere is not dearer", async () => {
  const aws = { AWS_ACCESS_KEY_ID: "k", AWS_SECRET_ACCESS_KEY: "s" };
  const saleAt = async (region: string, slug: string) => {
    const catalog = await shippedCatalog({ env: { ...aws, BEDROCK_REGION: region } });
    return usdPerMillionText(catalog.model(slug, LIVE)?.sale.input ?? (0 as never));
  };
  expect(await saleAt("us-east-1", "amazon/nova-pro-v1")).toBe("0.8");
  expect(await saleAt("eu-central-1", "amazon/nova-pro-v1")).toBe("1.1616");
  expect(await saleAt("eu-central-1", "amazon/nova-2-lite-v1")).toBe("0.3");
});
