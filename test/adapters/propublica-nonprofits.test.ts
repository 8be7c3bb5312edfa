// Calls to the Nonprofit Explorer: brackets in its query, and a search without hits that is a 404.
import { describe, expect, it } from "vitest";
import { wire } from "../support/adapter-wire.ts";

const nonprofits = await wire("propublica-nonprofits");
const BASE = "https://projects.propublica.org/nonprofits/api/v2";

describe("search", () => {
  it("sends state and field of work under the vendor's bracketed names, percent-encoded", () => {
    const sent = nonprofits.send("search", { q: "food bank", state: "tx", ntee: 5, c_code: 3, page: 2 });
    expect(sent.url).toBe(`${BASE}/search.json?q=food+bank&state%5Bid%5D=TX&ntee%5Bid%5D=5&c_code%5Bid%5D=3&page=2`);
  });

  it.each([
    [{}, "q"],
    [{ page: 1 }, "q"],
    [{ q: "x", state: "Texas" }, "state"],
    [{ q: "x", ntee: 11 }, "ntee"],
    [{ q: "x", ntee: "5" }, "ntee"],
    [{ q: "x", page: -1 }, "page"],
  ])("refuses %j, naming %s", (params, field) => {
    expect(nonprofits.refuses("search", params)).toEqual([field]);
  });

  it.each([{ state: "TX" }, { ntee: 8 }, { c_code: 4 }])("takes %j without words", (params) => {
    expect(nonprofits.refuses("search", params)).toEqual([]);
  });

  it("a 404 is an empty list", () => {
    const meant = nonprofits.means("search", { status: 404, body: { total_results: 0, organizations: [] } });
    expect(meant).toMatchObject({ verdict: "miss", data: { total_results: 0, organizations: [] } });
    expect(nonprofits.means("search", { status: 404, body: "Not found" }).data).toMatchObject({ organizations: [] });
  });
});

describe("organization", () => {
  it.each(["14-2007220", "142007220", 142007220])("finds the organization %s", (ein) => {
    expect(nonprofits.send("organization", { ein }).url).toBe(`${BASE}/organizations/142007220.json`);
  });

  it.each([[{}], [{ ein: "14-200722" }], [{ ein: "14-2007220/.." }], [{ ein: 0 }], [{ ein: "abcdefghi" }]])(
    "refuses %j",
    (params) => {
      expect(nonprofits.refuses("organization", params)).toEqual(["ein"]);
    },
  );

  it("an unknown number is the caller's to mend, and a page is an outage", () => {
    expect(nonprofits.means("organization", { status: 404, body: { error: "not found" } }).verdict).toBe(
      "caller_invalid",
    );
    const page = { headers: { "content-type": "text/html" }, body: "<html>Down</html>" };
    expect(nonprofits.means("organization", page).verdict).toBe("provider_overloaded");
  });
});
