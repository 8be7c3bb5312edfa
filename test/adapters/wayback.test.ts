// Calls to the Wayback Machine: URLs within URLs, and captures that are errors themselves.
import { describe, expect, it } from "vitest";
import { wire } from "../support/adapter-wire.ts";

const wayback = await wire("wayback");
const html = { "content-type": "text/html" };

describe("snapshots", () => {
  it("asks the index for JSON, with the contract's params as they are", () => {
    const { url } = wayback.send("snapshots", { url: "example.com/a?b=c", from: "2015", to: "201606", limit: 5 });
    expect(url).toBe(
      "https://web.archive.org/cdx/search/cdx?output=json&url=example.com%2Fa%3Fb%3Dc&from=2015&to=201606&limit=5",
    );
    const { url: more } = wayback.send("snapshots", { url: "example.com", match_type: "domain", collapse: "digest" });
    expect(Object.fromEntries(new URL(more).searchParams)).toEqual({
      output: "json",
      url: "example.com",
      limit: "100",
      matchType: "domain",
      collapse: "digest",
    });
  });

  it.each([
    [{}, "url"],
    [{ url: "two words" }, "url"],
    [{ url: "example.com", from: "201" }, "from"],
    [{ url: "example.com", from: "20151301" }, "from"],
    [{ url: "example.com", from: "2016", to: "2015" }, "to"],
    [{ url: "example.com", limit: 0 }, "limit"],
    [{ url: "example.com", limit: 10_001 }, "limit"],
    [{ url: "example.com", collapse: "digest&url=x" }, "collapse"],
  ])("refuses %j, naming %s", (params, field) => {
    expect(wayback.refuses("snapshots", params)).toEqual([field]);
  });

  it.each([
    { url: "x.com", from: "2015", to: "2015" },
    { url: "x.com", from: "20150314", to: "2015" },
    { url: "x.com", limit: -3 },
  ])("takes %j", (params) => {
    expect(wayback.refuses("snapshots", params)).toEqual([]);
  });

  it("no captures are an empty list, whether the index says so or says nothing", () => {
    expect(wayback.means("snapshots", { body: "" })).toMatchObject({ verdict: "miss", data: [] });
    expect(wayback.means("snapshots", { body: [] })).toMatchObject({ verdict: "success", data: [] });
  });

  it("a site that is kept out of the archive is the caller's to know", () => {
    const text = "org.archive.util.io.RuntimeIOException: AdministrativeAccessControlException: Blocked Site Error";
    expect(wayback.means("snapshots", { status: 403, headers: html, body: text }).verdict).toBe("caller_invalid");
    expect(wayback.means("snapshots", { status: 429, headers: html, body: "slow" }).verdict).toBe(
      "provider_rate_limited",
    );
  });
});

describe("available", () => {
  it("asks the other host, and is not charged where there is nothing", () => {
    expect(wayback.send("available", { url: "example.com", timestamp: "20150314" }).url).toBe(
      "https://archive.org/wayback/available?url=example.com&timestamp=20150314",
    );
    expect(wayback.means("available", { body: { archived_snapshots: {} } }).verdict).toBe("miss");
    const closest = { available: true, timestamp: "20150314092653", status: "200" };
    expect(wayback.means("available", { body: { archived_snapshots: { closest } } }).verdict).toBe("success");
    expect(wayback.actions.available?.price.freeOnMiss).toBe(true);
  });

  it("refuses a day that is none", () => {
    expect(wayback.refuses("available", { url: "example.com", timestamp: "20151332" })).toEqual(["timestamp"]);
    expect(wayback.refuses("available", { url: "example.com", timestamp: "2015-03-14" })).toEqual(["timestamp"]);
  });
});

describe("fetch", () => {
  it.each([
    ["http://example.com/", "http://example.com/"],
    ["example.com", "http://example.com/"],
    ["https://example.com/a?b=c&d=e#f", "https://example.com/a?b=c&d=e"],
    ["http://example.com/a%20b/%C3%A9", "http://example.com/a%20b/%C3%A9"],
    ["http://example.com/caf\u00e9", "http://example.com/caf%C3%A9"],
    ["http://www.archive.org:8080/x", "http://www.archive.org:8080/x"],
    ["http://example.com/a/../../../save/b", "http://example.com/save/b"],
    ["http://example.com/%2e%2e/%2e%2e/save", "http://example.com/save"],
    ["http://example.com/?x=../../save", "http://example.com/?x=../../save"],
  ])("keeps the address %s readable for the archive", (url, inside) => {
    const sent = wayback.send("fetch", { url, timestamp: "20150314" });
    expect(sent.url).toBe(`https://web.archive.org/web/20150314id_/${inside}`);
  });

  it.each([
    [{ url: "example.com" }, "timestamp"],
    [{ url: "example.com", timestamp: "2015id_/x" }, "timestamp"],
    [{ timestamp: "2015" }, "url"],
    [{ url: "../../save/x.com", timestamp: "2015" }, "url"],
    [{ url: "ftp://example.com/", timestamp: "2015" }, "url"],
    [{ url: "javascript:alert(1).x", timestamp: "2015" }, "url"],
    [{ url: "http://user.name:secret@example.com/", timestamp: "2015" }, "url"],
    [{ url: "http://localhost/", timestamp: "2015" }, "url"],
    [{ url: "http://exa mple.com/", timestamp: "2015" }, "url"],
  ])("refuses %j, naming %s", (params, field) => {
    expect(wayback.refuses("fetch", params)).toEqual([field]);
  });

  it("a page that was never captured is not charged, and neither is the capture of an error", () => {
    const missing = {
      status: 404,
      headers: { ...html, "x-archive-wayback-runtime-error": "ResourceNotInArchive" },
      body: "",
    };
    expect(wayback.means("fetch", missing).verdict).toBe("caller_invalid");
    const captured = {
      status: 503,
      headers: { ...html, "memento-datetime": "Sat, 14 Mar 2015 09:26:53 GMT" },
      body: "",
    };
    expect(wayback.means("fetch", captured).verdict).toBe("caller_invalid");
    expect(wayback.means("fetch", { status: 503, headers: html, body: "busy" }).verdict).toBe("provider_overloaded");
  });

  it("a site kept out by its owner is the caller's to know", () => {
    const headers = { ...html, "x-archive-wayback-runtime-error": "RobotAccessControlException: Blocked By Robots" };
    expect(wayback.means("fetch", { status: 403, headers, body: "" }).verdict).toBe("caller_invalid");
  });

  it("follows the archive to the capture nearest in time", () => {
    expect(wayback.actions.fetch?.request?.redirectsMax).toBeGreaterThanOrEqual(2);
    expect(wayback.means("fetch", { headers: html, body: "<html>old</html>" }).verdict).toBe("success");
  });
});
