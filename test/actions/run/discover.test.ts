import { describe, expect, test } from "vitest";
import { SearchIndex } from "../../../src/actions/run/search-index.ts";
import { stem, wordsOf } from "../../../src/actions/run/search-words.ts";
import { atOnce } from "../../../src/core/slices.ts";
import { LIVE } from "../../catalog/catalog-of.ts";
import { forFile } from "../../support/for-file.ts";
import { startTestGateway } from "../../support/gateway.ts";
import { postAs } from "../../support/keyed-fetch.ts";
import { AFTERWARDS, AS_OTHERS_PUT_IT, AS_PEOPLE_PUT_IT, INTENTS, type Intent, QUESTIONS, UNSEEN } from "./intents.ts";
import { inSmallCatalog, smallCatalog } from "./small-catalog.ts";

const FIRST = 3;

const gateway = forFile(await startTestGateway());

async function discover(body: unknown, key: string) {
  const response = await postAs(key, `${gateway.url}/api/run/core/discover`, body);
  return { status: response.status, json: (await response.json()) as Record<string, unknown> };
}

/** The intents without a right answer among the first three results, each with the results. */
async function missed(intents: readonly Intent[], key: string): Promise<string[]> {
  const misses: string[] = [];
  for (const { says, right } of intents) {
    const { json } = await discover({ query: says, limit: FIRST }, key);
    const found = (json.data as { service: string; action: string }[]).map((row) => `${row.service}/${row.action}`);
    if (!found.some((id) => right.includes(id))) misses.push(`${says}: ${found.join(", ")}`);
  }
  return misses;
}

describe("what agents ask for, in their own words", () => {
  // A sandbox account sees every vendor as configured, a live one only those without a key: neither changes the right answers.
  test.each(["sandbox", "personal"] as const)(
    "is among the first three for nine in ten of a hundred and fifty intents (%s account)",
    async (kind) => {
      const { key } = await gateway.account({ kind });
      expect(INTENTS).toHaveLength(150);
      expect(new Set(INTENTS.map(({ says }) => says)).size).toBe(150);
      const misses = await missed(INTENTS, key);
      expect(misses.length, misses.join("\n")).toBeLessThanOrEqual(15);
    },
  );
});

describe("what people ask who know of no actions", () => {
  test.each(["sandbox", "personal"] as const)("has an answer among the first three (%s account)", async (kind) => {
    const { key } = await gateway.account({ kind });
    const misses = await missed(QUESTIONS, key);
    expect(misses.length, misses.join("\n")).toBeLessThanOrEqual(1);
  });

  test.each(["sandbox", "personal"] as const)(
    "is answered for 57 of sixty intents, twice (%s account)",
    async (kind) => {
      const { key } = await gateway.account({ kind });
      for (const intents of [AS_PEOPLE_PUT_IT, AS_OTHERS_PUT_IT]) {
        expect(new Set(intents.map(({ says }) => says)).size).toBe(60);
        const misses = await missed(intents, key);
        expect(misses.length, misses.join("\n")).toBeLessThanOrEqual(3);
      }
    },
  );

  test("is answered for nearly nine in ten of those that no word was chosen for", async () => {
    const { key } = await gateway.account({ kind: "sandbox" });
    const intents = [...UNSEEN, ...AFTERWARDS];
    expect(new Set(intents.map(({ says }) => says)).size).toBe(120);
    const misses = await missed(intents, key);
    expect(misses.length, misses.join("\n")).toBeLessThanOrEqual(13);
  });

  test("names models and the endpoint that takes them, of those that the key may ask for", async () => {
    const account = await gateway.account();
    const { json } = await discover({ query: "transcribe an audio file", limit: 2 }, account.key);
    expect((json.data as unknown[])[0]).toMatchObject({
      endpoint: "/api/llm/v1/audio/transcriptions",
      price_cents: null,
      required_params: ["model", "file"],
      models: expect.arrayContaining(["openai/whisper-1"]),
    });
    const named = await discover({ query: "gpt-5.4-mini", limit: 1 }, account.key);
    expect(named.json.data).toMatchObject([
      { endpoint: "/api/llm/v1/chat/completions", params: { model: "openai/gpt-5.4-mini" } },
    ]);
  });
});

describe("a key with lists", () => {
  const agent = async (lists: object) => {
    const { key } = await gateway.account();
    const response = await postAs(key, `${gateway.url}/api/v1/agents`, { label: "agent", ...lists });
    return String(((await response.json()) as { api_key: string }).api_key);
  };
  const get = async (path: string, key: string) => {
    const response = await fetch(`${gateway.url}${path}`, { headers: { authorization: `Bearer ${key}` } });
    return (await response.json()) as Record<string, unknown>;
  };

  test("may always ask what it may call, and is shown that alone", async () => {
    const key = await agent({ services: ["brave"], models: [] });
    const { status, json } = await discover({ query: "search recent news", limit: 10 }, key);
    expect(status).toBe(200);
    const rows = json.data as { service: string }[];
    expect(new Set(rows.map(({ service }) => service))).toEqual(new Set(["brave", "core"]));
    expect(rows.filter(({ service }) => service === "core")).toEqual([expect.objectContaining({ action: "discover" })]);
    const models = await discover({ query: "transcribe an audio file" }, key);
    expect((models.json.data as { service: string }[]).map(({ service }) => service)).not.toContain("llm");
  });

  test("reads everywhere what it may not call", async () => {
    const key = await agent({ services: ["brave/news"], models: ["core/cheap"] });
    const models = (await get("/api/llm/v1/models", key)).data as { id: string; available: boolean }[];
    expect(models.filter(({ available }) => available).map(({ id }) => id)).toEqual(["core/cheap"]);
    expect(await get("/api/llm/v1/models/core/best", key)).toMatchObject({ available: false });
    const index = (await get("/api/run", key)).data as { endpoint: string; status: string }[];
    expect(index.filter(({ status }) => status === "available").map(({ endpoint }) => endpoint)).toEqual([
      "/api/run/brave/news",
      "/api/run/core/discover",
    ]);
    expect((await get("/api/run/brave/search", key)).data).toMatchObject({ status: "not_allowed" });
    expect((await get("/api/run/brave/news", key)).data).toMatchObject({ status: "available" });
    const catalog = await get("/api/catalog", key);
    const services = catalog.services as { service: string; available: boolean }[];
    expect(services.filter(({ available }) => available).map(({ service }) => service)).toEqual(["brave", "core"]);
    const priced = (await get("/api/llm/v1/pricing", key)).models as { available: boolean }[];
    expect(priced.filter(({ available }) => available)).toEqual([]);
  });
});

describe("the search", () => {
  test("puts what can be had before what cannot, where both fit alike", () => {
    const one = inSmallCatalog("finders/search");
    const other = { ...one, id: "others/search", service: "others", configured: false };
    for (const order of [
      [one, other],
      [other, one],
    ]) {
      const found = atOnce(SearchIndex.of(order)).search("find pages on the web", 10);
      expect(found.map(({ action }) => action.configured)).toEqual([true, false]);
    }
  });

  test("is made ready in steps, one at least for each action and row, twice", () => {
    const actions = smallCatalog.all(LIVE);
    const rows = actions.flatMap(({ table }) => Object.keys(table?.rows ?? {}));
    expect(rows.length).toBeGreaterThan(0);
    expect([...SearchIndex.of(actions)].length).toBeGreaterThanOrEqual(2 * (actions.length + rows.length));
  });

  test("finds the rows of a table by what they do, and names them", () => {
    const [first] = atOnce(SearchIndex.of(smallCatalog.all(LIVE))).search("what people comment on a clip", 5);
    expect(first).toMatchObject({ row: "/v1/clips/comments" });
    expect(first?.action.id).toBe("clips/fetch");
  });

  test("does not let one table's rows stand before everything else", () => {
    const rows = Object.fromEntries(
      Array.from({ length: 200 }, (_, at) => {
        const summary = at < 20 ? "Find pages with clips" : "Watch a stream";
        return [
          `/v1/${at < 20 ? "pages/clips" : "streams"}/${at}`,
          { method: "GET" as const, path: "/", summary, params: {} },
        ];
      }),
    );
    const clips = inSmallCatalog("clips/fetch");
    const crowded = { ...clips, table: { rows, by: { param: "endpoint" } } };
    const found = atOnce(
      SearchIndex.of([crowded, inSmallCatalog("finders/profiles"), inSmallCatalog("finders/search")]),
    ).search("find pages with clips", 50);
    expect(found.filter(({ row }) => row !== null)).toHaveLength(20);
    const at = found.findIndex(({ action }) => action.id === "finders/profiles");
    // After the better match, and after the first few rows.
    expect(at).toBeGreaterThanOrEqual(0);
    expect(at).toBeLessThanOrEqual(4);
  });

  test.each([
    ["profiles", "finders/profiles", "its name"],
    ["web", "finders/search", "a keyword"],
    ["people", "finders/profiles", "its description"],
    ["since", "finders/search", "a param"],
    ["clips", "clips/fetch", "its service"],
  ])("finds %s: %s, by %s", (query, id) => {
    const [first] = atOnce(SearchIndex.of(smallCatalog.all(LIVE))).search(query, 3);
    expect(first?.action.id).toBe(id);
    expect(first?.score).toBeGreaterThan(0);
  });

  test("forgives a slip of the pen, accents, case and an ending", () => {
    const index = atOnce(SearchIndex.of(smallCatalog.all(LIVE)));
    for (const query of ["PAGES", "páge", "finding web page"]) {
      expect(index.search(query, 3)[0]?.action.id, query).toBe("finders/search");
    }
    for (const slip of ["profilws", "prfiles", "profil"]) {
      expect(index.search(slip, 3)[0]?.action.id, slip).toBe("finders/profiles");
    }
  });

  test("finds nothing for words that say nothing", () => {
    expect(atOnce(SearchIndex.of(smallCatalog.all(LIVE))).search("what is it that I want", 5)).toEqual([]);
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
  const ask = async (body: unknown) => {
    const { key } = await gateway.account({ creditCents: 5 });
    return { ...(await discover(body, key)), key };
  };

  test("is free and says where to call, for how much, with which params", async () => {
    const { status, json, key } = await ask({ query: "recent news about a company" });
    expect(status).toBe(200);
    expect(json).toMatchObject({ ok: true, charged_cents: 0 });
    const rows = json.data as Record<string, unknown>[];
    expect(rows.length).toBeGreaterThan(3);
    expect(rows.length).toBeLessThanOrEqual(10);
    for (const row of rows) {
      expect(row).toMatchObject({
        endpoint: `/api/run/${row.service}/${row.action}`,
        price_cents: expect.any(Number),
        price_min_cents: expect.any(Number),
        required_params: expect.any(Array),
        description: expect.any(String),
      });
    }
    const history = await fetch(`${gateway.url}/api/v1/transactions`, { headers: { authorization: `Bearer ${key}` } });
    const { transactions } = (await history.json()) as { transactions: { kind: string }[] };
    expect(transactions.map(({ kind }) => kind)).toEqual(["topup"]);
  });

  test("gives as many as asked for", async () => {
    expect((await ask({ query: "search the web", limit: 2 })).json.data).toHaveLength(2);
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
    const { status, json } = await ask(body);
    expect(status).toBe(400);
    expect(json).toMatchObject({ ok: false, error: "bad_request", data: { field } });
  });
});
