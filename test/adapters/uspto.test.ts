// Calls to the USPTO's Open Data Portal: ranges in one param, names as a field query, and no hits as a 404.
import { describe, expect, it } from "vitest";
import { wire } from "../support/adapter-wire.ts";

const uspto = await wire("uspto");

function queryOf(action: string, params: Parameters<typeof uspto.send>[1]): Record<string, string> {
  return Object.fromEntries(new URL(uspto.send(action, params).url).searchParams);
}

describe("requests", () => {
  it("searches patents with our key in its header, only the fields that keep an answer small", () => {
    const sent = uspto.send("patents", {
      q: '"solid state" AND battery',
      date_gte: "2024-01-01",
      date_lte: "2024-12-31",
    });
    expect(sent.url.split("?")[0]).toBe("https://api.uspto.gov/api/v1/patent/applications/search");
    expect(sent.headers["x-api-key"]).toBe("key-of-ours");
    expect(Object.fromEntries(new URL(sent.url).searchParams)).toEqual({
      q: '"solid state" AND battery',
      rangeFilters: "applicationMetaData.grantDate 2024-01-01:2024-12-31",
      fields: "applicationNumberText,applicationMetaData",
      limit: "25",
      offset: "0",
    });
  });

  it("leaves one end of a range open, and counts from the filing where that is asked for", () => {
    expect(queryOf("patents", { q: "x", date_gte: "2024-01-01" }).rangeFilters).toMatch(/grantDate 2024-01-01:2999-/);
    expect(queryOf("patents", { q: "x", date_lte: "2024-01-01", date_field: "filingDate" }).rangeFilters).toBe(
      "applicationMetaData.filingDate 1790-01-01:2024-01-01",
    );
    expect(queryOf("patents", { q: "x" })).not.toHaveProperty("rangeFilters");
    const all = queryOf("patents", { date_gte: "2024-01-01" });
    expect(all).not.toHaveProperty("q");
    expect(all.rangeFilters).toMatch(/grantDate 2024-01-01:2999-/);
  });

  it("finds what was assigned to an organization by its name", () => {
    expect(queryOf("assignees", { organization: "Acme & Sons, Inc.", limit: 100, offset: 200 })).toEqual({
      q: 'assignmentBag.assigneeBag.assigneeNameText:"Acme & Sons, Inc."',
      fields: "applicationNumberText,applicationMetaData,assignmentBag",
      limit: "100",
      offset: "200",
    });
  });
});

describe("params", () => {
  it.each([
    ["patents", {}, "q"],
    ["patents", { q: "x", limit: 101 }, "limit"],
    ["patents", { q: "x", offset: -1 }, "offset"],
    ["patents", { q: "x", date_gte: "2024-13-01" }, "date_gte"],
    ["patents", { q: "x", date_gte: "2024-02-01", date_lte: "2024-01-01" }, "date_lte"],
    ["patents", { q: "x", organization: "y" }, "organization"],
    ["assignees", {}, "organization"],
    ["assignees", { organization: 'x" OR "y' }, "organization"],
  ])("%s refuses %j, naming %s", (action, params, field) => {
    expect(uspto.refuses(action, params)).toEqual([field]);
  });
});

describe("answers", () => {
  it.each(["patents", "assignees"])("a 404 of %s is an empty list", (action) => {
    const body = {
      code: 404,
      error: "Not Found",
      errorDetails: "No matching records found, refine your search criteria",
    };
    const empty = { verdict: "miss", data: { count: 0, patentFileWrapperDataBag: [] } };
    expect(uspto.means(action, { status: 404, body })).toMatchObject(empty);
  });

  it.each([
    [400, { code: 400, error: "Bad Request", errorDetails: "Invalid request" }, "caller_invalid"],
    [413, { code: 413, message: "Payload Too Large", detailedMessage: "Response exceeds 6MB" }, "caller_invalid"],
    [403, { code: 403, error: "Forbidden" }, "provider_auth_failed"],
    [429, { message: "Too Many Requests" }, "provider_rate_limited"],
    [500, { code: 500, error: "Internal Server Error" }, "provider_server_error"],
  ])("status %i with %j means %s", (status, body, verdict) => {
    expect(uspto.means("patents", { status, body }).verdict).toBe(verdict);
  });
});
