import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Catalog } from "../../src/catalog/catalog.ts";
import { loadCatalog } from "../../src/catalog/load.ts";
import { systemClock } from "../../src/clock.ts";
import { discoverAction } from "../../src/run/discover.ts";
import { searchIn, searchIndex } from "../../src/run/search-index.ts";
import { stem, wordsOf } from "../../src/run/search-words.ts";
import { createShop } from "../../src/run/shop.ts";
import { LIVE, PLAY } from "../catalog/stock.ts";
import { startTestGateway, type TestGateway } from "../support/gateway.ts";
import { INTENTS } from "./intents.ts";
import { inShop, smallShop } from "./small-shop.ts";

const FIRST = 3;

let catalog: Catalog;
let gateway: TestGateway;

beforeAll(async () => {
  catalog = await loadCatalog({
    env: {},
    clock: systemClock,
    sandboxOrigin: "http://sandbox.test",
    contact: null,
    overlayDir: null,
    markupPercent: 0,
    allowLoss: false,
  });
  gateway = await startTestGateway();
});

afterAll(() => gateway.stop());

describe("what agents ask for, in their own words", () => {
  // With every vendor configured, and with only those that need no key: neither may change what is right.
  test.each([
    ["play", PLAY],
    ["live", LIVE],
  ])("is among the first three for nine in ten of sixty intents (%s)", (_, audience) => {
    const shop = createShop(() => catalog, [discoverAction((...asked) => search(...asked))]);
    const search = searchIn({ shop, clock: systemClock });
    const misses = INTENTS.flatMap(({ says, right }) => {
      const first = search(audience, says, 10).slice(0, FIRST);
      return first.some(({ action }) => right.includes(action.id)) ? [] : [says];
    });
    expect(INTENTS).toHaveLength(60);
    expect(new Set(INTENTS.map(({ says }) => says)).size).toBe(60);
    expect(misses.length, misses.join("\n")).toBeLessThanOrEqual(6);
  });
});

describe("the search", () => {
  test("puts what can be had before what cannot, where both fit alike", () => {
    const one = inShop("finders/search");
    const other = { ...one, id: "others/search", service: "others", configured: false };
    for (const order of [
      [one, other],
      [other, one],
    ]) {
      const found = searchIndex(order).search("find pages on the web", 10);
      expect(found.map(({ action }) => action.configured)).toEqual([true, false]);
    }
  });

  test("finds the rows of a table by what they do, and names them", () => {
    const [first] = searchIndex(smallShop.all(LIVE)).search("what people comment on a clip", 5);
    expect(first).toMatchObject({ row: "/v1/clips/comments" });
    expect(first?.action.id).toBe("clips/fetch");
  });

  test("does not let one table's rows stand before everything else", () => {
    const rows = Object.fromEntries(
      Array.from({ length: 200 }, (_, at) => [
        `/v1/pages/find_${at}`,
        { method: "GET" as const, path: "/", summary: "Find pages", params: {} },
      ]),
    );
    const clips = inShop("clips/fetch");
    const crowded = { ...clips, sold: clips.sold === null ? null : { ...clips.sold, table: rows } };
    const found = searchIndex([crowded, inShop("finders/search")]).search("find pages", 50);
    const at = found.findIndex(({ action }) => action.id === "finders/search");
    expect(at).toBeGreaterThanOrEqual(0);
    expect(at).toBeLessThanOrEqual(3);
    expect(found).toHaveLength(50);
  });

  test("forgives a slip of the pen, accents, case and an ending", () => {
    const index = searchIndex(smallShop.all(LIVE));
    for (const query of ["PAGES", "páge", "paqes", "finding web page"]) {
      expect(index.search(query, 3)[0]?.action.id, query).toBe("finders/search");
    }
  });

  test("finds nothing for words that say nothing", () => {
    expect(searchIndex(smallShop.all(LIVE)).search("what is it that I want", 5)).toEqual([]);
  });
});

describe("words", () => {
  test.each([
    ["charities", "charity"],
    ["scraping", "scrape"],
    ["searches", "search"],
    ["citations", "cite"],
    ["crawled", "crawl"],
    ["companies", "company"],
    ["patents", "patent"],
  ])("%s and %s are one", (a, b) => {
    expect(stem(a)).toBe(stem(b));
  });

  test.each(["news", "status", "analysis", "business", "10k"])("%s keeps what makes it a word", (word) => {
    expect(stem(word).length).toBeGreaterThan(2);
  });

  test("are taken apart where names are put together", () => {
    expect(wordsOf("fetchOneVideo by_user_id, 10-K")).toEqual(["fetch", "one", "video", "by", "user", "id", "10k"]);
  });
});

describe("POST /api/run/core/discover", () => {
  async function discover(body: unknown) {
    const { key } = await gateway.account({ creditCents: 5 });
    const response = await fetch(`${gateway.url}/api/run/core/discover`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return { status: response.status, json: (await response.json()) as Record<string, unknown>, key };
  }

  test("is free and says where to call, for how much, with which params", async () => {
    const { status, json, key } = await discover({ query: "recent news about a company" });
    expect(status).toBe(200);
    expect(json).toMatchObject({ ok: true, charged_cents: 0 });
    const rows = json.data as Record<string, unknown>[];
    expect(rows.length).toBeGreaterThan(3);
    expect(rows.length).toBeLessThanOrEqual(10);
    for (const row of rows) {
      expect(row).toMatchObject({
        endpoint: `/api/run/${row.service}/${row.action}`,
        price_cents: expect.any(Number),
        required_params: expect.any(Array),
        description: expect.any(String),
      });
    }
    const history = await fetch(`${gateway.url}/api/v1/transactions`, { headers: { authorization: `Bearer ${key}` } });
    const { transactions } = (await history.json()) as { transactions: { kind: string }[] };
    expect(transactions.map(({ kind }) => kind)).toEqual(["topup"]);
  });

  test("gives as many as asked for", async () => {
    expect((await discover({ query: "search the web", limit: 2 })).json.data).toHaveLength(2);
  });

  test.each([
    [{}, "query"],
    [{ query: "" }, "query"],
    [{ query: "   " }, "query"],
    [{ query: "x".repeat(501) }, "query"],
    [{ query: 7 }, "query"],
    [{ query: "x", limit: 0 }, "limit"],
    [{ query: "x", limit: 51 }, "limit"],
    [{ query: "x", other: 1 }, "other"],
  ])("%j is refused by the name of the field", async (body, field) => {
    const { status, json } = await discover(body);
    expect(status).toBe(400);
    expect(json).toMatchObject({ ok: false, error: "bad_request", data: { field } });
  });
});
