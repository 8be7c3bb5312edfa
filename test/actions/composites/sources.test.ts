// The vendor actions that our composites use, as configured in tiers/: the params are valid, the requests conform to the vendor's own
// specification, and the composite finds the content in the answers.
import { describe, expect, it } from "vitest";
import { evidenceIn } from "../../../src/actions/composites/evidence.ts";
import { readPerson } from "../../../src/actions/composites/people/person-row.ts";
import type { FacetsSpec, SearchWanted, SourceSpec } from "../../../src/catalog/facets.ts";
import type { PagesWanted } from "../../../src/catalog/page-ladder.ts";
import type { EnrichSpec } from "../../../src/catalog/people-finder.ts";
import type { JsonObject } from "../../../src/catalog/said.ts";
import { atPointer } from "../../../src/upstream/json-pointer.ts";
import { type AdapterWire, wire } from "../../support/adapter-wire.ts";
import { forFile } from "../../support/for-file.ts";
import { startTestGateway } from "../../support/gateway.ts";
import { postAs } from "../../support/keyed-fetch.ts";
import { shippedCatalog } from "../../support/shipped-catalog.ts";
import { operationOf, toldOf, toldVendors } from "../../support/vendor-requests.ts";

const { compositeTiers } = await shippedCatalog({});
const [facets, pages, people] = ["onesearch", "onescrape", "onefind"].map((name) => compositeTiers.get(name));
if (facets?.kind !== "facets" || pages?.kind !== "page-ladder" || people?.kind !== "people-finder") {
  throw new Error("tiers/ has not what the composites need");
}

const senders = new Map<string, Promise<AdapterWire>>();
function senderOf(id: string): Promise<AdapterWire> {
  const sender = senders.get(id) ?? wire(id);
  senders.set(id, sender);
  return sender;
}

/** The problems of a call: its params by the action's schema, its request by the vendor's specification if we have one. */
async function faultsOf(id: string, params: JsonObject): Promise<readonly string[]> {
  const [vendor = "", name = ""] = id.split("/");
  const sender = await senderOf(vendor);
  const refused = sender.refuses(name, params);
  if (refused.length > 0) return [`${id} refuses ${refused} of ${JSON.stringify(params)}`];
  if (!toldVendors.includes(vendor) || id === "scrapingant/markdown") return [];
  const sent = sender.send(name, params);
  const operation = operationOf(sent, toldOf(vendor).operations);
  if (operation === undefined) return [`${id}: no ${sent.method} ${sent.url}`];
  return operation.check(sent).map((fault) => `${id} ${fault} of ${JSON.stringify(params)}`);
}

const gateway = forFile(await startTestGateway());
const account = await gateway.account({ creditCents: 50_000 });

/** What a caller of the action gets from its vendor's stand-in. */
async function answerOf(id: string, params: JsonObject | null): Promise<unknown> {
  const response = await postAs(account.key, `${gateway.url}/api/run/${id}`, params);
  const { ok, data, message } = (await response.json()) as { ok: boolean; data: unknown; message?: string };
  expect(ok, `${id}: ${message}`).toBe(true);
  return data;
}

const base: SearchWanted = {
  query: "heat pumps in old houses",
  count: 10,
  today: "2026-11-23",
  since: null,
  domains: [],
  excludeDomains: [],
  fullText: false,
  platform: "twitter",
};
/** Every param that a caller can set, at its limits, and all of them together. */
const WANTED: readonly SearchWanted[] = [
  base,
  { ...base, count: 1 },
  { ...base, count: 50 },
  { ...base, since: "2016-11-25" },
  { ...base, since: "2026-11-22" },
  { ...base, fullText: true },
  { ...base, domains: ["example.com"] },
  { ...base, domains: Array.from({ length: 20 }, (_, n) => `site-${n}.example.com`) },
  { ...base, excludeDomains: Array.from({ length: 20 }, (_, n) => `no-${n}.example.com`) },
  { ...base, query: "x" },
  { ...base, query: `"quoted" (or not) -minus site:a.example 'it's' 日本語 ÄÖÜ 💧 <b>` },
  { ...base, query: "word ".repeat(199).trim() },
  { ...base, query: "x".repeat(1_000) },
  { ...base, count: 50, since: "2026-01-01", domains: ["example.com"], excludeDomains: ["b.example"], fullText: true },
];
const PLATFORMS = ["tiktok", "instagram", "youtube", "twitter", "weibo", "reddit"];

const asked = (one: FacetsSpec) =>
  Object.entries(one.facets).flatMap(([facet, { sources }]) =>
    sources.map((source, at): [string, SourceSpec] => [`${facet} ${at} ${source.action}`, source]),
  );

/** The answers to every use of the source's action by any facet: news results have other fields than pages. */
async function answersTo({ action }: SourceSpec): Promise<readonly unknown[]> {
  const same = asked(facets as FacetsSpec).filter(([, source]) => source.action === action);
  const made = same.map(([, source]) => WANTED.map((wanted) => source.params(wanted)).find((one) => one !== null));
  const texts = new Set(made.map((params) => JSON.stringify(params)));
  return Promise.all([...texts].map((text) => answerOf(action, JSON.parse(text))));
}

describe("each source of a facet", () => {
  it.each(asked(facets))("%s is asked what its action and its vendor take", async (_, source) => {
    const platforms = source.action === "tikhub/fetch" ? PLATFORMS : ["twitter"];
    const calls = platforms.flatMap((platform) => WANTED.map((wanted) => source.params({ ...wanted, platform })));
    const made = calls.filter((params) => params !== null);
    expect(made.length).toBeGreaterThan(WANTED.length / 2 - 1);
    expect((await Promise.all(made.map((params) => faultsOf(source.action, params)))).flat()).toEqual([]);
  });

  it.each(asked(facets).filter(([name]) => !name.startsWith("social")))(
    "%s answers with what becomes evidence: an address and a title, and its text",
    async (_, source) => {
      const cited = { facet: "web", source: "acme", transaction_id: "tx_1.1" };
      const answers = await answersTo(source);
      const found = answers.flatMap((answer) => evidenceIn(answer, source, cited));
      expect(found.length).toBeGreaterThan(0);
      for (const { url, title } of found) {
        expect(URL.parse(url ?? "")?.protocol).toMatch(/^https?:$/);
        expect(title).toEqual(expect.stringMatching(/\S/));
      }
      if (source.snippet !== undefined) expect(found.some(({ snippet }) => snippet !== null)).toBe(true);
      if (source.publishedAt === undefined) return;
      for (const { published_at: at } of found) if (at !== undefined) expect(at).toMatch(/^\d{4}-\d\d-\d\d/);
      expect(found.some((one) => one.published_at !== undefined)).toBe(true);
    },
  );
});

describe("each rung", () => {
  const calls = pages.rungs.flatMap(({ tag, pagesMax = 1, markdown, html }) =>
    (["markdown", "html"] as const).flatMap((format) => {
      const call = { markdown, html }[format];
      return call === undefined ? [] : [{ tag, pagesMax, format, call }];
    }),
  );

  it.each(calls)(
    "$tag is asked for $format what its action and its vendor take",
    async ({ call, format, pagesMax }) => {
      const urls = Array.from({ length: pagesMax }, (_, n) => `https://example.com/${n}?a=b%20c`);
      const long = `https://xn--mnchen-3ya.example/${"x".repeat(2_000)}`;
      const wanted: readonly PagesWanted[] = [true, false].flatMap((mainContent) => [
        { urls, format, mainContent },
        { urls: urls.slice(0, 1), format, mainContent },
        { urls: [long], format, mainContent },
      ]);
      const faults = await Promise.all(wanted.map((one) => faultsOf(call.action, call.params(one))));
      expect(faults.flat()).toEqual([]);
    },
  );

  it.each(calls)("$tag answers with a page where $format is read", async ({ call, format }) => {
    const { action, answer } = call;
    const data = await answerOf(action, call.params({ urls: ["https://example.com/"], format, mainContent: true }));
    const list: unknown = answer.listAt === undefined ? [data] : atPointer(data, answer.listAt);
    const read: unknown[] = Array.isArray(list) ? list : [];
    expect(read.some((item) => typeof atPointer(item, answer.contentAt) === "string")).toBe(true);
    if (answer.urlAt !== undefined) expect(read.every((item) => atPointer(item, answer.urlAt ?? ""))).toBe(true);
  });

  it("the map of a site and the archive's copy are asked and read so, too", async () => {
    const { map } = pages;
    expect(await faultsOf(map.action, { url: "https://example.com/" })).toEqual([]);
    const mapped = await answerOf(map.action, { url: "https://example.com/" });
    expect(atPointer((atPointer(mapped, map.linksAt) as unknown[])[0], map.urlAt)).toMatch(/^https?:/);
    const { archive } = facets;
    const params = archive.params("https://example.com/", "20150314");
    expect(await faultsOf(archive.action, params)).toEqual([]);
    expect((await answerOf(archive.action, params)) ?? null).not.toBeNull();
  });
});

describe("each step of finding people", () => {
  const { email, linkedin } = people.enrich;
  const steps: readonly (readonly [string, EnrichSpec, string])[] = [
    ...email.map((step) => [step.action, step, "ada@example.com"] as const),
    ...linkedin.map((step) => [step.action, step, "https://www.linkedin.com/in/ada"] as const),
  ];

  it("the search is asked what its action and its vendor take, and answers with people", async () => {
    const { find } = people;
    for (const limit of [1, 25]) {
      expect(await faultsOf(find.action, find.params({ query: "founders in Berlin", limit }))).toEqual([]);
    }
    const data = await answerOf(find.action, find.params({ query: "founders in Berlin", limit: 5 }));
    const items = (atPointer(data, find.listAt) ?? []) as unknown[];
    const found = items.map((item) => readPerson(item, find.person));
    expect(found.some((person) => person.has("name") && person.has("linkedin"))).toBe(true);
  });

  it.each(steps)("%s is asked what it takes, and answers with what it is to fill", async (action, step, about) => {
    expect(await faultsOf(action, step.params(about))).toEqual([]);
    const fields = readPerson(await answerOf(action, step.params(about)), step.person).keys();
    // Phone numbers cost more there, so they are fetched only on request.
    const unasked = action === "contactout/profile-contacts" ? ["phone"] : [];
    expect([...fields, ...unasked].sort()).toEqual(Object.keys(step.person).sort());
  });
});
