// core/onefind over the sandbox's stand-ins and over the test's own vendor.
import { describe, expect, it } from "vitest";
import { forFile } from "../../support/for-file.ts";
import type { TestAccount } from "../../support/gateway.ts";
import { startVendor } from "../../support/vendor-server.ts";
import { startAcmeGateway } from "../run/acme-gateway.ts";

const vendor = forFile(await startVendor());
const gateway = forFile(await startAcmeGateway({ EXA_API_KEY: "key", EXA_BASE_URL: vendor.url }));
const live = await gateway.live({ creditCents: 1_000 });
const sandbox = await gateway.account({ kind: "sandbox", creditCents: 1_000 });

const find = (account: TestAccount, params: object, headers = {}) =>
  gateway.run(account, "core/onefind", params, headers);

interface Row {
  readonly id: string;
  readonly name: string;
  readonly [field: string]: unknown;
}
const dataOf = ({ json }: { json: { data?: unknown } }) => json.data as { rows: Row[] } & Record<string, unknown>;

/** A profile in the search's answer. */
function profile(slug: string, name: string, company: string) {
  const properties = { name, location: "Berlin", workHistory: [{ title: "Founder", company: { name: company } }] };
  return { url: `https://www.linkedin.com/in/${slug}`, title: `${name} | LinkedIn`, entities: [{ properties }] };
}

describe("in the sandbox", () => {
  it("finds people by a description, for two cents whatever the limit, and tells no contacts", async () => {
    const before = await gateway.balanceCents(sandbox);
    const answer = await find(sandbox, { query: "engineers who write about engines" });
    expect(answer.json).toMatchObject({ ok: true, charged_cents: 2, balance_remaining_cents: before - 2 });
    const data = dataOf(answer);
    expect(Object.keys(data)).toEqual(["query", "person", "row_count", "enriched", "rows", "calls", "next"]);
    expect(data).toMatchObject({
      query: "engineers who write about engines",
      person: false,
      row_count: 3,
      enriched: false,
      calls: [
        {
          provider: "exa",
          action: "exa/search",
          ok: true,
          charged_cents: 1,
          latency_ms: expect.any(Number),
          transaction_id: `${answer.json.transaction_id}.1`,
        },
      ],
    });
    expect(String(data.next)).toContain("core/onefind-deep");
    expect(data.rows[0]).toEqual({
      id: "https://www.linkedin.com/in/ada",
      name: "Ada Lovelace",
      title: "Engineer",
      company: "Example",
      location: "London, United Kingdom",
      linkedin: "https://www.linkedin.com/in/ada",
      email: null,
      phone: null,
      domain: null,
      industry: null,
      headcount: null,
      hq: null,
      sources: { name: "exa", title: "exa", company: "exa", location: "exa", linkedin: "exa" },
      enriched: false,
      hops: [],
      charged_cents: 0,
    });
  });

  it("finds one person by name and company, in one row", async () => {
    for (const query of ["Ada Lovelace, Example", "Grace Hopper at Example Navy", "alan turing bletchley"]) {
      const data = dataOf(await find(sandbox, { query }));
      expect([query, data.person, data.row_count]).toEqual([query, true, 1]);
      expect(query.toLowerCase().startsWith(data.rows[0]?.name.toLowerCase() ?? "?")).toBe(true);
    }
  });

  it("tells no_people of somebody who is not there, free", async () => {
    const before = await gateway.balanceCents(sandbox);
    for (const query of ["nobody", "Jane Doe, Nowhere Ltd"]) {
      const answer = await find(sandbox, { query });
      expect([answer.status, answer.json.error, answer.json.charged_cents]).toEqual([502, "no_people", 0]);
      expect(answer.text).toContain(query);
    }
    expect(await gateway.balanceCents(sandbox)).toBe(before);
  });

  it("is free when its vendor fails", async () => {
    const answer = await find(sandbox, { query: "founders" }, { "x-tollgate-sandbox-fault": "500@exa" });
    expect([answer.status, answer.json.error, answer.json.charged_cents]).toEqual([500, "upstream_error", 0]);
  });
});

describe("what is refused", () => {
  it.each([
    "ada@example.com",
    " <Ada@Example.com> ",
    "mailto:ada@example.com",
    "https://www.linkedin.com/in/ada",
    "linkedin.com/in/ada",
    "https://uk.linkedin.com/company/example/",
    "+44 20 7946 0000",
    "(555) 123-4567",
    "tel:+442079460000",
  ])("%s as a query is onefind_identifier, free", async (query) => {
    const answer = await find(live, { query });
    expect([answer.status, answer.json.error, answer.json.charged_cents]).toEqual([400, "onefind_identifier", 0]);
    expect(answer.text).toContain("core/onefind-deep");
    expect(vendor.asked).toEqual([]);
  });

  it.each([
    [{}, "query"],
    [{ query: "  " }, "query"],
    [{ query: "x".repeat(1_001) }, "query"],
    [{ query: "founders", limit: 0 }, "limit"],
    [{ query: "founders", limit: 26 }, "limit"],
    [{ query: "founders", rows: ["a"] }, "rows"],
  ])("%j, naming %s", async (params, field) => {
    const answer = await find(live, params);
    expect([answer.status, answer.json.error]).toEqual([400, "bad_request"]);
    expect((answer.json.data as { fields: { path: string }[] }).fields.map(({ path }) => path)).toEqual([field]);
  });
});

describe("of what the vendor answers", () => {
  it("asks for as many profiles as are wanted, 15 unless said, and answers with no more", async () => {
    const results = Array.from({ length: 30 }, (_, at) => profile(`p${at}`, `Person ${at}`, `Company ${at}`));
    vendor.answers({ body: { results } });
    expect(dataOf(await find(live, { query: "founders in Berlin" })).row_count).toBe(15);
    expect(dataOf(await find(live, { query: "founders in Berlin", limit: 25 })).row_count).toBe(25);
    expect(vendor.asked.map(({ body }) => body)).toMatchObject([
      { query: "founders in Berlin", category: "people", numResults: 15 },
      { query: "founders in Berlin", category: "people", numResults: 25 },
    ]);
  });

  it("a profile without entities has the name of its title, and what is no profile is left out", async () => {
    vendor.answers({
      body: {
        results: [
          { url: "https://de.linkedin.com/in/Eve-1/?trk=x", title: "Eve Adams - Founder - Example | LinkedIn" },
          { url: "https://www.linkedin.com/company/example", title: "Example" },
          { url: "https://example.com/eve", title: "Eve" },
          { url: "https://www.linkedin.com/in/eve-1", title: "Eve Adams" },
          { url: "https://www.linkedin.com/in/mute", title: " " },
        ],
      },
    });
    const { rows } = dataOf(await find(live, { query: "founders" }));
    expect(rows.map(({ id, name, title }) => [id, name, title])).toEqual([
      ["https://www.linkedin.com/in/Eve-1", "Eve Adams", null],
    ]);
  });

  it("of several people of a name takes the one of the company", async () => {
    vendor.answers({
      body: { results: [profile("a", "John Smith", "Other"), profile("b", "John Smith", "Example Inc")] },
    });
    const data = dataOf(await find(live, { query: "John Smith, Example" }));
    expect([data.person, data.rows.map(({ id }) => id)]).toEqual([true, ["https://www.linkedin.com/in/b"]]);
    expect(data.rows[0]).toMatchObject({ match: { name: 1, company: 1 } });
  });

  it.each([[{ results: [] }], [{ results: [{ url: "https://www.linkedin.com/company/example", title: "Example" }] }]])(
    "%j is no_people, and nothing is charged",
    async (body) => {
      vendor.answers({ body });
      const before = await gateway.balanceCents(live);
      const answer = await find(live, { query: "founders" });
      expect([answer.status, answer.json.error, answer.headers.get("x-should-retry")]).toEqual([
        502,
        "no_people",
        "false",
      ]);
      expect([await gateway.balanceCents(live), await gateway.heldCents(live)]).toEqual([before, 0]);
    },
  );

  it("is one posting of two cents with the search as its leg", async () => {
    vendor.answers({ body: { results: [profile("a", "Ada", "Example")] } });
    const account = await gateway.live({ creditCents: 100 });
    const { json } = await find(account, { query: "founders" });
    const [posting, ...more] = await gateway.transactions(account);
    expect([posting?.charged_cents, more]).toEqual([2, []]);
    const told = await gateway.admin("GET", `/admin/v1/transactions/${json.transaction_id}`);
    expect(told.json.legs).toMatchObject([
      { vendor: "exa", action: "search", ok: true, upstream_nano_usd: 12_000_000 },
      { vendor: "tollgate", ok: true, upstream_nano_usd: 0 },
    ]);
  });
});

it("without a vendor, and without our own fetch, every composite that needs one is 503 upstream_not_configured, and is listed so", async () => {
  const bare = await startAcmeGateway({ DIRECT_FETCH: "0" });
  try {
    const answer = await bare.run(await bare.live({ creditCents: 100 }), "core/onefind", { query: "founders" });
    expect([answer.status, answer.json.error, answer.json.charged_cents]).toEqual([503, "upstream_not_configured", 0]);
    const account = await bare.live({ creditCents: 100 });
    const launch = await bare.run(account, "core/onefind-deep", { rows: ["ada@example.com"] });
    expect([launch.status, launch.json.error, launch.json.charged_cents]).toEqual([503, "upstream_not_configured", 0]);
    for (const action of ["onescrape", "onescrape-deep"]) {
      const { status, json } = await bare.run(account, `core/${action}`, { urls: ["https://example.com/"] });
      expect([action, status, json.error, json.charged_cents]).toEqual([action, 503, "upstream_not_configured", 0]);
    }
    const { data: index } = (await (await fetch(`${bare.url}/api/run`)).json()) as {
      data: { service: string; action: string; status: string; sandbox: boolean }[];
    };
    // Searches have sources that need no key, and advice works by rules.
    const statuses = { onefind: "not_configured", "onefind-deep": "not_configured", onescrape: "not_configured" };
    const others = { "onescrape-deep": "not_configured", onesearch: "available", supersearch: "available" };
    for (const [action, status] of Object.entries({ ...statuses, ...others, consult: "available" })) {
      const response = await fetch(`${bare.url}/api/run/core/${action}`);
      expect(await response.json()).toMatchObject({ data: { action, status, sandbox: true } });
      const row = index.find((one) => one.service === "core" && one.action === action);
      expect(row).toMatchObject({ action, status, sandbox: true });
    }
  } finally {
    await bare.stop();
  }
});
