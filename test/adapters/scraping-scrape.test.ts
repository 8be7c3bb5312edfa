// The page reader that callers use without choosing a vendor: which vendors support which params, and how pinning works.
import { describe, expect, it } from "vitest";
import { offeredCalls } from "../../src/actions/run/vendor-serving.ts";
import type { JsonObject } from "../../src/catalog/said.ts";
import { refusalIn } from "../../src/core/errors.ts";
import type { Payer } from "../../src/core/plan.ts";
import { shippedCatalog } from "../support/shipped-catalog.ts";

const BOTH = { FIRECRAWL_API_KEY: "k", CRW_API_KEY: "k" };
const payer: Payer = { id: "acct:a", sandbox: false };
const url = "https://a.example/";

async function sold(env: Record<string, string>) {
  const catalog = await shippedCatalog({ env, sandboxOrigin: null });
  const action = catalog.action("scraping/scrape", { sandbox: false });
  if (action === null) throw new Error("there is no scraping/scrape");
  return action;
}

/** The vendors that can serve the call, in order, with the params each would get; or the invalid field. */
async function servers(given: JsonObject, env: Record<string, string> = BOTH) {
  const action = await sold(env);
  const parsed = action.facts.params.safeParse(given);
  if (!parsed.success) return parsed.error.issues.map((issue) => issue.path.join("."));
  try {
    const found = offeredCalls({ sold: action, params: parsed.data, row: null, payer });
    return found.map(({ offer, params }) => ({ by: offer.adapter.id, params }));
  } catch (error) {
    const { code, options } = refusalIn(error);
    return { code, param: options.param };
  }
}

describe("scraping/scrape", () => {
  it("goes to the first that is configured, with the other behind it", async () => {
    expect(await servers({ url })).toMatchObject([{ by: "firecrawl" }, { by: "fastcrw" }]);
    expect(await servers({ url }, { CRW_API_KEY: "k" })).toMatchObject([{ by: "fastcrw" }]);
  });

  it("says what it wants in each vendor's own words", async () => {
    const given = { url, formats: ["html", "links"], only_main_content: false, wait_for: 2_000 };
    const own = { url, formats: ["html", "links"], onlyMainContent: false, waitFor: 2_000 };
    expect(await servers(given)).toEqual([
      { by: "firecrawl", params: own },
      { by: "fastcrw", params: own },
    ]);
  });

  it.each([
    [{ render_js: true }, { renderJs: true }],
    [{ render_js: false }, { renderJs: false }],
    [{ stealth: true }, { stealth: true }],
    [{ proxy_country: "DE" }, { country: "de" }],
  ])("%j goes to the one that can", async (more, own) => {
    expect(await servers({ url, ...more })).toEqual([
      { by: "fastcrw", params: { url, formats: ["markdown"], onlyMainContent: true, ...own } },
    ]);
    const pinned = await servers({ url, ...more, provider: "firecrawl" });
    expect(pinned).toEqual(Object.keys(more));
    const alone = await servers({ url, ...more }, { FIRECRAWL_API_KEY: "k" });
    expect(alone).toMatchObject({ code: "upstream_not_configured" });
  });

  it.each(["firecrawl", "fastcrw"])("pinned to %s, no other takes over", async (provider) => {
    expect(await servers({ url, provider })).toMatchObject([{ by: provider }]);
    expect(await servers({ url, provider }, {})).toMatchObject({ code: "upstream_not_configured" });
  });

  it.each([
    "https://me@x.com/a",
    "https://me:word@www.linkedin.com/in/ada",
    "https://x.com./a",
    "https:///x.com/a",
    "https://x%2Ecom/a",
  ])("knows the social network in %s, which the first sells dearly", async (address) => {
    expect(await servers({ url: address })).toMatchObject([{ by: "fastcrw" }]);
  });

  it("leaves pages that the first sells dearly to the other", async () => {
    expect(await servers({ url: "https://x.com/ada" })).toMatchObject([{ by: "fastcrw" }]);
  });

  it.each([
    [{}, "url"],
    [{ url, formats: ["rawHtml"] }, "formats.0"],
    [{ url, wait_for: 60_001 }, "wait_for"],
    [{ url, proxy_country: "deu" }, "proxy_country"],
    [{ url, provider: "oxylabs" }, "provider"],
  ])("refuses %j, naming %s", async (params, field) => {
    expect(await servers(params)).toEqual([field]);
  });

  it("costs a cent, names who served, and a page behind a wall is free", async () => {
    const { facts, servedAs, pinnedBy } = await sold(BOTH);
    expect(facts.price).toEqual({ mode: "fixed", cents: 1, freeOnMiss: true });
    expect({ servedAs, pinnedBy }).toEqual({ servedAs: "provider", pinnedBy: "provider" });
  });
});
