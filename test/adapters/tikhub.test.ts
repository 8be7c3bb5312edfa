// Calls to TikHub: endpoints of a table, by GET or POST, and error codes within success answers.
import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import type { EndpointTable } from "../../src/catalog/endpoint-table.ts";
import { wire } from "../support/adapter-wire.ts";

const tikhub = await wire("tikhub");
const table = JSON.parse(await readFile("adapters/tikhub.json", "utf8")) as EndpointTable;
const rows = Object.entries(table);
const profile = "/api/v1/tiktok/web/fetch_user_profile";

describe("fetch", () => {
  it("sends the endpoint's params in the query, with our key", () => {
    const sent = tikhub.send("fetch", { endpoint: profile, uniqueId: "ada & bob" });
    expect(sent).toMatchObject({
      method: "GET",
      url: `https://api.tikhub.io${profile}?uniqueId=ada+%26+bob`,
      body: null,
    });
    expect(sent.headers.authorization).toBe("Bearer key-of-ours");
  });

  it.each([profile, profile.slice(1), "/tiktok/web/fetch_user_profile", "tiktok/web/fetch_user_profile"])(
    "takes %s for the same endpoint",
    (endpoint) => expect(tikhub.send("fetch", { endpoint }).url).toBe(`https://api.tikhub.io${profile}`),
  );

  it.each([
    [{}, "endpoint"],
    [{ endpoint: "tiktok/web/no_such_endpoint" }, "endpoint"],
    [{ endpoint: "/api/v1/../../admin" }, "endpoint"],
    [{ endpoint: "toString" }, "endpoint"],
    [{ endpoint: "/api/v1/tiktok/web/fetch_user_post" }, "secUid"],
    [{ endpoint: "/api/v1/tiktok/web/fetch_user_post", secUid: "s", count: "many" }, "count"],
    [{ endpoint: profile, username: "ada" }, "username"],
    [{ endpoint: "/api/v1/tiktok/app/v3/fetch_multi_video", aweme_ids: ["1"] }, "endpoint"],
  ])("refuses %j, naming %s", (params, field) => {
    expect(tikhub.refuses("fetch", params)).toEqual([field]);
  });
});

describe("submit", () => {
  it("sends the endpoint's params as a JSON object", () => {
    const endpoint = "/api/v1/wechat_channels/fetch_default_search";
    const sent = tikhub.send("submit", { endpoint, keywords: "tides" });
    expect(sent).toMatchObject({
      method: "POST",
      url: `https://api.tikhub.io${endpoint}`,
      body: { keywords: "tides" },
    });
  });

  it("sends a list alone where the endpoint takes nothing else", () => {
    const sent = tikhub.send("submit", { endpoint: "tiktok/app/v3/fetch_multi_video", aweme_ids: ["1", "2"] });
    expect(sent.body).toEqual(["1", "2"]);
  });

  it("puts a part of the params into the query where the endpoint wants it", () => {
    const endpoint = "zhihu/web/fetch_scholar_search_v3";
    const sent = tikhub.send("submit", { endpoint, keyword: "a b", offset: "0", limit: 25, indexed_by: "SCI" });
    expect(sent.url).toBe(`https://api.tikhub.io/api/v1/${endpoint}?keyword=a%20b&offset=0&limit=25`);
    expect(sent.body).toEqual({ indexed_by: "SCI" });
  });

  it("refuses what goes by GET, and is never sent twice", () => {
    expect(tikhub.refuses("submit", { endpoint: profile, uniqueId: "ada" })).toEqual(["endpoint"]);
    expect(tikhub.actions.submit?.effect).toBe("write");
    expect(tikhub.actions.fetch?.effect).toBe("read");
  });
});

describe("the table", () => {
  it("has most of what the vendor has, and every search by which posts are found", () => {
    expect(rows.length).toBeGreaterThan(900);
    const searches = [
      "twitter/web/fetch_search_timeline",
      "tiktok/app/v3/fetch_general_search_result",
      "instagram/v2/general_search",
      "youtube/web/search_video",
      "weibo/app/fetch_search_all",
      "reddit/app/fetch_dynamic_search",
    ];
    expect(searches.filter((name) => table[`/api/v1/${name}`]?.method !== "GET")).toEqual([]);
  });

  it("leaves out what is about our account, uploads of files and endpoints without a price", () => {
    const ours = /^\/api\/v1\/(demo|health|temp_mail|ios_shortcut|tikhub)\/|upload_image|live_room$/;
    expect(rows.filter(([name]) => ours.test(name)).map(([name]) => name)).toEqual([]);
  });

  it("has what the vendor calls deprecated and still serves on the web, and says so", () => {
    const old = ["tiktok/web/fetch_trending_post", "douyin/web/fetch_product_detail", "youtube/web/get_video_comments"];
    for (const name of old) expect(table[`/api/v1/${name}`]?.summary, name).toMatch(/\(deprecated by the vendor\)$/);
    const search = { endpoint: "douyin/web/fetch_video_search_result_v2", keyword: "tides" };
    expect(tikhub.quote("fetch", search)).toBe(2);
    expect(tikhub.upstreamCents("fetch", search)).toBe(1);
  });

  it("names each endpoint by its own path", () => {
    expect(rows.filter(([name, { path }]) => path.split("?")[0] !== name).map(([name]) => name)).toEqual([]);
  });

  it("has a price for every endpoint: most a cent, at most 38, above what the vendor takes", () => {
    const cents = rows.map(([, row]) => row.cents ?? Number.NaN);
    expect(cents.filter((price) => price === 1).length).toBeGreaterThan(rows.length * 0.9);
    expect(Math.max(...cents)).toBe(38);
    for (const [name, { cents: price = 0, upstreamCents = 0.1, method }] of rows) {
      expect(price, name).toBeGreaterThan(upstreamCents);
      expect(price, name).toBeLessThanOrEqual(tikhub.actions[method === "GET" ? "fetch" : "submit"]?.price.cents ?? 0);
    }
  });

  it.each([
    ["fetch", { endpoint: profile }, 1, 0.1],
    ["fetch", { endpoint: "sora2/get_feed" }, 8, 5],
    ["submit", { endpoint: "douyin/web/fetch_multi_video", aweme_ids: ["1"] }, 8, 5],
    ["submit", { endpoint: "douyin/web/fetch_multi_video_high_quality_play_url", aweme_ids: "1,2" }, 38, 25],
  ])("%s %j costs %d cents, and us %d", (action, params, cents, upstreamCents) => {
    expect(tikhub.quote(action, params)).toBe(cents);
    expect(tikhub.upstreamCents(action, params)).toBe(upstreamCents);
  });
});

describe("what its answers mean", () => {
  it.each([
    [200, { code: 200, data: {} }, "success"],
    [200, { code: 400, message: "m" }, "caller_invalid"],
    [200, { code: 401, message: "m" }, "provider_auth_failed"],
    [200, { code: 402, message: "m" }, "provider_billing"],
    [200, { code: 429, message: "m" }, "provider_rate_limited"],
    [200, { code: 500, message: "m" }, "provider_server_error"],
    [200, { message: "no code" }, "provider_server_error"],
    [200, "<html></html>", "provider_malformed"],
    [400, { detail: { code: 400, message: "m" } }, "caller_invalid"],
    [401, { detail: { code: 401, message: "m" } }, "provider_auth_failed"],
    [402, { detail: { code: 402, message: "m" } }, "provider_billing"],
    [404, { detail: { code: 404, message: "m" } }, "caller_invalid"],
    [422, { detail: [{ loc: ["query", "secUid"], msg: "m", type: "missing" }] }, "caller_invalid"],
    [429, { detail: { code: 429, message: "m" } }, "provider_rate_limited"],
    [500, { detail: { code: 500, message: "m" } }, "provider_server_error"],
  ])("%d %j is %s", (status, body, verdict) => {
    expect(tikhub.means("fetch", { status, body }).verdict).toBe(verdict);
  });
});
