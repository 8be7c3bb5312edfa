// An answer without its essential part (the id that it issues, the content that it sells) was charged: nothing could be polled, or read.
import { describe, expect, it } from "vitest";
import { readAnswer } from "../actions/run/acme-gateway.ts";
import { forFile } from "../support/for-file.ts";
import { startTestGateway } from "../support/gateway.ts";
import { postAs } from "../support/keyed-fetch.ts";
import { startVendor, type VendorAnswer } from "../support/vendor-server.ts";

const VENDORS = ["PARALLEL", "FASTCRW", "FIRECRAWL", "BRAVE", "SCRAPINGANT", "OXYLABS", "FAL", "LINKUP", "WIKIPEDIA"];
const KEYS = [...VENDORS.map((name) => `${name}_API_KEY`), "OXYLABS_USERNAME", "OXYLABS_PASSWORD"];

const vendor = forFile(await startVendor());
const gateway = forFile(
  await startTestGateway({
    ...Object.fromEntries(KEYS.map((name) => [name, "key-of-ours"])),
    ...Object.fromEntries(VENDORS.map((name) => [`${name}_BASE_URL`, `${vendor.url}/${name.toLowerCase()}`])),
    FAL_REST_BASE_URL: `${vendor.url}/fal-rest`,
    WIKIPEDIA_EDITION_BASE_URL: `${vendor.url}/wikipedia-edition`,
  }),
);
const account = await gateway.account({ kind: "personal", creditCents: 10_000 });

async function run(action: string, params: object) {
  const response = await postAs(account.key, `${gateway.url}/api/run/${action}`, params);
  return readAnswer(response);
}

async function balanceCents(): Promise<number> {
  const headers = { authorization: `Bearer ${account.key}` };
  const response = await fetch(`${gateway.url}/api/v1/account`, { headers });
  return Number(((await response.json()) as { balance_cents: number }).balance_cents);
}

/** The call fails, and nothing is charged. */
async function isNoAnswer(action: string, params: object, answer: VendorAnswer): Promise<void> {
  const before = await balanceCents();
  vendor.answers(answer);
  const told = await run(action, params);
  expect([told.status, told.json.ok, told.json.error]).toEqual([500, false, "upstream_error"]);
  expect(await balanceCents()).toBe(before);
}

const url = "https://example.com";
const text = (body: string): VendorAnswer => ({ headers: { "content-type": "text/html" }, body });

// First, while no route rests.
it("an answer without content is followed by the next route", async () => {
  const data = { markdown: "# Example Domain", metadata: { statusCode: 200 } };
  const before = await balanceCents();
  vendor.answers({ body: {} }, { body: { success: true, data } });
  const told = await run("scraping/scrape", { url });
  expect([told.status, told.json.charged_cents]).toEqual([200, 1]);
  expect(told.json.data).toMatchObject({ provider: "fastcrw" });
  expect(vendor.asked.map((one) => one.url)).toEqual(["/firecrawl/scrape", "/fastcrw/scrape"]);
  expect(await balanceCents()).toBe(before - 1);
});

describe("a launch that comes without the id of what it has launched is no answer", () => {
  it.each<[string, object]>([
    ["parallel/task", { input: "What is the longest bridge?", processor: "ultra" }],
    ["fastcrw/crawl", { url }],
    ["fastcrw/extract", { urls: [url], prompt: "The title" }],
    ["firecrawl/crawl", { url }],
    ["firecrawl/extract", { urls: [url], prompt: "The title" }],
  ])("%s", async (action, params) => {
    await isNoAnswer(action, params, { body: {} });
    await isNoAnswer(action, params, { body: { success: true, id: "", run_id: null } });
    expect(vendor.asked).toHaveLength(1);
  });
});

describe("JSON that is neither object nor array is no answer", () => {
  it.each([[null], ["str"], [5], [true]])("%j", async (body) => {
    await isNoAnswer("brave/search", { q: "tea" }, { body: JSON.stringify(body) });
  });
});

describe("an answer without the content that it sells is no answer", () => {
  it.each<[string, object, VendorAnswer]>([
    ["firecrawl/scrape", { url }, { body: { success: true } }],
    [
      "firecrawl/scrape",
      { url },
      { body: { success: true, data: { markdown: " \n", metadata: { statusCode: 200 } } } },
    ],
    ["fastcrw/scrape", { url }, { body: { success: true, data: null } }],
    ["scraping/scrape", { url }, { body: {} }],
    ["scrapingant/residential-scrape", { url }, text("")],
    ["scrapingant/scrape", { url }, text("\n")],
    ["scrapingant/markdown", { url }, { body: { url, markdown: "" } }],
    ["scrapingant/extract", { url, extract_properties: "title" }, { body: {} }],
    ["oxylabs/scrape", { url }, { body: { results: [{ content: "", status_code: 200 }] } }],
    ["brave/search", { q: "tea" }, { body: {} }],
    ["linkup/search", { q: "tea" }, { body: { answer: "" } }],
    ["fal/upload", { file_name: "a.png", content_type: "image/png" }, { body: {} }],
    ["wikipedia/page", { title: "Tea" }, { body: { query: {} } }],
  ])("%s %j", isNoAnswer);
});

describe("an honest nothing is an answer", () => {
  it.each<[string, object, VendorAnswer]>([
    ["brave/search", { q: "tea" }, { body: { type: "search", query: { original: "tea" } } }],
    ["parallel/search", { query: "tea" }, { body: { search_id: "s", results: [] } }],
    ["firecrawl/scrape", { url, formats: ["links"] }, { body: { success: true, data: { links: [] } } }],
    [
      "linkup/search",
      { q: "tea", outputType: "structured", structuredOutputSchema: '{"type":"object"}' },
      { body: { price: null } },
    ],
  ])("%s %j", async (action, params, answer) => {
    vendor.answers(answer);
    expect(await run(action, params)).toMatchObject({ status: 200, json: { ok: true, charged_cents: 1 } });
  });
});

it("after all of it the books agree", async () => {
  expect(await gateway.doctor()).toEqual([]);
});
