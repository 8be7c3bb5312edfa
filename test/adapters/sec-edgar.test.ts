// Calls to SEC EDGAR: three hosts, numbers padded for one and not for another, and a temporary ban that we must wait out.
import { describe, expect, it } from "vitest";
import { wire } from "../support/adapter-wire.ts";

const edgar = await wire("sec-edgar");

const BLOCKED = "<!DOCTYPE html><html><head><title>SEC.gov | Request Rate Threshold Exceeded</title></head></html>";
const UNDECLARED =
  "<!DOCTYPE html><html><body><h1>Your Request Originates from an Undeclared Automated Tool</h1></body>";
const NO_ACCESS = '<?xml version="1.0"?><Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>';
const xml = { "content-type": "application/xml" };
const html = { "content-type": "text/html" };

describe("requests", () => {
  it.each([
    ["entities", { q: "apple & co" }, "https://efts.sec.gov/LATEST/search-index?keysTyped=apple+%26+co"],
    ["filings", { cik: "320193" }, "https://data.sec.gov/submissions/CIK0000320193.json"],
    ["filings", { cik: 320193 }, "https://data.sec.gov/submissions/CIK0000320193.json"],
    ["filings", { cik: "CIK0000320193" }, "https://data.sec.gov/submissions/CIK0000320193.json"],
    ["fulltext", { q: "lithium" }, "https://efts.sec.gov/LATEST/search-index?q=lithium&from=0"],
    [
      "fulltext",
      { q: "lithium", forms: "10-K,DEF 14A", startdt: "2026-01-01", enddt: "2026-06-30", from: 100 },
      "https://efts.sec.gov/LATEST/search-index?q=lithium&forms=10-K%2CDEF+14A&startdt=2026-01-01&enddt=2026-06-30" +
        "&from=100&dateRange=custom",
    ],
    [
      "document",
      { cik: "0000320193", accession: "0000320193-25-000079", filename: "aapl-20250927.htm" },
      "https://www.sec.gov/Archives/edgar/data/320193/000032019325000079/aapl-20250927.htm",
    ],
    [
      "document",
      { cik: "320193", accession: "000032019325000079", filename: "xslF345X05/form4.xml" },
      "https://www.sec.gov/Archives/edgar/data/320193/000032019325000079/xslF345X05/form4.xml",
    ],
    [
      "document",
      { cik: "320193", accession: "0000320193-25-000079" },
      "https://www.sec.gov/Archives/edgar/data/320193/000032019325000079/index.json",
    ],
    [
      "concept",
      { cik: "320193", concept: "Assets" },
      "https://data.sec.gov/api/xbrl/companyconcept/CIK0000320193/us-gaap/Assets.json",
    ],
    [
      "concept",
      { cik: "320193", concept: "dei/EntityPublicFloat" },
      "https://data.sec.gov/api/xbrl/companyconcept/CIK0000320193/dei/EntityPublicFloat.json",
    ],
    [
      "daily-index",
      { date: "2026-11-20" },
      "https://www.sec.gov/Archives/edgar/daily-index/2026/QTR4/master.20261120.idx",
    ],
    [
      "daily-index",
      { date: "2026-03-31" },
      "https://www.sec.gov/Archives/edgar/daily-index/2026/QTR1/master.20260331.idx",
    ],
  ])("%s %j", (action, params, url) => {
    const sent = edgar.send(action, params);
    expect([sent.method, sent.url, sent.body]).toEqual(["GET", url, null]);
    expect(sent.headers["user-agent"]).toContain("Ada ada@example.org");
  });
});

describe("a range that is open at an end is filled there", () => {
  it.each([
    [{ startdt: "2026-01-01" }, { startdt: "2026-01-01", enddt: "2999-12-31", dateRange: "custom" }],
    [{ enddt: "2026-01-01" }, { startdt: "2001-01-01", enddt: "2026-01-01", dateRange: "custom" }],
    [{}, {}],
  ])("%j", (given, sent) => {
    const { searchParams } = new URL(edgar.send("fulltext", { q: "x", ...given }).url);
    expect(Object.fromEntries(searchParams)).toEqual({ q: "x", from: "0", ...sent });
  });
});

describe("params", () => {
  it.each([
    ["entities", {}, "q"],
    ["filings", {}, "cik"],
    ["filings", { cik: "0" }, "cik"],
    ["filings", { cik: "12345678901" }, "cik"],
    ["filings", { cik: "../320193" }, "cik"],
    ["fulltext", { q: "" }, "q"],
    ["fulltext", { q: "x", forms: "10-K/A" }, "forms"],
    ["fulltext", { q: "x", startdt: "2026-02-30", enddt: "2026-03-01" }, "startdt"],
    ["fulltext", { q: "x", startdt: "2026-03-02", enddt: "2026-03-01" }, "enddt"],
    ["fulltext", { q: "x", from: 9_901 }, "from"],
    ["fulltext", { q: "x", dateRange: "all" }, "dateRange"],
    ["document", { cik: "1", accession: "0000320193-25-79" }, "accession"],
    ["document", { cik: "1", accession: "0000320193-25-000079", filename: "../../secret" }, "filename"],
    ["document", { cik: "1", accession: "0000320193-25-000079", filename: "a/../b.htm" }, "filename"],
    ["document", { cik: "1", accession: "0000320193-25-000079", filename: "a.htm?x=1" }, "filename"],
    ["document", { cik: "1", accession: "0000320193-25-000079", filename: "a.htm#x" }, "filename"],
    ["document", { cik: "1", accession: "0000320193-25-000079", filename: "a%2e%2e" }, "filename"],
    ["concept", { cik: "1", concept: "us-gaap/../Assets" }, "concept"],
    ["concept", { cik: "1", concept: "Assets.json?" }, "concept"],
    ["daily-index", { date: "2026-11-31" }, "date"],
    ["daily-index", { date: "20261120" }, "date"],
  ])("%s refuses %j, naming %s", (action, params, field) => {
    expect(edgar.refuses(action, params)).toEqual([field]);
  });
});

describe("answers", () => {
  it.each(["entities", "filings", "fulltext", "document", "concept", "daily-index"])(
    "a block of %s leaves the vendor alone for ten minutes",
    (action) => {
      const blocked = { verdict: "provider_rate_limited", restMs: 600_000 };
      expect(edgar.means(action, { status: 429, headers: html, body: BLOCKED })).toMatchObject(blocked);
      expect(edgar.means(action, { status: 403, headers: html, body: UNDECLARED })).toMatchObject(blocked);
    },
  );

  it("a day without filings is an empty index that is not charged, however the archive says it", () => {
    const empty = { verdict: "miss", data: { text: "", content_type: "text/plain" } };
    expect(edgar.means("daily-index", { status: 404, headers: html, body: "<html></html>" })).toMatchObject(empty);
    expect(edgar.means("daily-index", { status: 403, headers: xml, body: NO_ACCESS })).toMatchObject(empty);
    expect(edgar.actions["daily-index"]?.price.freeOnMiss).toBe(true);
  });

  it("a company, concept or document that does not exist is the caller's to mend", () => {
    const gone = { status: 404, headers: xml, body: "<Error><Code>NoSuchKey</Code></Error>" };
    for (const action of ["filings", "concept", "document"]) {
      expect(edgar.means(action, gone).verdict).toBe("caller_invalid");
    }
    expect(edgar.means("document", { status: 403, headers: xml, body: NO_ACCESS }).verdict).toBe("caller_invalid");
  });

  it("a page where data should be is no answer, but a document may be a page", () => {
    const page = { headers: html, body: "<html>10-K</html>" };
    expect(edgar.means("filings", page).verdict).toBe("provider_malformed");
    expect(edgar.means("document", page).verdict).toBe("success");
  });

  it("costs a cent each", () => {
    expect(edgar.quote("fulltext", { q: "x" })).toBe(1);
    expect(edgar.upstreamCents("fulltext", { q: "x" })).toBe(0);
  });
});
