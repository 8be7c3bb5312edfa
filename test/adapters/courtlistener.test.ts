// Calls to CourtListener: one search for two kinds of things, with an optional token.
import { describe, expect, it } from "vitest";
import { wire } from "../support/adapter-wire.ts";

const court = await wire("courtlistener");
const ORIGIN = "https://www.courtlistener.com/api/rest/v4/search/";

function queryOf(action: string, params: Parameters<typeof court.send>[1]): Record<string, string> {
  return Object.fromEntries(new URL(court.send(action, params).url).searchParams);
}

describe("requests", () => {
  it("sends the contract's params of dockets as they are, with the token", () => {
    const sent = court.send("dockets", {
      party_name: "Foo Industries",
      docket_number: "1:24-cv-01234",
      court: "cand nysd",
      case_name: "Foo v. Bar",
      q: "patent",
      order_by: "dateFiled desc",
    });
    expect(sent.url.split("?")[0]).toBe(ORIGIN);
    expect(sent.headers.authorization).toBe("Token key-of-ours");
    expect(Object.fromEntries(new URL(sent.url).searchParams)).toEqual({
      type: "r",
      party_name: "Foo Industries",
      docket_number: "1:24-cv-01234",
      court: "cand nysd",
      case_name: "Foo v. Bar",
      q: "patent",
      order_by: "dateFiled desc",
    });
  });

  it("asks for readable documents and for kinds of opinions in the vendor's own way", () => {
    expect(queryOf("dockets", { q: "x", available_only: true })).toMatchObject({ available_only: "on" });
    expect(queryOf("dockets", { q: "x", available_only: false })).toEqual({
      type: "r",
      q: "x",
      order_by: "score desc",
    });
    expect(queryOf("opinions", { q: "x", status: ["Published", "In-chambers"] })).toEqual({
      type: "o",
      q: "x",
      order_by: "score desc",
      stat_Published: "on",
      "stat_In-chambers": "on",
    });
  });

  it("takes a cursor as it stands in the next page's address, encoded or not", () => {
    for (const cursor of ["cz0yMzUmdD1v%3D%3D", "cz0yMzUmdD1v=="]) {
      expect(queryOf("opinions", { q: "x", cursor }).cursor).toBe("cz0yMzUmdD1v==");
    }
  });
});

describe("params", () => {
  it.each([
    ["dockets", {}, "q"],
    ["dockets", { order_by: "dateFiled desc" }, "q"],
    ["opinions", { filed_after: "2026-01-01" }, "q"],
    ["opinions", { q: "x", party_name: "Foo" }, "party_name"],
    ["opinions", { q: "x", order_by: "newest" }, "order_by"],
    ["dockets", { q: "x", order_by: "citeCount desc" }, "order_by"],
    ["dockets", { q: "x", filed_after: "01/02/2026" }, "filed_after"],
    ["dockets", { q: "x", filed_after: "2026-02-01", filed_before: "2026-01-01" }, "filed_before"],
    ["dockets", { q: "x", court: "Supreme Court!" }, "court"],
    ["dockets", { q: "x", cursor: "a&type=o" }, "cursor"],
    ["opinions", { q: "x", status: ["Secret"] }, "status.0"],
  ])("%s refuses %j, naming %s", (action, params, field) => {
    expect(court.refuses(action, params)).toEqual([field]);
  });

  it.each([{ q: "x" }, { party_name: "x" }, { docket_number: "x" }, { court: "scotus" }, { case_name: "x" }])(
    "%j is enough to look for dockets",
    (params) => {
      expect(court.refuses("dockets", params)).toEqual([]);
    },
  );
});

describe("answers", () => {
  it.each([
    ["nothing found", { body: { count: 0, next: null, previous: null, results: [] } }, "success"],
    [
      "a page of its maintenance",
      { headers: { "content-type": "text/html" }, body: "\n<!DOCTYPE html>" },
      "provider_overloaded",
    ],
    ["a token that is not valid", { status: 401, body: { detail: "Invalid token." } }, "provider_auth_failed"],
    ["too many requests", { status: 429, body: { detail: "Request was throttled." } }, "provider_rate_limited"],
    ["a bad query", { status: 400, body: { detail: "The query contains unbalanced quotes." } }, "caller_invalid"],
    ["a cursor that leads nowhere", { status: 404, body: { detail: "Invalid cursor" } }, "caller_invalid"],
  ])("%s", (_, answer, verdict) => {
    expect(court.means("opinions", answer).verdict).toBe(verdict);
    expect(court.means("dockets", answer).verdict).toBe(verdict);
  });
});
