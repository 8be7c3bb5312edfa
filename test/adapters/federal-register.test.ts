// Calls to the Federal Register: conditions in brackets, and limits that it would silently ignore.
import { describe, expect, it } from "vitest";
import { wire } from "../support/adapter-wire.ts";

const register = await wire("federal-register");
const BASE = "https://www.federalregister.gov/api/v1";

describe("search", () => {
  it("sends every condition under its bracketed name", () => {
    const sent = register.send("search", {
      term: '"clean air"',
      type: ["RULE", "PRORULE"],
      agency: "environmental-protection-agency",
      date_gte: "2026-01-01",
      date_lte: "2026-06-30",
      per_page: 100,
      fields: ["title", "html_url"],
    });
    const url = new URL(sent.url);
    expect(url.origin + url.pathname).toBe(`${BASE}/documents.json`);
    expect([...url.searchParams]).toEqual([
      ["conditions[term]", '"clean air"'],
      ["conditions[type][]", "RULE"],
      ["conditions[type][]", "PRORULE"],
      ["conditions[agencies][]", "environmental-protection-agency"],
      ["conditions[publication_date][gte]", "2026-01-01"],
      ["conditions[publication_date][lte]", "2026-06-30"],
      ["per_page", "100"],
      ["page", "1"],
      ["order", "relevance"],
      ["fields[]", "title"],
      ["fields[]", "html_url"],
    ]);
  });

  it.each([
    [{ type: "LAW" }, "type"],
    [{ type: [] }, "type"],
    [{ agency: "EPA & others" }, "agency"],
    [{ date_gte: "2026-06-31" }, "date_gte"],
    [{ date_gte: "2026-06-30", date_lte: "2026-01-01" }, "date_lte"],
    [{ per_page: 1_001 }, "per_page"],
    [{ per_page: 100, page: 101 }, "page"],
    [{ fields: ["title&x"] }, "fields.0"],
    [{ conditions: {} }, "conditions"],
  ])("refuses %j, naming %s", (params, field) => {
    expect(register.refuses("search", params)).toEqual([field]);
  });

  it.each(["RULE", "PRORULE", "NOTICE", "PRESDOCU"])("takes the type %s", (type) => {
    expect(register.refuses("search", { type })).toEqual([]);
  });

  it("a bad condition is the caller's; a page for people is an outage", () => {
    expect(register.means("search", { status: 400, body: { errors: { agencies: "invalid value" } } })).toMatchObject({
      verdict: "caller_invalid",
      data: { errors: { agencies: "invalid value" } },
    });
    const page = { headers: { "content-type": "text/html" }, body: "\n<html>Maintenance</html>" };
    expect(register.means("search", page).verdict).toBe("provider_overloaded");
    expect(register.means("search", { body: { count: 0, results: [] } }).verdict).toBe("success");
  });
});

describe("document", () => {
  it.each(["2026-17211", "E9-1234", "C1-2026-17211"])("reads %s", (document_number) => {
    expect(register.send("document", { document_number }).url).toBe(`${BASE}/documents/${document_number}.json`);
  });

  it.each([{}, { document_number: "" }, { document_number: "../agencies" }, { document_number: "1,2" }])(
    "refuses %j",
    (params) => {
      expect(register.refuses("document", params)).toEqual(["document_number"]);
    },
  );

  it("an unknown number is the caller's to mend", () => {
    expect(register.means("document", { status: 404, body: { errors: "not found" } }).verdict).toBe("caller_invalid");
  });
});
