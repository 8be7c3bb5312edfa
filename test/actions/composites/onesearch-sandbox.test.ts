// core/onesearch and core/consult over the vendors' stand-ins: an agent's author can try each facet without paying.
import { expect, it } from "vitest";
import { forFile } from "../../support/for-file.ts";
import { startAcmeGateway } from "../run/acme-gateway.ts";

const gateway = forFile(await startAcmeGateway());

const QUERY = { query: "tea harvest" };
const search = async (params: object, headers = {}) =>
  gateway.run(await gateway.account(), "core/onesearch", params, headers);

it.each([
  "web",
  "docs",
  "news",
  "academic",
  "code",
  "public-filings",
  "funding",
  "financials",
  "legal",
  "nonprofits",
  "regulatory",
  "compliance",
])("facet %s answers", async (facet) => {
  const { json } = await search({ ...QUERY, facets: [facet] });
  const cited = {
    facet,
    url: expect.stringMatching(/^https?:/),
    transaction_id: expect.stringMatching(/^tx_.*\.\d+$/),
  };
  expect(json).toMatchObject({ ok: true, charged_cents: 5, data: { evidence: [cited] } });
});

it.each(["tiktok", "instagram", "youtube", "twitter", "weibo", "reddit", undefined])(
  "facet social gives the posts of %s as they came",
  async (platform) => {
    const { json } = await search({ ...QUERY, facets: ["social"], ...(platform === undefined ? {} : { platform }) });
    expect(json).toMatchObject({ ok: true, data: { posts: [{ data: { code: 200 } }] } });
  },
);

it.each([
  {},
  { timeCritical: true },
  { fidelityRequired: true },
  { facets: ["web", "news", "academic"], maxResults: 2 },
])("a search of %j answers", async (frame) => {
  expect((await search({ ...QUERY, ...frame })).json).toMatchObject({ ok: true, charged_cents: 5 });
});

it.each([
  [{ urls: ["https://example.com"] }, "scrape"],
  [{ urls: ["example.com"], facets: ["scrape-hard"] }, "scrape-hard"],
  [{ urls: ["example.com"], asOf: "20150314" }, "scrape"],
])("a reading of %j answers", async (params, facet) => {
  expect((await search(params)).json.data).toMatchObject({ evidence: [{ facet, content: expect.any(String) }] });
});

it("reads a page by our own fetch first, which no vendor is needed for", async () => {
  const { json } = await search({ urls: ["https://example.com/some/article"] });
  expect(json.data).toMatchObject({
    evidence: [{ source: "direct", format: "markdown", transaction_id: `${json.transaction_id}.1` }],
    calls: [{ provider: "direct", action: "fetch", ok: true, results: 1, transaction_id: `${json.transaction_id}.1` }],
  });
});

it("a wall is followed by the next rungs", async () => {
  const { json } = await search({ urls: ["https://example.com/wall/scrapingant/markdown"] });
  expect(json.data).toMatchObject({ evidence: [{ source: "scrapingant" }] });
});

it("a fault that is asked for fails every source", async () => {
  const { status, json } = await search({ ...QUERY, facets: ["academic"] }, { "x-tollgate-sandbox-fault": "500" });
  expect([status, json.error, json.charged_cents]).toEqual([500, "upstream_error", 0]);
});

it("core/consult answers with a call that can be sent, after one question at most", async () => {
  const account = await gateway.account();
  const consult = async (params: object) => {
    const { json } = await gateway.run(account, "core/consult", params);
    expect(json).toMatchObject({ ok: true, charged_cents: 1 });
    return json.data as {
      conversation_id: string;
      question: string | null;
      service: string;
      action: string;
      params: object;
    };
  };
  const first = await consult({ intent: "search the news about heat pumps" });
  const { conversation_id } = first;
  const { service, action, params } =
    first.question === null ? first : await consult({ intent: "of this week", conversation_id });
  expect((await gateway.run(account, `${service}/${action}`, params)).json.ok).toBe(true);
});

it.each([
  ["tides in Brest", ["web"]],
  ["news about heat pumps", ["web", "news"]],
])("a search for %s looks where its words say", async (query, facets) => {
  const { json } = await search({ query });
  expect(json.data).toMatchObject({ chosen_by: "rules", facets });
});

it.each([
  ["find recent news about heat pumps", /news$/],
  ["who is the CTO of Stripe", /^core\/onefind$/],
  ["why is the sky blue?", /^core\/onesearch$/],
])("core/consult makes sense of: %s", async (intent, called) => {
  const { json } = await gateway.run(await gateway.account(), "core/consult", { intent });
  const { service, action, params } = json.data as { service: string; action: string; params: object };
  expect(`${service}/${action}`).toMatch(called);
  expect(Object.values(params)).toContain(intent);
});

it.each([
  ["fax https://example.com/a.pdf to +14155550123", "agentfax/send"],
  ["reviews of the restaurant Noma in Copenhagen", "brave/search"],
  ["get me the text of https://example.com/pricing", "parallel/extract"],
])("core/consult finds the call and its params in: %s", async (intent, called) => {
  const { json } = await gateway.run(await gateway.account(), "core/consult", { intent });
  const { service, action, params } = json.data as { service: string; action: string; params: object };
  expect([`${service}/${action}`, Object.keys(params).length > 0]).toEqual([called, true]);
});

it.each([
  ["send a fax", /^For agentfax\/send: what is to .* and file_url/],
  ["walk my dog", /^No action here is known to do that/],
  ["drive me to the airport", /^Do you mean /],
])("core/consult asks and calls nothing else for: %s", async (intent, asked) => {
  const { json } = await gateway.run(await gateway.account(), "core/consult", { intent });
  expect(json.data).toMatchObject({ action: null, question: expect.stringMatching(asked) });
});
