// Calls to FRED: our key in the query, its error messages, and a wrong key that looks like a wrong param.
import { describe, expect, it } from "vitest";
import { wire } from "../support/adapter-wire.ts";

const fred = await wire("fred");
const said = (error_message: string, error_code = 400) => ({ status: error_code, body: { error_code, error_message } });

describe("FRED", () => {
  it.each([
    [
      "search",
      { search_text: "gdp", limit: 5 },
      "/series/search?file_type=json&search_text=gdp&search_type=full_text&limit=5",
    ],
    ["series", { series_id: "UNRATE" }, "/series?file_type=json&series_id=UNRATE"],
    [
      "observations",
      { series_id: "GDPC1", units: "pc1", frequency: "a", sort_order: "desc" },
      "/series/observations?file_type=json&series_id=GDPC1&limit=1000&sort_order=desc&units=pc1&frequency=a",
    ],
  ])("%s %j asks for JSON, with our key", (name, params, path) => {
    const sent = fred.send(name, params);
    expect(sent).toMatchObject({ method: "GET", body: null });
    expect(sent.url).toBe(`https://api.stlouisfed.org/fred${path}&api_key=key-of-ours`);
    expect([fred.quote(name, params), fred.upstreamCents(name, params)]).toEqual([1, 0]);
  });

  it.each([
    ["search", {}, "search_text"],
    ["search", { search_text: "gdp", api_key: "theirs" }, "api_key"],
    ["series", { series_id: "UNRATE&api_key=x" }, "series_id"],
    ["observations", { series_id: "UNRATE", limit: 100_000 }, "limit"],
    ["observations", { series_id: "UNRATE", observation_start: "yesterday" }, "observation_start"],
    ["observations", { series_id: "UNRATE", file_type: "xml" }, "file_type"],
  ])("%s refuses %j, naming %s", (name, params, field) => expect(fred.refuses(name, params)).toEqual([field]));

  it.each([
    ["observations", said("Bad Request.  The value for variable api_key is not registered."), "provider_auth_failed"],
    ["observations", said("Bad Request.  Variable api_key is not set."), "provider_auth_failed"],
    ["search", said("Bad Request.  The tag 'Variable api_key is not set' does not exist."), "miss"],
    ["observations", said("Bad Request.  The series does not exist."), "miss"],
    ["observations", said("Bad Request.  Value of frequency is not valid."), "caller_invalid"],
    ["observations", said("Too Many Requests.  Exceeded Rate Limit", 429), "provider_rate_limited"],
    ["observations", said("Locked", 423), "provider_overloaded"],
    ["observations", { body: { observations: [] } }, "miss"],
    ["search", { body: { seriess: [{ id: "UNRATE" }] } }, "success"],
    ["search", { body: "<html>maintenance</html>" }, "provider_malformed"],
  ])("%s: %j is %s", (name, answer, verdict) => expect(fred.means(name, answer).verdict).toBe(verdict));
});
