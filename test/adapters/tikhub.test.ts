// Calls to TikHub: endpoints of a table, by GET or POST, and error codes within success answers.
import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import type { EndpointTable } from "../../src/catalog/endpoint-table.ts";
import { wire } from "../support/adapter-wire.ts";

const tikhub = await wire("tikhub");
const table = JSON.parse(await readFile("adapters/tikhub.json", "utf8")) as EndpointTable;
const rows = Object.entries(table);

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
});
