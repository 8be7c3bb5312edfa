// Calls to GDELT: every answer has a success status, and errors are plain sentences in it.
import { describe, expect, it } from "vitest";
import { wire } from "../support/adapter-wire.ts";

const gdelt = await wire("gdelt");
const text = { "content-type": "text/html; charset=utf-8" };

describe("requests", () => {
  it.each([
    [
      "news",
      { query: "climate change", timespan: "24h", maxrecords: 10 },
      "query=climate+change&timespan=24h&maxrecords=10&sort=datedesc",
      "mode=artlist&format=json",
    ],
    [
      "news",
      { query: "x y z", startdatetime: "20261101000000", enddatetime: "20261102235959", sort: "hybridrel" },
      "query=x+y+z&startdatetime=20261101000000&enddatetime=20261102235959&maxrecords=75&sort=hybridrel",
      "mode=artlist&format=json",
    ],
    ["timeline", { query: "climate" }, "query=climate&mode=timelinevol", "format=json"],
    [
      "timeline",
      { query: "climate", mode: "timelinetone", timelinesmooth: 5 },
      "query=climate&mode=timelinetone&timelinesmooth=5",
      "format=json",
    ],
  ])("%s %j", (action, params, query, fixed) => {
    const sent = gdelt.send(action, params);
    const { origin, pathname, searchParams } = new URL(sent.url);
    expect(origin + pathname).toBe("https://api.gdeltproject.org/api/v2/doc/doc");
    const wanted = new URLSearchParams(`${fixed}&${query}`);
    expect(Object.fromEntries(searchParams)).toEqual(Object.fromEntries(wanted));
    expect(sent.headers["user-agent"]).toContain("Tollgate");
  });
});

describe("a range that is open at an end is filled with the months that there are", () => {
  it.each([
    [{ startdatetime: "20261101123000" }, { startdatetime: "20261101123000", enddatetime: "20270201123000" }],
    [{ enddatetime: "20261101123000" }, { startdatetime: "20260801123000", enddatetime: "20261101123000" }],
    [{ timespan: "1d" }, { timespan: "1d" }],
  ])("%j", (given, sent) => {
    for (const action of ["news", "timeline"]) {
      const { searchParams } = new URL(gdelt.send(action, { query: "climate", ...given }).url);
      expect(Object.fromEntries(searchParams)).toMatchObject(sent);
      expect(searchParams.get("query")).toBe("climate");
    }
  });
});

describe("params", () => {
  it.each([
    ["news", {}, "query"],
    ["news", { query: "climate", timespan: "soon" }, "timespan"],
    ["news", { query: "climate", maxrecords: 251 }, "maxrecords"],
    ["news", { query: "climate", timespan: "1d", enddatetime: "20261101000000" }, "timespan"],
    ["news", { query: "climate", startdatetime: "2026-11-01", enddatetime: "20261102000000" }, "startdatetime"],
    ["news", { query: "climate", startdatetime: "20260231000000", enddatetime: "20260301000000" }, "startdatetime"],
    ["news", { query: "climate", startdatetime: "20261102000000", enddatetime: "20261101000000" }, "enddatetime"],
    [
      "news",
      { query: "climate", timespan: "1d", startdatetime: "20261101000000", enddatetime: "20261102000000" },
      "timespan",
    ],
    ["news", { query: "climate", mode: "artlist" }, "mode"],
    ["timeline", { query: "climate", mode: "timelinelang" }, "mode"],
  ])("%s refuses %j, naming %s", (action, params, field) => {
    expect(gdelt.refuses(action, params)).toEqual([field]);
  });

  it.each(["15min", "24h", "7d", "2weeks", "6m", "1y"])("takes a timespan of %s", (timespan) => {
    expect(gdelt.refuses("timeline", { query: "climate", timespan })).toEqual([]);
  });
});

describe("answers", () => {
  it.each([
    "Your query was too short or too long.",
    "Queries containing OR'd terms must be surrounded by ().",
    "Timespan is too short.",
    "One or more of your keywords contained an illegal character.",
  ])("the sentence %j is about the query", (body) => {
    expect(gdelt.means("news", { headers: text, body }).verdict).toBe("caller_invalid");
  });

  it.each(["Please limit requests to one every 5 seconds.", "Rate limit reached.", "Too many requests."])(
    "the sentence %j is about us, under a good status or a bad one",
    (body) => {
      for (const status of [200, 429]) {
        expect(gdelt.means("timeline", { status, headers: text, body })).toMatchObject({
          verdict: "provider_rate_limited",
          restMs: 5_000,
        });
      }
    },
  );

  it("nothing found is an empty list of what was asked for", () => {
    expect(gdelt.means("news", { body: {} })).toMatchObject({ verdict: "miss", data: { articles: [] } });
    expect(gdelt.means("timeline", { body: {} })).toMatchObject({ verdict: "miss", data: { timeline: [] } });
  });

  it.each(["", "\n", "<html>502</html>"])("the body %j is an outage", (body) => {
    expect(gdelt.means("news", { headers: text, body }).verdict).toBe("provider_overloaded");
    expect(gdelt.means("timeline", { headers: text, body }).verdict).toBe("provider_overloaded");
  });

  it("articles are articles, whatever words are in them", () => {
    const articles = [{ title: "Rate limit: too many requests, says <b>server</b>" }];
    expect(gdelt.means("news", { body: { articles } }).verdict).toBe("success");
  });
});
