// Calls to Oxylabs: a page as seen from a place, and the page's own status within the answer.
import { describe, expect, it } from "vitest";
import { wire } from "../support/adapter-wire.ts";

const oxylabs = await wire("oxylabs");
const page = "https://a.example/";
const answered = (status_code: number) => ({ body: { results: [{ content: "<h1>A</h1>", status_code, url: page }] } });

describe("scrape", () => {
  it("sends the page and the place, with user and password", () => {
    const sent = oxylabs.send("scrape", { url: page, geo_location: "New York,United States", render: "html" });
    expect(sent).toMatchObject({ method: "POST", url: "https://realtime.oxylabs.io/v1/queries" });
    expect(sent.headers.authorization).toBe(`Basic ${btoa("key-of-ours-1:key-of-ours-2")}`);
    expect(sent.body).toEqual({
      source: "universal",
      url: page,
      geo_location: "New York,United States",
      render: "html",
    });
  });

  it("parses where it is told how", () => {
    const rules = { title: { _fns: [{ _fn: "xpath_one", _args: ["//h1/text()"] }] } };
    expect(oxylabs.send("scrape", { url: page, parsing_instructions: rules }).body).toMatchObject({
      parse: true,
      parsing_instructions: rules,
    });
  });

  it("costs 25 cents at most, and less without a browser", () => {
    expect(oxylabs.quote("scrape", { url: page, geo_location: "Germany" })).toBe(5);
    expect(oxylabs.quote("scrape", { url: page, render: "png" })).toBe(25);
  });

  it.each([
    [{ geo_location: "Germany" }, "url"],
    [{ url: page, source: "google" }, "source"],
    [{ url: page, render: "pdf" }, "render"],
    [{ url: page, callback_url: "https://c.example/" }, "callback_url"],
    [{ url: page, browser_instructions: [{ type: "click" }] }, "browser_instructions"],
    [{ url: page, render: "png", markdown: true }, "markdown"],
  ])("refuses %j, naming %s", (params, field) => {
    expect(oxylabs.refuses("scrape", params)).toEqual([field]);
  });
});

describe("what its answers mean", () => {
  it.each([
    [200, "success"],
    [204, "success"],
    [403, "miss"],
    [404, "miss"],
    [503, "miss"],
    [612, "provider_server_error"],
    [613, "provider_server_error"],
  ])("a page with status %d in a good answer is a %s", (status, verdict) => {
    expect(oxylabs.means("scrape", answered(status)).verdict).toBe(verdict);
  });

  it("an answer without results is broken", () => {
    expect(oxylabs.means("scrape", { body: { results: [] } }).verdict).toBe("provider_malformed");
    expect(oxylabs.means("scrape", { body: {} }).verdict).toBe("provider_malformed");
    expect(oxylabs.means("scrape", { status: 204, body: "" }).verdict).toBe("provider_malformed");
  });

  it.each([
    [400, "caller_invalid"],
    [401, "provider_auth_failed"],
    [403, "provider_auth_failed"],
    [422, "caller_invalid"],
    [429, "provider_rate_limited"],
    [500, "provider_server_error"],
    [524, "provider_timeout"],
  ])("%d is %s", (status, verdict) => {
    expect(oxylabs.means("scrape", { status, body: { message: "m" } }).verdict).toBe(verdict);
  });
});
