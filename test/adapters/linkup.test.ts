// Calls to Linkup: one endpoint at two depths, a miss that is an error, and used-up credits that look like rate limiting.
import { describe, expect, it } from "vitest";
import { wire } from "../support/adapter-wire.ts";

const linkup = await wire("linkup");
const schema = JSON.stringify({ type: "object", properties: { height: { type: "number" } } });

describe.each([
  ["search", "standard", 1],
  ["deep-search", "deep", 5],
])("%s", (action, depth, cents) => {
  it("sends the contract's params at its own depth, with the key as a bearer", () => {
    const params = {
      q: "how tall?",
      outputType: "structured",
      structuredOutputSchema: schema,
      fromDate: "2026-01-01",
      toDate: "2026-02-01",
      includeDomains: ["a.example"],
      excludeDomains: ["b.example"],
      includeImages: true,
    };
    const sent = linkup.send(action, params);
    expect(sent).toMatchObject({ method: "POST", url: "https://api.linkup.so/v1/search" });
    expect(sent.headers.authorization).toBe("Bearer key-of-ours");
    expect(sent.body).toEqual({ ...params, depth });
  });

  it("asks for an answer with sources unless told otherwise", () => {
    const { body } = linkup.send(action, { q: "x", includeInlineCitations: true });
    expect(body).toEqual({ q: "x", outputType: "sourcedAnswer", includeInlineCitations: true, depth });
    expect(linkup.refuses(action, { q: "x", outputType: "searchResults" })).toEqual([]);
  });

  it.each([
    [{}, "q"],
    [{ q: "x", outputType: "poem" }, "outputType"],
    [{ q: "x", outputType: "structured" }, "structuredOutputSchema"],
    [{ q: "x", outputType: "structured", structuredOutputSchema: "{" }, "structuredOutputSchema"],
    [{ q: "x", outputType: "structured", structuredOutputSchema: '{"type":"array"}' }, "structuredOutputSchema"],
    [{ q: "x", fromDate: "yesterday" }, "fromDate"],
    [{ q: "x", fromDate: "2026-02-01", toDate: "2026-01-01" }, "toDate"],
    [{ q: "x", depth: "deep" }, "depth"],
  ])("refuses %j, naming %s", (params, field) => {
    expect(linkup.refuses(action, params)).toEqual([field]);
  });

  it(`costs ${cents}`, () => {
    expect(linkup.quote(action, { q: "x" })).toBe(cents);
    expect(linkup.upstreamCents(action, { q: "x", outputType: "searchResults" })).toBeLessThanOrEqual(cents);
  });

  it.each([
    [400, "VALIDATION_ERROR", "caller_invalid"],
    [400, "SEARCH_QUERY_NO_RESULT", "miss"],
    [401, "UNAUTHORIZED", "provider_auth_failed"],
    [402, "PAYMENT_REQUIRED", "provider_billing"],
    [403, "IP_NOT_WHITELISTED", "provider_auth_failed"],
    [429, "INSUFFICIENT_FUNDS_CREDITS", "provider_billing"],
    [429, "EXCEED_BUDGET_LIMIT", "provider_billing"],
    [429, "TOO_MANY_REQUESTS", "provider_rate_limited"],
    [500, "INTERNAL_SERVER_ERROR", "provider_server_error"],
  ])("%d %s means %s", (status, code, verdict) => {
    const body = { statusCode: status, error: { code, message: "It is so.", details: [] } };
    expect(linkup.means(action, { status, body }).verdict).toBe(verdict);
  });

  it("gives a search without results the empty form of every kind of answer", () => {
    const body = { statusCode: 400, error: { code: "SEARCH_QUERY_NO_RESULT", message: "No result." } };
    const { data } = linkup.means(action, { status: 400, body });
    expect(data).toEqual({ answer: null, sources: [], results: [] });
  });
});

it("costs us more than it brings only where a deep search writes an answer, which the adapter says", () => {
  expect(linkup.upstreamCents("search", { q: "x" })).toBe(0.6);
  expect(linkup.upstreamCents("deep-search", { q: "x", outputType: "searchResults" })).toBe(5);
  expect(linkup.upstreamCents("deep-search", { q: "x" })).toBe(5.5);
  expect(linkup.actions["deep-search"]?.mayCostMore).toBeTruthy();
});
