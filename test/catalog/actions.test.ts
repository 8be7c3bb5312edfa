// Every action of the shipped adapters: its example is valid, its requests can be built, and its answers are as declared.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { namedRow, rowCents } from "../../src/actions/run/table-params.ts";
import type { ActionSpec } from "../../src/catalog/action.ts";
import type { ActionOffer } from "../../src/catalog/catalog.ts";
import type { Params } from "../../src/catalog/said.ts";
import { systemClock } from "../../src/core/clock.ts";
import type { AttemptFailure, FinalPart, Reading } from "../../src/core/route.ts";
import { DIALECTS } from "../../src/models/formats/vendor-dialects.ts";
import { idsAt } from "../../src/upstream/missing-from.ts";
import { createUpstream } from "../../src/upstream/upstream.ts";
import { shippedCatalog } from "../support/shipped-catalog.ts";
import { startVendor, type VendorServer } from "../support/vendor-server.ts";

const PLAY = { sandbox: true };
const catalog = await shippedCatalog();
const vendors = [...catalog.adapters(PLAY).values()].filter(({ spec }) => spec.actions !== undefined);
const offers = vendors.flatMap(({ id, spec }) =>
  Object.keys(spec.actions ?? {}).flatMap((name) => catalog.action(`${id}/${name}`, PLAY)?.offers ?? []),
);
const byId = offers.map((offer): [string, ActionOffer] => [offer.id, offer]);

/** The example's params as the runner would pass them. */
function exampleOf({ spec, table }: ActionOffer) {
  const params = spec.params.parse(spec.example.params);
  const named =
    spec.table === undefined || table === null ? { params, row: null } : namedRow(table, spec.table, params);
  if (!("row" in named)) throw new Error(JSON.stringify(named));
  return named;
}

function upstreamCents({ upstreamCents: cents }: ActionSpec, params: Params): number {
  return typeof cents === "number" ? cents : cents(params);
}

let vendor: VendorServer;
const upstream = createUpstream(systemClock, { dialects: DIALECTS });
beforeAll(async () => {
  vendor = await startVendor();
});
afterAll(async () => {
  await upstream.close();
  await vendor.close();
});

/** Runs the action's example against a vendor that returns the example's answers in order. */
async function replay(offer: ActionOffer): Promise<{ final: FinalPart; reading: Reading } | AttemptFailure> {
  const { params, row } = exampleOf(offer);
  const { example, answer } = offer.spec;
  const headers = { "content-type": (answer?.kind ?? "json") === "json" ? "application/json" : "text/html" };
  const bodies = example.answers.map((body) => ({
    headers,
    body: typeof body === "string" ? body : JSON.stringify(body),
  }));
  const [first = { body: "" }, ...rest] = bodies;
  vendor.answers(first, ...rest);
  const origins = Object.fromEntries(
    Object.keys(offer.adapter.origins).map((name) => [name, `${vendor.url}/~${name}`]),
  );
  // The vendors' rate limits would make the tests wait for each other.
  const { rate: _, ...unpaced } = offer.adapter.spec;
  const adapter = { ...offer.adapter, spec: unpaced, origin: vendor.url, origins };
  const steps = offer.spec.steps?.map((step) => (step.until === undefined ? step : { ...step, everyMs: 1 }));
  const { rate: __, ...freely } = offer.spec;
  const spec = steps === undefined ? freely : { ...freely, steps };
  const restore = (json: string) => json;
  // In a sandbox, the callers' documents are local, and nothing external is fetched.
  const sandbox = { fault: null };
  const order = { soldId: offer.id, params, row, requestId: "req_1", restore, preamble: null, sandbox };
  return new Promise((resolve) => {
    const route = upstream.actionCandidate({ ...offer, adapter, spec }, order);
    const attempt = route.open(
      { content: () => {}, done: (final) => resolve({ final, reading: attempt.reading() }), failed: resolve },
      5_000,
    );
  });
}

describe("the actions that are sold", () => {
  it("are all those of the contract's parts 4.12 to 4.15, 4.18 and 4.19", () => {
    const contract = {
      exa: "search contents",
      brave: "search news",
      tavily: "search extract",
      linkup: "search deep-search",
      parallel: "search extract task task-status",
      firecrawl: "scrape crawl crawl-status map search extract extract-status",
      fastcrw: "scrape crawl crawl-status extract extract-status",
      scrapingant: "scrape markdown residential-scrape extract",
      oxylabs: "scrape",
      "2captcha": "create-task get-task-result",
      scraping: "scrape",
      fal: "upload generate",
      tikhub: "fetch submit",
      "sec-edgar": "entities filings fulltext document concept daily-index",
      courtlistener: "dockets opinions",
      "propublica-nonprofits": "search organization",
      govlaws: "search resolve",
      wayback: "snapshots available fetch",
      wikipedia: "search page",
      wikidata: "search entity sparql",
      uspto: "patents assignees",
      gdelt: "news timeline",
      openalex: "works work authors",
      "federal-register": "search document",
      "apex-db": "search get",
      rxatlas: "search get",
      "trialbase-db": "search get",
      recallradar: "search get",
      realestateapi: "property-search property-detail valuation comps skiptrace address-verify parcel autocomplete",
      contactout: "people-search profile-contacts person-from-email email-verify",
      tomba: "email-finder linkedin-finder domain-search author-finder enrich phone-finder email-verifier",
      icypeas: "email-search email-verification domain-search result",
      nyne: "person-enrichment interactions funders result",
      mem0: "add search",
      zep: "user-add thread-create add get-context search",
      letta: "agent-create message",
      agentmail: "create_inbox send list-messages reply",
      "primary-sources": "fetch",
      trends: "fetch",
      coingecko: "fetch",
      nansen: "fetch",
      allium: "fetch",
      strale: "check",
      aviationstack: "flights",
      kicksdb: "search product sales prices match",
      rentcast: "properties sale-listings rental-listings market-stats value-estimate rent-estimate",
    };
    const ids = Object.entries(contract).flatMap(([service, names]) =>
      names.split(" ").map((name) => `${service}/${name}`),
    );
    expect(ids.filter((id) => catalog.action(id, PLAY) === null)).toEqual([]);
  });

  it("say in words what they do and what each of their params is", () => {
    const silent = offers.filter(({ spec }) => spec.description.length < 20).map(({ id }) => id);
    expect(silent).toEqual([]);
  });
});

describe.each(byId)("%s", (_, offer) => {
  const { spec } = offer;

  it("makes good requests of its example, and takes its own example answers for a success", async () => {
    const result = await replay(offer);
    expect(result).toHaveProperty("final");
    expect(vendor.asked).toHaveLength(spec.example.answers.length);
    for (const { url, method, body } of vendor.asked) {
      expect(url).not.toMatch(/[{}]|undefined|null|%7B|\[object/);
      if (method === "GET") expect(body).toBe("");
    }
    if (!("reading" in result)) return;
    for (const { at } of spec.issues ?? []) expect(idsAt(result.reading.answer, at)).not.toEqual([]);
  });

  it("costs no more upstream than it is sold for, or says why", () => {
    const { params, row } = exampleOf(offer);
    const price =
      row === null ? (spec.price.quoteCents?.(params) ?? spec.price.cents) : rowCents(row, params, spec.price.cents);
    expect(price).toBeLessThanOrEqual(spec.price.cents);
    if (spec.mayCostMore === undefined) expect(upstreamCents(spec, params)).toBeLessThanOrEqual(price);
  });

  it("requires, hides and looks up only params that it has", () => {
    const named = [
      ...(spec.requires ?? []).map(({ param }) => param),
      ...(spec.callerIds ?? []),
      ...(spec.table === undefined ? [] : [spec.table.param]),
    ];
    const known = spec.params.safeParse(Object.fromEntries(named.map((name) => [name, "1"])));
    const unknown = known.success
      ? []
      : known.error.issues.flatMap((one) => (one.code === "unrecognized_keys" ? one.keys : []));
    expect(unknown).toEqual([]);
  });

  it("refuses a param that it does not know, and a body that is empty where something is required", () => {
    if (spec.table === undefined) {
      expect(spec.params.safeParse({ ...spec.example.params, no_such_param: 1 }).success).toBe(false);
    }
    const required = Object.keys(spec.example.params).length > 0;
    if (required && spec.params.safeParse({}).success) expect(exampleOf(offer)).toBeTruthy();
  });
});
