// Calls to ScrapingAnt: params in the query, HTML answers, and errors caused by us, the caller or the page.
import { describe, expect, it } from "vitest";
import { wire } from "../support/adapter-wire.ts";

const ant = await wire("scrapingant");
const page = "https://a.example/?q=1&r=ü";
const queryOf = (url: string) => Object.fromEntries(new URL(url).searchParams);

describe("what is sent", () => {
  it("has the contract's params in the query, and our key in its own header", () => {
    const sent = ant.send("scrape", {
      url: page,
      wait_for_selector: "#main",
      js_snippet: "YWxlcnQoMSk=",
      proxy_country: "DE",
      cookies: "a=1;b=2",
      timeout: 30,
      return_page_source: true,
    });
    expect(sent).toMatchObject({ method: "GET", body: null });
    expect(sent.url.startsWith("https://api.scrapingant.com/v2/general?")).toBe(true);
    expect(sent.headers["x-api-key"]).toBe("key-of-ours");
    expect(sent.url).not.toContain("key-of-ours");
    expect(queryOf(sent.url)).toEqual({
      url: page,
      browser: "true",
      wait_for_selector: "#main",
      js_snippet: "YWxlcnQoMSk=",
      proxy_country: "de",
      cookies: "a=1;b=2",
      timeout: "30",
      return_page_source: "true",
      proxy_type: "datacenter",
    });
  });

  it.each([
    ["scrape", {}, "/v2/general", "datacenter", 1],
    ["markdown", {}, "/v2/markdown", "datacenter", 1],
    ["residential-scrape", {}, "/v2/general", "residential", 4],
    ["extract", { extract_properties: "title, price(number)" }, "/v2/extract", "datacenter", 20],
  ])("%s goes to its place, through its kind of address, at its price", (action, more, path, proxyType, cents) => {
    const { url } = ant.send(action, { url: page, ...more });
    expect(new URL(url).pathname).toBe(path);
    expect(queryOf(url)).toMatchObject({ proxy_type: proxyType, timeout: "60", browser: "true", ...more });
    expect(ant.quote(action, { url: page, ...more })).toBe(cents);
    expect(ant.upstreamCents(action, { url: page, ...more })).toBeLessThan(cents);
  });

  it("repeats kinds of files that are not loaded", () => {
    const { url } = ant.send("scrape", { url: page, block_resource: ["image", "font"] });
    expect(new URL(url).searchParams.getAll("block_resource")).toEqual(["image", "font"]);
  });

  it.each([
    [{}, "url"],
    [{ url: page, timeout: 4 }, "timeout"],
    [{ url: page, timeout: 61 }, "timeout"],
    [{ url: page, js_snippet: "alert(1)" }, "js_snippet"],
    [{ url: page, browser: false, wait_for_selector: "a" }, "wait_for_selector"],
    [{ url: page, browser: false, js_snippet: "YQ==" }, "js_snippet"],
    [{ url: page, browser: false, return_page_source: true }, "return_page_source"],
    [{ url: page, proxy_type: "residential" }, "proxy_type"],
    [{ url: page, block_resource: ["all"] }, "block_resource.0"],
  ])("refuses %j, naming %s", (params, field) => {
    expect(ant.refuses("scrape", params)).toEqual([field]);
  });

  it("needs to be told what to extract", () => {
    expect(ant.refuses("extract", { url: page })).toEqual(["extract_properties"]);
  });
});

describe("what its answers mean", () => {
  it("HTML is a good answer of a scrape, and none of markdown", () => {
    const html = { headers: { "content-type": "text/html" }, body: "<h1>A</h1>" };
    expect(ant.means("scrape", html)).toMatchObject({ verdict: "success", data: "<h1>A</h1>" });
    expect(ant.actions.scrape?.answer).toEqual({ kind: "text", as: "html" });
    expect(ant.means("markdown", html).verdict).toBe("provider_malformed");
  });

  it.each([
    [400, { detail: "Wrong request format" }, "caller_invalid"],
    [403, { detail: "The API token is wrong or the number of credits is exceeded" }, "provider_auth_failed"],
    [409, { detail: "Concurrent requests limit is reached" }, "provider_busy"],
    [422, { detail: [{ loc: ["query", "timeout"], msg: "too small", type: "value_error" }] }, "caller_invalid"],
    [
      422,
      { detail: [{ loc: ["header", "x-api-key"], msg: "field required", type: "missing" }] },
      "provider_auth_failed",
    ],
    [500, { detail: "Something went wrong" }, "provider_server_error"],
  ])("%d %j is %s", (status, body, verdict) => {
    expect(ant.means("scrape", { status, body }).verdict).toBe(verdict);
  });

  it.each([404, 423])("%d is about the page, and free", (status) => {
    const { verdict, data } = ant.means("residential-scrape", { status, body: { detail: "x" } });
    expect(verdict).toBe("miss");
    expect(data).toMatchObject({ found: false });
    expect(ant.actions["residential-scrape"]?.price.freeOnMiss).toBe(true);
  });
});
