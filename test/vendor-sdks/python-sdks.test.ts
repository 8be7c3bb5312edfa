// Compares the requests of vendors' Python SDKs with those of our adapters' actions. Skipped by name where Python is missing, or its
// packages are not available.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/catalog/said.ts";
import { installedPython, toldByPython } from "../clients/python-site.ts";
import { wire } from "../support/adapter-wire.ts";
import { removeFolder } from "../support/remove-folder.ts";
import { type Apart, KEY, same, toldOf } from "./told.ts";

const folder = mkdtempSync(join(tmpdir(), "tollgate-python-sdks-"));
afterAll(() => removeFolder(folder));
const SITE = installedPython(folder, "--no-compile", "--no-deps", "-r", join(import.meta.dirname, "requirements.txt"));
const TOLD = SITE === null ? [] : await toldByPython("../vendor-sdks/python-sdks.py", SITE, [KEY]);

interface Row {
  readonly sdk: string;
  readonly vendor: string;
  readonly action: string;
  readonly params: JsonObject;
  readonly apart?: Apart;
}

const url = "https://a.org/";
const ROWS: readonly Row[] = [
  { sdk: "crw", vendor: "fastcrw", action: "scrape", params: { url } },
  {
    sdk: "oxylabs",
    vendor: "oxylabs",
    action: "scrape",
    params: { url, geo_location: "Germany", render: "html" },
    apart: {
      ours: ["source"],
      theirs: ["source"],
      why: "the SDK says `universal_ecommerce`, an older name of what the vendor's pages call `universal`",
    },
  },
  {
    sdk: "scrapingant-client",
    vendor: "scrapingant",
    action: "markdown",
    params: { url, proxy_country: "us", wait_for_selector: "h1" },
    apart: {
      ours: ["timeout", "browser"],
      theirs: ["browser"],
      why: "our bound; the SDK writes its truths in capitals",
    },
  },
  {
    sdk: "straleio",
    vendor: "strale",
    action: "check",
    params: { endpoint: "sanctions-check", name: "Acme Trading", entity_type: "company" },
  },
  {
    sdk: "tikhub",
    vendor: "tikhub",
    action: "fetch",
    params: { endpoint: "/api/v1/tiktok/web/fetch_user_profile", uniqueId: "tiktok" },
  },
  {
    sdk: "tomba-io",
    vendor: "tomba",
    action: "email-finder",
    params: { domain: "a.org", first_name: "Ada", last_name: "Lovelace" },
  },
];

function parsed(text: unknown): unknown {
  return typeof text === "string" && text !== "" ? JSON.parse(text) : null;
}

describe.skipIf(SITE === null)("Python's SDKs", () => {
  it.each(ROWS)("$sdk sends what we send: $vendor/$action", async ({ vendor, action, params, apart }) => {
    const asked = TOLD.find((one) => one.vendor === vendor);
    const ours = (await wire(vendor)).send(action, params);
    const [here, there] = [new URL(ours.url), new URL(String(asked?.url))];
    const at = ({ host, pathname, searchParams }: URL) => ({
      host,
      path: pathname,
      query: Object.fromEntries(searchParams),
    });
    const theirs = { method: String(asked?.method), headers: asked?.headers as never, body: parsed(asked?.body) };
    same(toldOf({ ...ours, ...at(here) }), toldOf({ ...theirs, ...at(there) }), apart);
  });

  it("asks each of them once", () => {
    expect(TOLD.map(({ vendor }) => vendor)).toEqual(ROWS.map(({ vendor }) => vendor));
  });
});
