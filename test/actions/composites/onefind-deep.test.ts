// core/onefind-deep over the test's own vendors: which vendors it queries in which order, what rows contain, and the cost of each outcome.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { eventually, type TestAccount } from "../../support/gateway.ts";
import { startVendor, type VendorRequest, type VendorServer } from "../../support/vendor-server.ts";
import { type AcmeGateway, type RunAnswer, startAcmeGateway } from "../run/acme-gateway.ts";

let vendor: VendorServer;
let gateway: AcmeGateway;
let sandbox: TestAccount;
beforeAll(async () => {
  vendor = await startVendor();
  const settings: Record<string, string> = { TOMBA_SECRET_KEY: "s" };
  for (const id of ["EXA", "CONTACTOUT", "TOMBA"]) {
    settings[`${id}_API_KEY`] = "key";
    settings[`${id}_BASE_URL`] = `${vendor.url}/${id.toLowerCase()}`;
  }
  gateway = await startAcmeGateway(settings);
  sandbox = await gateway.account({ kind: "sandbox", creditCents: 10_000 });
});
afterAll(async () => {
  const findings = await gateway.doctor();
  await gateway.stop();
  await vendor.close();
  expect(findings).toEqual([]);
});

interface Answer {
  readonly status?: number;
  readonly body: unknown;
}
type Play = (request: VendorRequest) => Answer | Promise<Answer>;

const EMAIL = "/contactout/email/enrich";
const CONTACTS = "/contactout/people/linkedin";
const ENRICH = "/tomba/combined/find";
const FINDER = "/tomba/linkedin";
const SEARCH = "/exa/search";
const UNKNOWN: Answer = { status: 404, body: { status_code: 404, message: "Not Found" } };
const NOBODY: Readonly<Record<string, Play>> = {
  [EMAIL]: () => UNKNOWN,
  [CONTACTS]: () => UNKNOWN,
  [ENRICH]: () => ({ body: { data: { person: null, company: null } } }),
  [FINDER]: () => ({ body: { data: { email: null } } }),
  [SEARCH]: () => ({ body: { results: [] } }),
};
/** The answers of each vendor path. */
let plays: Readonly<Record<string, Play>> = NOBODY;

beforeEach(() => {
  plays = NOBODY;
  vendor.answers(async (response, request) => {
    const path = request.url.split("?")[0] ?? "";
    const { status = 200, body } = (await plays[path]?.(request)) ?? UNKNOWN;
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
});

const asked = () => vendor.asked.map(({ url }) => url.split("?")[0]);
const ADA = "https://www.linkedin.com/in/ada";
const company = { name: "Example", domain: "example.com", size: 50, industry: "Software", headquarter: "London" };
const person = (more = {}) => ({
  body: { status_code: 200, profile: { fullName: "Ada Lovelace", headline: "Engineer", linkedinUrl: ADA, ...more } },
});
const profile = (slug: string, name: string, at: string) => ({
  url: `https://www.linkedin.com/in/${slug}`,
  entities: [{ properties: { name, workHistory: [{ title: "Engineer", company: { name: at } }] } }],
});
const contacts = (more: object) => ({
  body: { status_code: 200, profile: { url: ADA, email: [], phone: [], ...more } },
});

interface Row {
  readonly id: string;
  readonly charged_cents: number;
  readonly hops: readonly Record<string, unknown>[];
  readonly [field: string]: unknown;
}
interface Result {
  readonly rows: readonly Row[];
  readonly [field: string]: unknown;
}
interface Job {
  readonly status: string;
  readonly result: Result;
  readonly charged_cents: number;
  readonly progress?: { readonly done: number; readonly total: number };
  readonly stopped?: string;
  readonly cancelled?: boolean;
}

const deep = (account: TestAccount, params: object, headers = {}) =>
  gateway.run(account, "core/onefind-deep", params, headers);
const jobIdOf = ({ json }: RunAnswer) => (json.data as { job_id: string }).job_id;

async function look(account: TestAccount, jobId: string): Promise<Job> {
  const { json } = await gateway.run(account, "core/result", { job_id: jobId });
  expect(json.charged_cents).toBe(0);
  return json.data as Job;
}

/** Launches a job and waits for its end. */
async function done(account: TestAccount, params: object, headers = {}): Promise<Job> {
  const launch = await deep(account, params, headers);
  expect(launch.json).toMatchObject({ ok: true, charged_cents: 0, data: { status: "queued", async: true } });
  const isOver = async () => {
    const job = await look(account, jobIdOf(launch));
    return ["succeeded", "failed"].includes(job.status) ? job : undefined;
  };
  const job = await eventually(isOver, "the job's end");
  expect(await gateway.heldCents(account)).toBe(0);
  return job;
}

const live = (creditCents = 1_000) => gateway.live({ creditCents });
/** The non-empty fields of a row, without those about how it was found. */
function told({ id, hops, sources, enriched, charged_cents, ...fields }: Row) {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}

describe("an email address", () => {
  it("is looked up in reverse, and its company is asked for where facts are missing", async () => {
    plays = {
      ...NOBODY,
      [EMAIL]: () => person({ phone: "+441" }),
      [ENRICH]: () => ({
        body: {
          data: {
            person: { name: { fullName: "A. Lovelace" } },
            company: {
              name: "Example",
              domain: "www.example.com",
              metrics: { employees: "11-50" },
              geo: { city: "London", country: "UK" },
            },
          },
        },
      }),
    };
    const account = await live();
    const job = await done(account, { rows: ["ada@example.com"] });
    expect(job).toMatchObject({ status: "succeeded", charged_cents: 14, progress: { done: 1, total: 1 } });
    const { rows, ...result } = job.result;
    expect(result).toEqual({
      query: null,
      row_count: 1,
      enriched_count: 1,
      skipped_count: 0,
      stats: { emails: 0, phones: 1 },
      spent_cents: 14,
      budget_cents: 16,
    });
    expect(rows).toEqual([
      {
        id: ADA,
        input: "ada@example.com",
        used: { email: "ada@example.com" },
        name: "Ada Lovelace",
        title: "Engineer",
        company: "Example",
        location: null,
        linkedin: ADA,
        email: "ada@example.com",
        phone: "+441",
        domain: "example.com",
        industry: null,
        headcount: "11-50",
        hq: "London, UK",
        sources: {
          email: "input",
          name: "contactout",
          title: "contactout",
          linkedin: "contactout",
          phone: "contactout",
          company: "tomba",
          domain: "tomba",
          headcount: "tomba",
          hq: "tomba",
        },
        enriched: true,
        hops: [
          {
            provider: "contactout",
            action: "contactout/person-from-email",
            ok: true,
            charged_cents: 10,
            latency_ms: expect.any(Number),
            transaction_id: expect.stringMatching(/^tx_.+\.1$/),
          },
          {
            provider: "tomba",
            action: "tomba/enrich",
            ok: true,
            charged_cents: 4,
            latency_ms: expect.any(Number),
            transaction_id: expect.stringMatching(/^tx_.+\.2$/),
          },
        ],
        charged_cents: 14,
      },
    ]);
    expect(await gateway.balanceCents(account)).toBe(1_000 - 14);
  });

  it("whose company is known needs no second look-up", async () => {
    plays = { ...NOBODY, [EMAIL]: () => person({ company }) };
    const job = await done(await live(), { rows: ["ada@example.com"] });
    expect([job.charged_cents, asked()]).toEqual([10, [EMAIL]]);
    expect(job.result.rows[0]).toMatchObject({ headcount: "50", hq: "London", industry: "Software" });
    expect(job.result.rows[0]?.hops[1]).toMatchObject({ provider: "tomba", skipped: "nothing_missing", ok: false });
  });

  it.each(["ada@gmail.com", "Ada@Yahoo.co.uk", "ada@gmx.de"])(
    "%s says nothing of a company: no second look-up",
    async (email) => {
      plays = { ...NOBODY, [EMAIL]: () => person() };
      const job = await done(await live(), { rows: [email] });
      expect([job.charged_cents, asked()]).toEqual([10, [EMAIL]]);
      expect(job.result.rows[0]?.hops[1]).toMatchObject({ skipped: "webmail", charged_cents: 0 });
    },
  );

  it("that only the second vendor knows costs what that one does: a miss is free", async () => {
    plays = { ...NOBODY, [ENRICH]: () => ({ body: { data: { person: null, company: { name: "Example" } } } }) };
    const job = await done(await live(), { rows: ["ada@example.com"] });
    expect([job.charged_cents, asked()]).toEqual([4, [EMAIL, ENRICH]]);
    expect(job.result.rows[0]?.hops).toMatchObject([
      { ok: true, charged_cents: 0 },
      { ok: true, charged_cents: 4 },
    ]);
  });
});

describe("a LinkedIn URL", () => {
  it("is asked for contacts, and where there is no email the finder is asked", async () => {
    plays = {
      ...NOBODY,
      [CONTACTS]: () => contacts({ phone: ["+442"] }),
      [FINDER]: () => ({
        body: { data: { email: "ada@example.com", full_name: "Ada Lovelace", position: "Countess" } },
      }),
    };
    const job = await done(await live(), { rows: ["uk.linkedin.com/in/ada/?x=1"] });
    expect([job.charged_cents, asked()]).toEqual([15, [CONTACTS, FINDER]]);
    const [row] = job.result.rows;
    expect(row && told(row)).toEqual({
      input: "uk.linkedin.com/in/ada/?x=1",
      used: { linkedin: ADA },
      name: "Ada Lovelace",
      title: "Countess",
      linkedin: ADA,
      email: "ada@example.com",
      phone: "+442",
    });
    expect(row).toMatchObject({ id: ADA, sources: { linkedin: "input", email: "tomba", phone: "contactout" } });
    expect(job.result.stats).toEqual({ emails: 1, phones: 1 });
    expect(vendor.asked[0]?.url).toContain(`profile=${encodeURIComponent(ADA)}`);
  });

  it("whose email is known is not asked of the finder; the address of work is preferred", async () => {
    plays = { ...NOBODY, [CONTACTS]: () => contacts({ email: ["ada@home.example"], work_email: ["ada@example.com"] }) };
    const job = await done(await live(), { rows: [ADA] });
    expect([job.charged_cents, asked()]).toEqual([10, [CONTACTS]]);
    expect(job.result.rows[0]).toMatchObject({ email: "ada@example.com" });
  });
});

describe("a name with a company", () => {
  it("is searched for first, and then goes the way of the profile", async () => {
    plays = {
      ...NOBODY,
      [SEARCH]: () => ({
        body: { results: [profile("x", "Ada Lovelace", "Other"), profile("ada", "Ada Lovelace", "Example Ltd")] },
      }),
      [CONTACTS]: () => contacts({ work_email: ["ada@example.com"] }),
    };
    const job = await done(await live(), { rows: ["ada lovelace @ example"] });
    expect([job.charged_cents, asked()]).toEqual([11, [SEARCH, CONTACTS]]);
    expect(job.result.rows[0]).toMatchObject({
      id: ADA,
      input: "ada lovelace @ example",
      used: { name: "ada lovelace", company: "example" },
      match: { name: 1, company: 1 },
      name: "Ada Lovelace",
      company: "Example Ltd",
      sources: { name: "exa", company: "exa", linkedin: "exa", email: "contactout" },
      hops: [
        { provider: "exa", action: "exa/search", charged_cents: 1 },
        { charged_cents: 10 },
        { skipped: "nothing_missing" },
      ],
      charged_cents: 11,
    });
  });

  it.each([
    ["Ada Lovelace, Example", "Eve Adams", "Other"],
    ["Zoe Zorn, Acme", "Zoe Miller", "Acme"],
    ["John Homonym, Acme", "John Homonym", "Globex Foods"],
  ])("%s is not %s of %s: free, and no stranger is looked up", async (row, name, company) => {
    plays = { ...NOBODY, [SEARCH]: () => ({ body: { results: [profile("x", name, company)] } }) };
    const account = await live();
    const job = await done(account, { rows: [row] });
    expect(job).toMatchObject({ status: "failed", charged_cents: 0, result: { error: "no_people" } });
    expect([asked(), await gateway.balanceCents(account)]).toEqual([[SEARCH], 1_000]);
    expect(await gateway.transactions(account)).toEqual([]);
  });
});

describe("a query", () => {
  it("finds people, and looks each of them up", async () => {
    plays = {
      ...NOBODY,
      [SEARCH]: () => ({
        body: { results: [profile("a", "Ann", "A"), profile("b", "Bob", "B"), profile("c", "Cy", "C")] },
      }),
      [CONTACTS]: ({ url }) => (url.includes("in%2Fb") ? UNKNOWN : contacts({ email: ["x@example.com"] })),
    };
    const job = await done(await live(), { query: "founders in Berlin", limit: 3 });
    expect(job.result).toMatchObject({
      query: "founders in Berlin",
      row_count: 3,
      enriched_count: 3,
      skipped_count: 0,
      stats: { emails: 2, phones: 0 },
      spent_cents: 21,
      budget_cents: 48,
      find: { service: "exa", action: "search", ok: true, latency_ms: expect.any(Number) },
    });
    expect(
      job.result.rows.map(({ name, email, enriched, charged_cents }) => [name, email, enriched, charged_cents]),
    ).toEqual([
      ["Ann", "x@example.com", true, 10],
      ["Bob", null, true, 0],
      ["Cy", "x@example.com", true, 10],
    ]);
    expect(job.result.rows.some((row) => "input" in row)).toBe(false);
    // Only the search and the rows were charged.
    expect(job.charged_cents).toBe(21);
  });

  it("that names one person looks up that person alone, and holds one row's budget", async () => {
    plays = {
      ...NOBODY,
      [SEARCH]: () => ({
        body: { results: [profile("x", "Ada King", "Y"), profile("ada", "Ada Lovelace", "Example")] },
      }),
      [CONTACTS]: () => contacts({ email: ["ada@example.com"] }),
    };
    const job = await done(await live(16), { query: "Ada Lovelace, Example" });
    expect(job.result).toMatchObject({ row_count: 1, budget_cents: 16, spent_cents: 11, rows: [{ id: ADA }] });
  });

  it.each([
    ["finds nobody", () => ({ body: { results: [] } }), "no_people"],
    ["cannot be asked", () => ({ status: 500, body: {} }), "upstream_error"],
  ])("that %s ends failed and is free", async (_, search, error) => {
    plays = { ...NOBODY, [SEARCH]: search };
    const account = await live();
    const job = await done(account, { query: "founders" });
    expect(job).toMatchObject({ status: "failed", charged_cents: 0, result: { error } });
    expect([await gateway.balanceCents(account), await gateway.transactions(account)]).toEqual([1_000, []]);
  });
});

describe("what is refused, before anything is held", () => {
  it.each([
    [{}, ["query", "rows"]],
    [{ query: "founders", rows: ["ada@example.com"] }, ["query", "rows"]],
    [{ rows: ["ada@example.com"], limit: 5 }, ["limit", "rows"]],
    [{ rows: [] }, ["rows"]],
    [{ rows: Array(51).fill("ada@example.com") }, ["rows"]],
    [{ rows: ["ada@example.com", "Ada Lovelace"] }, ["rows.1", "company"]],
    [{ rows: ["+44 20 7946 0000"] }, ["rows.0", "phone"]],
    [{ rows: ["https://www.linkedin.com/company/example"] }, ["rows.0", "profile"]],
    [{ query: "founders", limit: 26 }, ["limit"]],
    [{ query: "founders", budgetCents: 9 }, ["budgetCents"]],
    [{ query: "founders", budgetCents: 501 }, ["budgetCents"]],
    [{ query: "founders", budgetCents: 10.5 }, ["budgetCents"]],
  ])("%j is 400 and names %j", async (params, words) => {
    const account = await live();
    const { status, json, text } = await deep(account, params);
    expect([status, json.error, await gateway.heldCents(account)]).toEqual([400, "bad_request", 0]);
    for (const word of words) expect(String(json.message)).toContain(word);
    expect(text.length).toBeLessThan(2_000);
  });

  it("an identifier as a query is onefind_identifier", async () => {
    const { status, json } = await deep(await live(), { query: "ada@example.com" });
    expect([status, json.error]).toEqual([400, "onefind_identifier"]);
  });

  it("a budget above the balance is credits_required, one above max_cost_cents max_cost_exceeded", async () => {
    const poor = await deep(await live(15), { rows: ["ada@example.com"] });
    expect([poor.status, poor.json.error]).toEqual([402, "credits_required"]);
    const bound = await deep(await live(), { rows: ["ada@example.com"], max_cost_cents: 15 });
    expect([bound.status, bound.json.error]).toEqual([402, "max_cost_exceeded"]);
  });

  it("a fourth job while three run is too_many_inflight", async () => {
    const account = await live();
    const { promise, resolve } = Promise.withResolvers<Answer>();
    plays = { ...NOBODY, [EMAIL]: () => promise };
    for (let at = 0; at < 3; at++) expect((await deep(account, { rows: ["ada@gmail.com"] })).status).toBe(200);
    const fourth = await deep(account, { rows: ["ada@gmail.com"] });
    expect([fourth.status, fourth.json.error]).toEqual([429, "too_many_inflight"]);
    resolve(person());
    await eventually(async () => ((await gateway.heldCents(account)) === 0 ? true : undefined), "their end");
  });
});

describe("a budget", () => {
  it.each([
    [{ rows: ["a@example.com", "b@example.com", "A@example.com"] }, 32],
    [{ query: "founders" }, 240],
    [{ query: "founders", limit: 2 }, 32],
    [{ query: "Ada Lovelace, Example" }, 16],
    [{ rows: Array.from({ length: 50 }, (_, at) => `p${at}@example.com`) }, 500],
    [{ rows: ["a@example.com"], budgetCents: 10 }, 10],
  ])("of %j is %d cents, held while it runs", async (params, cents) => {
    const account = await live();
    const never = new Promise<Answer>(() => {});
    plays = { ...NOBODY, [EMAIL]: () => never, [SEARCH]: () => never };
    const launch = await deep(account, params);
    expect(await gateway.heldCents(account)).toBe(cents);
    await gateway.run(account, "core/cancel", { job_id: jobIdOf(launch) });
    await eventually(async () => ((await gateway.heldCents(account)) === 0 ? true : undefined), "its end");
    expect(await look(account, jobIdOf(launch))).toMatchObject({ status: "failed", cancelled: true, charged_cents: 0 });
  });

  it("that runs out leaves rows that say over budget, and is never passed", async () => {
    plays = { ...NOBODY, [EMAIL]: () => person({ company }) };
    const rows = Array.from({ length: 5 }, (_, at) => `p${at}@example.com`);
    const account = await live();
    const job = await done(account, { rows, budgetCents: 25 });
    expect(job).toMatchObject({ status: "succeeded", charged_cents: 20 });
    expect(job.result).toMatchObject({
      row_count: 5,
      enriched_count: 2,
      skipped_count: 3,
      spent_cents: 20,
      budget_cents: 25,
    });
    expect(job.result.rows.map(({ input, error, enriched }) => [input, error, enriched])).toEqual([
      ["p0@example.com", undefined, true],
      ["p1@example.com", undefined, true],
      ["p2@example.com", "over budget", false],
      ["p3@example.com", "over budget", false],
      ["p4@example.com", "over budget", false],
    ]);
    expect(job.result.rows[2]).toMatchObject({ name: null, charged_cents: 0, hops: [{ skipped: "over_budget" }] });
    expect([asked(), await gateway.balanceCents(account)]).toEqual([[EMAIL, EMAIL], 980]);
  });

  it("has room again where a step that was under way turns out free", async () => {
    const first = Promise.withResolvers<Answer>();
    plays = { ...NOBODY, [EMAIL]: ({ url }) => (url.includes("p0") ? first.promise : person({ company })) };
    const account = await live();
    const launch = await deep(account, { rows: ["p0@gmail.com", "p1@gmail.com"], budgetCents: 15 });
    await eventually(() => (vendor.asked.length > 0 ? true : undefined), "the first step");
    first.resolve(UNKNOWN);
    const job = await eventually(async () => {
      const seen = await look(account, jobIdOf(launch));
      return seen.status === "succeeded" ? seen : undefined;
    }, "its end");
    expect(job.result.rows.map(({ charged_cents, error }) => [charged_cents, error])).toEqual([
      [0, undefined],
      [10, undefined],
    ]);
  });

  it("that has no room for the second step leaves the row with what it has", async () => {
    plays = { ...NOBODY, [EMAIL]: () => person() };
    const job = await done(await live(), { rows: ["ada@example.com"], budgetCents: 12 });
    expect(job.result).toMatchObject({ skipped_count: 0, spent_cents: 10 });
    expect(job.result.rows[0]).toMatchObject({ name: "Ada Lovelace", enriched: true });
    expect(job.result.rows[0]?.hops[1]).toMatchObject({ skipped: "over_budget" });
    expect(job.result.rows[0]).not.toHaveProperty("error");
  });
});

describe("the money", () => {
  it("is one posting with each call as its leg; a vendor that charges us for a miss is ours to pay", async () => {
    plays = { ...NOBODY, [EMAIL]: () => person() };
    const account = await live();
    await done(account, { rows: ["ada@example.com"] });
    const [posting, ...more] = await gateway.transactions(account);
    expect([posting?.charged_cents, more]).toEqual([10, []]);
    const { json } = await gateway.admin("GET", `/admin/v1/transactions/${posting?.transaction_id}`);
    expect(json.legs).toMatchObject([
      { vendor: "contactout", action: "person-from-email", ok: true },
      { vendor: "tomba", action: "enrich", ok: true, upstream_nano_usd: 20_000_000 },
    ]);
  });

  it("of a key that is paused while the job runs is what was done; no further step is taken", async () => {
    const account = await live();
    const headers = { authorization: `Bearer ${account.key}`, "content-type": "application/json" };
    const body = JSON.stringify({ label: "agent" });
    const made = await fetch(`${gateway.url}/api/v1/agents`, { method: "POST", headers, body });
    const agent = (await made.json()) as { id: string; api_key: string };
    const { promise, resolve } = Promise.withResolvers<Answer>();
    plays = { ...NOBODY, [EMAIL]: () => promise };
    const launch = await gateway.run(agent.api_key, "core/onefind-deep", { rows: ["a@example.com"] });
    await eventually(() => vendor.asked[0], "the first step");
    await fetch(`${gateway.url}/api/v1/agents/${agent.id}`, { method: "DELETE", headers });
    resolve(person());
    const job = await eventually(async () => {
      const seen = await look(account, jobIdOf(launch));
      return seen.status === "failed" ? seen : undefined;
    }, "its end");
    expect(job).toMatchObject({ stopped: "key_revoked", charged_cents: 10, result: { spent_cents: 10 } });
    expect(job.result.rows).toMatchObject([{ name: "Ada Lovelace", charged_cents: 10 }]);
    expect([asked(), await gateway.heldCents(account)]).toEqual([[EMAIL], 0]);
  });

  it("of an account that is frozen before a query's people are looked up is the search", async () => {
    const account = await live();
    const { promise, resolve } = Promise.withResolvers<Answer>();
    plays = { ...NOBODY, [SEARCH]: () => promise };
    const launch = await deep(account, { query: "founders", limit: 1 });
    await eventually(() => vendor.asked[0], "the search");
    await gateway.admin("PATCH", `/admin/v1/accounts/${account.accountId}`, { frozen: true });
    resolve({ body: { results: [profile("a", "Ann", "A")] } });
    await eventually(async () => ((await gateway.heldCents(account)) === 0 ? true : undefined), "its end");
    await gateway.admin("PATCH", `/admin/v1/accounts/${account.accountId}`, { frozen: false });
    const job = await look(account, jobIdOf(launch));
    expect(job).toMatchObject({ status: "failed", stopped: "account_frozen", charged_cents: 1, result: { rows: [] } });
    expect(asked()).toEqual([SEARCH]);
  });

  it("of a job that is cancelled is what was done, and its other rows say so", async () => {
    const account = await live();
    const rows = Array.from({ length: 10 }, (_, at) => `p${at}@gmail.com`);
    plays = { ...NOBODY, [EMAIL]: ({ url }) => (url.includes("p0") ? person() : new Promise(() => {})) };
    const launch = await deep(account, { rows });
    await eventually(async () => ((await look(account, jobIdOf(launch))).progress?.done ? true : undefined), "a row");
    await gateway.run(account, "core/cancel", { job_id: jobIdOf(launch) });
    const job = await eventually(async () => {
      const seen = await look(account, jobIdOf(launch));
      return seen.status === "succeeded" ? seen : undefined;
    }, "its end");
    expect(job).toMatchObject({ cancelled: true, charged_cents: 10 });
    expect(job.result).toMatchObject({ row_count: 10, skipped_count: 9, spent_cents: 10 });
    expect(new Set(job.result.rows.slice(1).map(({ error }) => error))).toEqual(new Set(["cancelled"]));
  });
});

describe("in the sandbox", () => {
  it("looks up whatever it is given", async () => {
    const job = await done(sandbox, { rows: ["ada@example.com", ADA, "Ada Lovelace, Example"] });
    expect(job).toMatchObject({ status: "succeeded", charged_cents: 31 });
    expect(job.result).toMatchObject({ row_count: 3, enriched_count: 3, stats: { emails: 2, phones: 1 } });
  });

  it.each([
    ["miss@contactout", 1 + 5, ["ada@example.com", null, null]],
    ["miss@contactout,miss@tomba", 1, [null, null, null]],
    ["500@tomba", 11, ["ada@example.com", null, null]],
  ])("plays %s", async (fault, cents, [email, phone]) => {
    const job = await done(sandbox, { query: "Ada Lovelace, Example" }, { "x-tollgate-sandbox-fault": fault });
    expect([fault, job.charged_cents]).toEqual([fault, cents]);
    expect(job.result.rows[0]).toMatchObject({ email, phone, enriched: true });
  });

  it.each([
    ["webmail", "ada@gmail.com", {}],
    ["over_budget", "Ada Lovelace, Example", { budgetCents: 10 }],
  ])("shows a step that is skipped: %s", async (skipped, row, more) => {
    const { result } = await done(sandbox, { rows: [row], ...more });
    const { hops } = result.rows[0] as unknown as { hops: readonly { skipped?: string }[] };
    expect(hops.map((hop) => hop.skipped)).toContain(skipped);
  });

  it("a job whose vendors have all failed says so, and is free", async () => {
    const job = await done(sandbox, { rows: ["ada@gmail.com"] }, { "x-tollgate-sandbox-fault": "500" });
    expect(job).toMatchObject({ status: "failed", charged_cents: 0, result: { error: "upstream_error" } });
  });

  it.each([
    ["whom it does not know", "Jane Doe, Nowhere Ltd"],
    ["of another name in the company", "Ada Byron, Example"],
    ["of the name in another company", "Ada Lovelace, Globex"],
  ])("a person %s ends failed, free", async (_, row) => {
    const job = await done(sandbox, { rows: [row] });
    expect(job).toMatchObject({ status: "failed", charged_cents: 0, result: { error: "no_people" } });
  });
});
