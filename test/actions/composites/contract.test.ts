// Checks our own actions against the contract: every field with its type, every error code with its status, and every limit at its edge. In
// the sandbox.

import { describe, expect, it } from "vitest";
import { forFile } from "../../support/for-file.ts";
import { eventually } from "../../support/gateway.ts";
import { getAs } from "../../support/keyed-fetch.ts";
import { type RunAnswer, startAcmeGateway } from "../run/acme-gateway.ts";

const gateway = forFile(await startAcmeGateway());
const account = await gateway.account({ creditCents: 5_000 });

type Data = Record<string, unknown>;
type Is = (value: unknown) => boolean;

const text: Is = (value) => typeof value === "string";
const number: Is = (value) => typeof value === "number";
const integer: Is = (value) => Number.isInteger(value);
const boolean: Is = (value) => typeof value === "boolean";
const array: Is = (value) => Array.isArray(value);
const object: Is = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const nullOr =
  (is: Is): Is =>
  (value) =>
    value === null || is(value);
const texts: Is = (value) => Array.isArray(value) && value.every(text);

/** Expects every field to be present and valid, and no fields other than these and those in `may`. */
function expectFields(of: unknown, fields: Readonly<Record<string, Is>>, may: readonly string[] = []): void {
  const data = of as Data;
  expect(Object.keys(data).filter((name) => !(name in fields) && !may.includes(name))).toEqual([]);
  expect(Object.keys(fields).filter((name) => !(name in data) || fields[name]?.(data[name]) !== true)).toEqual([]);
}

const run = (action: string, params: unknown, headers = {}): Promise<RunAnswer> =>
  gateway.run(account, `core/${action}`, params, headers);
const dataOf = ({ json }: RunAnswer) => json.data as Data & { rows: Data[]; calls: Data[] };

/** Launches a job and returns its record once it is over. */
async function done(action: string, params: object): Promise<Data & { result: Data & { rows: Data[] } }> {
  const launch = await run(action, params);
  expectFields(launch.json.data, { job_id: text, status: text, async: boolean });
  expect(launch.json).toMatchObject({ ok: true, charged_cents: 0, data: { status: "queued", async: true } });
  const { job_id: id } = launch.json.data as { job_id: string };
  return eventually(async () => {
    const poll = await run("result", { job_id: id });
    expect(poll.json.charged_cents).toBe(0);
    const job = poll.json.data as Data & { result: Data & { rows: Data[] } };
    expect(["queued", "running", "succeeded", "failed"]).toContain(job.status);
    return job.status === "succeeded" || job.status === "failed" ? job : undefined;
  }, "the job's end");
}

/** Fields beyond the contract's: metadata of a page. */
const DETAILS = ["byline", "published_at", "language", "site", "price", "rating"];
const PAGE_ROW_MAY = ["error", "truncated", ...DETAILS];
const PAGE_ROW = {
  id: text,
  url: text,
  final_url: nullOr(text),
  title: nullOr(text),
  content: nullOr(text),
  format: text,
  chars: integer,
  provider: nullOr(text),
  yield: number,
  quality_flags: texts,
  hops: array,
  hard: boolean,
  charged_cents: integer,
};
const HOP = { provider: text, action: text, ok: boolean, charged_cents: number, latency_ms: number };
const HOP_MAY = ["skipped", "found", "transaction_id"];
const PAGES = {
  url_count: integer,
  row_count: integer,
  read_count: integer,
  format: text,
  hard: boolean,
  rows: array,
  calls: array,
  next: text,
};
const PERSON_ROW = {
  id: text,
  name: nullOr(text),
  title: nullOr(text),
  company: nullOr(text),
  location: nullOr(text),
  linkedin: nullOr(text),
  email: nullOr(text),
  phone: nullOr(text),
  domain: nullOr(text),
  industry: nullOr(text),
  headcount: nullOr(text),
  hq: nullOr(text),
  sources: object,
  enriched: boolean,
  hops: array,
  charged_cents: integer,
};
const JOB = { job_id: text, status: text, charged_cents: integer };
const at = (path: string) => `https://example.com${path}`;

describe("fields", () => {
  it("of a page call and its rows (2.3, 2.4)", async () => {
    const answer = await run("onescrape", { urls: [at("/"), at("/thin"), at("/wall")] });
    expectFields(answer.json, {
      ok: boolean,
      data: object,
      charged_cents: integer,
      balance_remaining_cents: integer,
      transaction_id: text,
    });
    const data = dataOf(answer);
    expectFields(data, PAGES);
    expect(data).toMatchObject({ url_count: 3, row_count: 3, read_count: 2, format: "markdown", hard: false });
    for (const row of data.rows) {
      expectFields(row, PAGE_ROW, PAGE_ROW_MAY);
      for (const hop of row.hops as Data[]) expectFields(hop, HOP, HOP_MAY);
    }
    for (const call of data.calls) expectFields(call, { ...HOP, url: text }, HOP_MAY);
    // A null means that the cheap rungs bounced.
    const [page, , wall] = data.rows;
    expect(wall).toMatchObject({ content: null, hard: false, error: "blocked", quality_flags: ["blocked"], chars: 0 });
    expect(page?.chars).toBe(String(page?.content).length);
    expect(data.next).toContain("core/onescrape-deep");
  });

  it("of a job over a site, and of its record (2.4, 2.6)", async () => {
    const job = await done("onescrape-deep", { site: { url: at("/"), max_pages: 2 }, budgetCents: 40 });
    expectFields(job, { ...JOB, result: object }, ["progress"]);
    expectFields(job.result, {
      ...PAGES,
      site: object,
      blocked_count: integer,
      skipped_count: integer,
      spent_cents: integer,
      budget_cents: integer,
    });
    expectFields(job.result.site, { url: text, mapped_pages: integer });
    for (const row of job.result.rows) expectFields(row, PAGE_ROW, PAGE_ROW_MAY);
    expect(job).toMatchObject({ status: "succeeded", result: { budget_cents: 40 } });
    expect(job.charged_cents).toBe(job.result.spent_cents);
  });

  it("of a row that every rung has bounced off: content null, hard true (2.3)", async () => {
    const job = await done("onescrape-deep", { urls: [at("/"), at("/wall")] });
    expect(job.result).toMatchObject({ hard: true, blocked_count: 1, rows: [{}, { content: null, hard: true }] });
  });

  it("of people who are found (2.5)", async () => {
    const answer = await run("onefind", { query: "engineers who write about engines", limit: 1 });
    const data = dataOf(answer);
    expectFields(data, {
      query: text,
      person: boolean,
      row_count: integer,
      enriched: boolean,
      rows: array,
      calls: array,
      next: text,
    });
    for (const row of data.rows) {
      expectFields(row, PERSON_ROW, ["error"]);
      // Not looked up.
      expect(row).toMatchObject({ email: null, phone: null, enriched: false });
    }
    for (const call of data.calls) expectFields(call, HOP, HOP_MAY);
  });

  it("of people who are looked up (2.5, 2.6)", async () => {
    const job = await done("onefind-deep", { query: "Ada Lovelace, Example" });
    expectFields(job, { ...JOB, result: object }, ["progress"]);
    const { result } = job;
    const counts = { row_count: integer, enriched_count: integer, skipped_count: integer, stats: object };
    expectFields(result, { query: nullOr(text), ...counts, rows: array, spent_cents: integer, budget_cents: integer }, [
      "find",
    ]);
    expectFields(result.stats, { emails: integer, phones: integer });
    expectFields(result.find, { service: text, action: text, ok: boolean, latency_ms: number });
    for (const row of result.rows) {
      expectFields(row, PERSON_ROW, ["error", "match"]);
      for (const hop of row.hops as Data[]) expectFields(hop, HOP, HOP_MAY);
    }
    const named = await done("onefind-deep", { rows: ["ada@example.com"] });
    // Rows that came from an identifier name it.
    for (const row of named.result.rows) expectFields(row, { ...PERSON_ROW, input: text, used: object }, ["error"]);
  });

  it("of what core/discover and core/consult answer (4.1)", async () => {
    const found = (await run("discover", { query: "read a page as markdown" })).json.data as Data[];
    for (const one of found.slice(0, 3)) {
      for (const name of ["service", "action", "endpoint", "price_cents", "required_params"]) {
        expect(one).toHaveProperty(name);
      }
    }
    const asked = await run("consult", { intent: "read https://example.com as markdown" });
    expect(asked.json.charged_cents).toBe(1);
    // At most one short question; the conversation continues from there.
    const { question, conversation_id } = asked.json.data as Data;
    const answered = { intent: "the page itself", conversation_id };
    const said = question === null ? asked : await run("consult", answered);
    expectFields(said.json.data, {
      conversation_id: text,
      question: (value) => value === null,
      service: text,
      action: text,
      endpoint: text,
      description: text,
      params: object,
      max_cost_cents: number,
    });
  });

  it("of an error (2.2), with Retry-After and the four RateLimit headers", async () => {
    const answer = await run("onescrape", { urls: ["https://x.com/somebody"] });
    expect(answer.json).toMatchObject({ ok: false, error: "onescrape_social", message: expect.any(String) });
    for (const name of ["limit", "remaining", "reset", "policy"]) {
      expect(answer.headers.get(`ratelimit-${name}`)).not.toBeNull();
    }
  });
});

const WINE = {
  product: "cabernet-sauvignon-2021",
  email: "ada@example.com",
  shipping: { name: "Ada", address_line1: "1 Example Street", city: "Napa", state: "CA", zip: "94558" },
};
const long = (count: number, one: (n: number) => string) => Array.from({ length: count }, (_, n) => one(n));
const page = (n: number) => at(`/p${n}`);
const email = (n: number) => `p${n}@example.com`;

describe("codes (7) and limits (8), nothing charged", () => {
  const refused: readonly (readonly [action: string, params: object, status: number, error: string])[] = [
    ["onescrape", {}, 400, "bad_request"],
    ["onescrape", { urls: [] }, 400, "bad_request"],
    ["onescrape", { urls: long(6, page) }, 400, "bad_request"],
    ["onescrape", { urls: [at("/")], format: "pdf" }, 400, "bad_request"],
    ["onescrape", { urls: ["not a url"] }, 400, "bad_url"],
    ["onescrape", { urls: ["https://www.linkedin.com/in/ada"] }, 400, "onescrape_social"],
    ["onescrape", { urls: [at("/report.pdf")] }, 400, "onescrape_document"],
    ["onescrape", { urls: [at("/report.docx")] }, 400, "onescrape_document"],
    ["onescrape", { urls: [at("/wall")] }, 502, "all_blocked"],
    ["onescrape-deep", {}, 400, "bad_request"],
    ["onescrape-deep", { urls: [at("/")], site: { url: at("/") } }, 400, "bad_request"],
    ["onescrape-deep", { urls: long(51, page) }, 400, "bad_request"],
    ["onescrape-deep", { urls: [at("/")], budgetCents: 9 }, 400, "bad_request"],
    ["onescrape-deep", { urls: [at("/")], budgetCents: 501 }, 400, "bad_request"],
    ["onescrape-deep", { site: { url: at("/"), max_pages: 0 } }, 400, "bad_request"],
    ["onescrape-deep", { site: { url: at("/"), max_pages: 51 } }, 400, "bad_request"],
    ["onescrape-deep", { site: { url: "not a url" } }, 400, "bad_url"],
    ["onescrape-deep", { urls: ["https://www.reddit.com/r/tea"] }, 400, "onescrape_social"],
    ["onescrape-deep", { urls: [at("/sheet.xlsx")] }, 400, "onescrape_document"],
    ["onefind", {}, 400, "bad_request"],
    ["onefind", { query: "founders", limit: 0 }, 400, "bad_request"],
    ["onefind", { query: "founders", limit: 26 }, 400, "bad_request"],
    ["onefind", { query: "ada@example.com" }, 400, "onefind_identifier"],
    ["onefind", { query: "https://www.linkedin.com/in/ada" }, 400, "onefind_identifier"],
    ["onefind", { query: "+49 30 1234567" }, 400, "onefind_identifier"],
    ["onefind", { query: "nobody" }, 502, "no_people"],
    ["onefind-deep", {}, 400, "bad_request"],
    ["onefind-deep", { query: "founders", rows: [email(1)] }, 400, "bad_request"],
    ["onefind-deep", { rows: [email(1)], limit: 5 }, 400, "bad_request"],
    ["onefind-deep", { rows: long(51, email) }, 400, "bad_request"],
    ["onefind-deep", { rows: [email(1)], budgetCents: 9 }, 400, "bad_request"],
    ["onefind-deep", { rows: [email(1)], budgetCents: 501 }, 400, "bad_request"],
    ["onefind-deep", { query: "ada@example.com" }, 400, "onefind_identifier"],
    ["onesearch", {}, 400, "bad_request"],
    ["onesearch", { query: "tea", facets: ["scrape"] }, 400, "bad_request"],
    ["onesearch", { query: "tea", facets: ["tealeaves"] }, 400, "bad_request"],
    ["onesearch", { query: "tea", asOf: "2015-03-14" }, 400, "bad_request"],
    ["onesearch", { query: "tea", facets: ["social"], platform: "myspace" }, 400, "bad_request"],
    ["result", {}, 400, "bad_request"],
    ["result", { job_id: "job_nobody" }, 404, "not_found"],
    ["consult", {}, 400, "bad_request"],
    ["discover", {}, 400, "bad_request"],
  ];

  it("what is refused or fails costs nothing and holds nothing", async () => {
    const before = await gateway.balanceCents(account);
    const told: unknown[] = [];
    for (const [action, params] of refused) {
      const { status, json } = await run(action, params);
      told.push([action, params, status, json.error]);
      expect([action, json.ok, json.charged_cents]).toEqual([action, false, 0]);
    }
    expect(told).toEqual(refused);
    expect(await gateway.balanceCents(account)).toBe(before);
    expect(await gateway.heldCents(account)).toBe(0);
  });

  it("500 upstream_error where every source fails, 503 upstream_not_configured where there is none", async () => {
    const failed = await run("onesearch", { query: "tea", facets: ["web"] }, { "x-tollgate-sandbox-fault": "500" });
    expect([failed.status, failed.json.error, failed.json.charged_cents]).toEqual([500, "upstream_error", 0]);
    const live = await gateway.live({ creditCents: 100 });
    const nobody = await gateway.run(live, "core/onefind", { query: "founders" });
    expect([nobody.status, nobody.json.error, nobody.json.charged_cents]).toEqual([503, "upstream_not_configured", 0]);
  });

  it("402 credits_required, api_key_limit_exceeded and max_cost_exceeded, 401 invalid_token", async () => {
    const poor = await gateway.account({ creditCents: 5 });
    const deep = await gateway.run(poor, "core/onescrape-deep", { urls: [at("/")] });
    expect([deep.status, deep.json.error]).toEqual([402, "credits_required"]);
    const flat = await gateway.run(poor, "core/onescrape", { urls: long(3, page) });
    expect([flat.status, flat.json.error]).toEqual([402, "insufficient_balance"]);
    const capped = await run("onescrape-deep", { urls: [at("/")], max_cost_cents: 9 });
    expect([capped.status, capped.json.error]).toEqual([402, "max_cost_exceeded"]);
    const nobody = await gateway.run({ ...poor, key: `tg_sk_test_${"x".repeat(43)}` }, "core/onefind", {
      query: "founders",
    });
    expect([nobody.status, nobody.json.error]).toEqual([401, "invalid_token"]);
  });

  it("402 max_cost_required where a purchase names its price itself: nothing runs; the value is held, and is the cap", async () => {
    const buyer = await gateway.account({ creditCents: 20_000 });
    const { json: wine } = await gateway.run(buyer, "martin-estate/purchase", WINE);
    expect([wine.error, wine.charged_cents]).toEqual(["max_cost_required", 0]);
    expect([await gateway.balanceCents(buyer), await gateway.heldCents(buyer)]).toEqual([20_000, 0]);
    const described = await getAs(buyer.key, `${gateway.url}/api/run/martin-estate/purchase`);
    expect(await described.json()).toMatchObject({
      data: { price: { mode: "capped", max_cost_required: true }, effect: "write" },
    });
    // The bottle costs $125.
    const paid = await gateway.run(buyer, "martin-estate/purchase", { ...WINE, max_cost_cents: 15_000 });
    expect([paid.status, paid.json]).toMatchObject([
      200,
      { ok: true, charged_cents: 12_500, data: { status: "paid" } },
    ]);
    const { order_id } = paid.json.data as { order_id: string };
    const told = await gateway.run(buyer, "martin-estate/order", { order_id });
    expect(told.json).toMatchObject({ ok: true, charged_cents: 0, data: { order_id } });
    const poor = await gateway.run(buyer, "martin-estate/purchase", { ...WINE, max_cost_cents: 8_000 });
    expect([poor.status, poor.json.error]).toEqual([402, "insufficient_balance"]);
    const { json: kept } = await gateway.admin("GET", `/admin/v1/transactions/${paid.json.transaction_id}`);
    expect(kept).toMatchObject({ charged_cents: 12_500, upstream_nano_usd: 125_000_000_000 });
  });

  it("403 with verify_url where the seller has to know the buyer: free; the order_id goes on with it", async () => {
    const buyer = await gateway.account({ creditCents: 20_000 });
    const wanted = { ...WINE, max_cost_cents: 15_000 };
    const fault = { "x-tollgate-sandbox-fault": "means-caller_unverified" };
    const stopped = await gateway.run(buyer, "martin-estate/purchase", wanted, fault);
    expect([stopped.status, stopped.json.error, stopped.json.charged_cents]).toEqual([403, "verification_required", 0]);
    expect(stopped.json.data).toMatchObject({ verify_url: expect.any(String) });
    expect([await gateway.balanceCents(buyer), await gateway.heldCents(buyer)]).toEqual([20_000, 0]);
    const verified = await gateway.run(buyer, "martin-estate/purchase", { ...wanted, order_id: "ord_1" });
    expect(verified.json).toMatchObject({ ok: true, charged_cents: 12_500 });
  });

  it("429 too_many_inflight of a kind, while the other kind goes on", async () => {
    const busy = await gateway.account({ creditCents: 1_000 });
    const slow = { urls: [at("/hang")] };
    for (let job = 0; job < 3; job++) {
      expect((await gateway.run(busy, "core/onescrape-deep", slow)).status).toBe(200);
    }
    const fourth = await gateway.run(busy, "core/onescrape-deep", slow);
    expect([fourth.status, fourth.json.error]).toEqual([429, "too_many_inflight"]);
    const other = await gateway.run(busy, "core/onefind-deep", { rows: [email(1)] });
    expect(other.status).toBe(200);
    const { jobs } = await gateway.admin("GET", "/admin/v1/jobs").then(({ json }) => json as { jobs: Data[] });
    await Promise.all(jobs.map(({ job_id: id }) => gateway.run(busy, "core/cancel", { job_id: id })));
    await eventually(async () => ((await gateway.heldCents(busy)) === 0 ? true : undefined), "their ends");
  });

  it("the most that is allowed is taken: prices and what is held", async () => {
    const rich = await gateway.account({ creditCents: 5_000 });
    const five = await gateway.run(rich, "core/onescrape", { urls: long(5, page) });
    expect(five.json).toMatchObject({ ok: true, charged_cents: 10, data: { url_count: 5 } });
    // Duplicates are removed before anything is counted.
    const twice = await gateway.run(rich, "core/onescrape", { urls: ["example.com", at("/"), at("/#top")] });
    expect(twice.json).toMatchObject({ ok: true, charged_cents: 2, data: { url_count: 1 } });
    const defaults: readonly (readonly [string, object, number])[] = [
      ["onescrape-deep", { urls: long(50, page) }, 500],
      ["onescrape-deep", { site: { url: at("/") } }, 201],
      ["onefind-deep", { rows: long(3, email) }, 48],
      ["onefind-deep", { query: "founders" }, 240],
    ];
    for (const [action, params, cents] of defaults) {
      const { json } = await gateway.run(rich, `core/${action}`, { ...params, max_cost_cents: cents - 1 });
      expect([action, params, json.error]).toEqual([action, params, "max_cost_exceeded"]);
      const descriptor = await gateway.run(rich, `core/${action}`, { ...params, max_cost_cents: cents });
      const { job_id: id } = descriptor.json.data as { job_id: string };
      await gateway.run(rich, "core/cancel", { job_id: id });
    }
    await eventually(async () => ((await gateway.heldCents(rich)) === 0 ? true : undefined), "their ends");
  });
});
