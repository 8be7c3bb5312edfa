// core/onescrape-deep from outside: budgets, rungs, sites and ledger entries.

import { beforeEach, describe, expect, it } from "vitest";
import { forFile } from "../../support/for-file.ts";
import { eventually, type TestAccount } from "../../support/gateway.ts";
import { getAs } from "../../support/keyed-fetch.ts";
import { startVendor } from "../../support/vendor-server.ts";
import { say } from "../../upstream/outside.ts";
import { HTML, type JobRow, PAGE, startPagesGateway, TEXT, WALL } from "./deep-pages.ts";

const vendor = forFile(await startVendor());
const gateway = forFile(
  await startPagesGateway({
    FIRECRAWL_API_KEY: "k",
    FIRECRAWL_BASE_URL: `${vendor.url}/firecrawl`,
    EXA_API_KEY: "k",
    EXA_BASE_URL: `${vendor.url}/exa`,
    SCRAPINGANT_API_KEY: "k",
    SCRAPINGANT_BASE_URL: `${vendor.url}/ant`,
  }),
);
const live = await gateway.account({ kind: "personal", creditCents: 10_000 });

/** Which pages each rung's vendor reads; the other pages are walls. */
let reads: (rung: string, url: string) => boolean;
beforeEach(() => {
  gateway.play = (socket) => say(socket, HTML, PAGE);
  reads = () => false;
  vendor.answers((response, { url, body }) => {
    const asked = body as { urls?: string[]; url?: string; proxy?: string };
    const json = (value: unknown) => void response.end(JSON.stringify(value));
    response.setHeader("content-type", "application/json");
    if (url.startsWith("/exa")) {
      const urls = (asked.urls ?? []).filter((one) => reads("exa", one));
      const results = urls.map((one) => ({ id: one, url: one, title: "E", text: TEXT }));
      return json({ results: results.length > 0 ? results : [{ id: "x", text: "" }], statuses: [] });
    }
    if (url.startsWith("/firecrawl/map")) return json({ success: true, links: [] });
    if (url.startsWith("/firecrawl")) {
      const rung = asked.proxy === "enhanced" ? "unblock" : "firecrawl";
      const markdown = reads(rung, asked.url ?? "") ? TEXT : "Access denied. You have been blocked.";
      return json({ success: true, data: { markdown, metadata: { title: "F", statusCode: 200 } } });
    }
    const query = new URLSearchParams(url.split("?")[1]);
    const page = query.get("url") ?? "";
    if (url.includes("/markdown"))
      return json({ url: page, markdown: reads("scrapingant", page) ? TEXT : "Access denied" });
    response.setHeader("content-type", "text/html");
    response.end(reads("residential", page) ? PAGE : WALL);
  });
});

const run = async (params: unknown) => gateway.ended(await gateway.launch(live, params));
const tags = (row: { hops: readonly { provider: string; ok: boolean; skipped?: string }[] } | undefined) =>
  row?.hops.map(({ provider, ok, skipped }) => `${provider} ${skipped ?? ok}`);

describe("core/onescrape-deep", () => {
  it("holds its budget, answers at once, and charges the pages it read", async () => {
    const account = await gateway.account({ kind: "personal", creditCents: 100 });
    let go: (() => void) | undefined;
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    gateway.play = (socket) => void gate.then(() => say(socket, HTML, PAGE));
    const launch = await gateway.launch(account, { urls: [gateway.at("/1"), gateway.at("/2"), gateway.at("/2#x")] });
    expect(launch.json).toMatchObject({ ok: true, charged_cents: 0, data: { status: "queued", async: true } });
    expect(await gateway.money(account)).toMatchObject({ balance_cents: 100, held_cents: 20 });
    go?.();
    const job = await gateway.ended(launch);
    expect(job).toMatchObject({
      status: "succeeded",
      chargedCents: 2,
      result: {
        url_count: 2,
        row_count: 2,
        read_count: 2,
        format: "markdown",
        hard: false,
        blocked_count: 0,
        skipped_count: 0,
        spent_cents: 2,
        budget_cents: 20,
      },
    });
    expect(await gateway.money(account)).toMatchObject({ balance_cents: 98, held_cents: 0 });
  });

  it("asks every rung in order, and charges the one that read", async () => {
    gateway.play = (socket) => say(socket, HTML, WALL);
    reads = (rung) => rung === "residential";
    const { chargedCents, rows, result } = await run({ urls: [gateway.at("/a")] });
    expect(tags(rows[0])).toEqual([
      "direct false",
      "exa false",
      "firecrawl false",
      "scrapingant false",
      "unblock false",
      "residential true",
    ]);
    expect(rows[0]).toMatchObject({ provider: "residential", format: "text", hard: true, charged_cents: 4 });
    expect([chargedCents, result.spent_cents]).toEqual([4, 4]);
  });

  it.each([
    ["exa", 1],
    ["firecrawl", 1],
    ["scrapingant", 1],
    ["unblock", 2],
  ])("a page that %s read costs its price: %i", async (tag, cents) => {
    gateway.play = (socket) => say(socket, HTML, WALL);
    reads = (rung) => rung === tag;
    const { chargedCents, rows } = await run({ urls: [gateway.at("/a")] });
    expect([chargedCents, rows[0]?.provider, rows[0]?.charged_cents]).toEqual([cents, tag, cents]);
  });

  it("fetches pages together where a rung can, at a cent for ten", async () => {
    gateway.play = (socket) => say(socket, HTML, WALL);
    reads = (rung) => rung === "exa";
    const urls = Array.from({ length: 6 }, (_, n) => gateway.at(`/${n}`));
    const { chargedCents, rows } = await run({ urls });
    expect(vendor.asked.filter(({ url }) => url.startsWith("/exa"))).toHaveLength(1);
    expect(rows.map(({ charged_cents }) => charged_cents)).toEqual([1, 0, 0, 0, 0, 0]);
    expect(chargedCents).toBe(1);
  });

  it("fails and is free where every rung met a wall, and says which could not be asked", async () => {
    gateway.play = (socket) => say(socket, HTML, WALL);
    const { status, chargedCents, rows, result } = await run({ urls: [gateway.at("/a")] });
    expect([status, chargedCents]).toEqual(["failed", 0]);
    expect(rows[0]).toMatchObject({ content: null, error: "blocked", hard: true, charged_cents: 0 });
    expect(tags(rows[0])?.at(-1)).toBe("stealth not_configured");
    expect(result).toMatchObject({ read_count: 0, blocked_count: 1, spent_cents: 0 });
  });

  it("never passes its budget: rows that it cannot cover say so", async () => {
    const urls = Array.from({ length: 13 }, (_, n) => gateway.at(`/${n}`));
    const { chargedCents, rows, result } = await run({ urls, budgetCents: 10 });
    expect([chargedCents, result.spent_cents, result.budget_cents]).toEqual([10, 10, 10]);
    expect(rows.filter(({ content }) => content !== null)).toHaveLength(10);
    expect(rows.filter(({ error }) => error === "over budget")).toHaveLength(3);
    expect(result).toMatchObject({ read_count: 10, skipped_count: 3, blocked_count: 0 });
  });

  it("stops asking a row's further rungs where the budget has no room for them", async () => {
    gateway.play = (socket, path) => say(socket, HTML, path.startsWith("/wall") ? WALL : PAGE);
    reads = (rung) => rung === "residential";
    const urls = [...Array.from({ length: 8 }, (_, n) => gateway.at(`/${n}`)), gateway.at("/wall")];
    const { chargedCents, rows } = await run({ urls, budgetCents: 10 });
    expect(rows.at(-1)).toMatchObject({ content: null, error: "over budget", charged_cents: 0 });
    expect(tags(rows.at(-1))?.at(-1)).toBe("unblock false");
    expect(chargedCents).toBe(8);
  });

  describe("counts what its pages are paid, and not what walls cost us:", () => {
    const six = () => Array.from({ length: 6 }, (_, n) => gateway.at(`/${n}`));
    beforeEach(() => {
      gateway.play = (socket) => say(socket, HTML, WALL);
    });

    it("six pages that the residential rung alone reads are read for 24 cents", async () => {
      reads = (rung) => rung === "residential";
      const { chargedCents, rows, result } = await run({ urls: six(), budgetCents: 24 });
      expect(rows.map(({ provider }) => provider)).toEqual(Array(6).fill("residential"));
      expect(rows.flatMap(({ hops }) => hops.map(({ skipped }) => skipped))).not.toContain("cost_bound");
      expect(result).toMatchObject({ read_count: 6, blocked_count: 0, skipped_count: 0, spent_cents: 24 });
      expect(chargedCents).toBe(24);
    });

    it("two of them for 10 cents, and the other rows say that the budget is over", async () => {
      reads = (rung) => rung === "residential";
      const { status, chargedCents, rows, result } = await run({ urls: six(), budgetCents: 10 });
      expect([status, chargedCents]).toEqual(["succeeded", 8]);
      expect(rows.filter(({ content }) => content !== null)).toHaveLength(2);
      expect(rows.filter(({ error }) => error === "over budget")).toHaveLength(4);
      expect(result).toMatchObject({ read_count: 2, blocked_count: 0, skipped_count: 4, spent_cents: 8 });
    });

    it("six pages that the unblocking rung reads are read for 12 cents", async () => {
      reads = (rung) => rung === "unblock";
      const { chargedCents, rows, result } = await run({ urls: six(), budgetCents: 12 });
      expect(rows.map(({ provider }) => provider)).toEqual(Array(6).fill("unblock"));
      expect(result).toMatchObject({ read_count: 6, blocked_count: 0, skipped_count: 0 });
      expect(chargedCents).toBe(12);
    });
  });

  it("reads a site: its map, its own host, what is wanted of it, the first page first", async () => {
    const pages = ["/blog/one", "/blog/two", "/about", "/blog/secret", "/paper.pdf"].map((path) => gateway.at(path));
    const map = [...pages, "http://elsewhere.example/blog/x"].map((url) => `<url><loc>${url}</loc></url>`).join("");
    gateway.play = (socket, path) =>
      path === "/sitemap.xml" ? say(socket, {}, `<urlset>${map}</urlset>`) : say(socket, HTML, PAGE);
    const site = { url: gateway.at("/start"), include: ["*/blog/*"], exclude: ["secret"], max_pages: 10 };
    const { chargedCents, rows, result } = await run({ site });
    expect(rows.map(({ url }) => url)).toEqual(["/start", "/blog/one", "/blog/two"].map((path) => gateway.at(path)));
    expect(result).toMatchObject({ site: { url: gateway.at("/start"), mapped_pages: 3 }, budget_cents: 101 });
    expect([chargedCents, result.spent_cents]).toEqual([4, 4]);
  });

  it("reads a site without a map by the links of its first page", async () => {
    gateway.play = (socket, path) => {
      if (path === "/sitemap.xml") return say(socket, HTML, WALL);
      say(socket, HTML, PAGE.replace("</article>", '<a href="/next">next</a><a href="/start#here">here</a></article>'));
    };
    const { rows } = await run({ site: { url: gateway.at("/start"), max_pages: 5 } });
    expect(rows.map(({ url }) => url)).toEqual([gateway.at("/start"), gateway.at("/next")]);
  });

  describe("stops before the next paid step, and charges what was done, where", () => {
    const agent = async () => {
      const account = await gateway.account({ kind: "personal", creditCents: 1_000 });
      const headers = { authorization: `Bearer ${account.key}`, "content-type": "application/json" };
      const body = JSON.stringify({ label: "agent" });
      const made = await fetch(`${gateway.url}/api/v1/agents`, { method: "POST", headers, body });
      const { id, api_key: key } = (await made.json()) as { id: string; api_key: string };
      const change = (method: string, changed?: object) =>
        fetch(`${gateway.url}/api/v1/agents/${id}`, { method, headers, body: JSON.stringify(changed) });
      return { account, key, change };
    };
    type Agent = Awaited<ReturnType<typeof agent>>;

    it.each<[why: string, stopped: string, stop: (of: Agent) => Promise<unknown>]>([
      ["its key is revoked", "key_revoked", ({ change }) => change("DELETE")],
      ["its key is paused", "key_paused", ({ change }) => change("PATCH", { paused: true })],
      [
        "its account is frozen",
        "account_frozen",
        ({ account }) => gateway.admin("PATCH", `/admin/v1/accounts/${account.accountId}`, { frozen: true }),
      ],
    ])("%s", async (_, stopped, stop) => {
      const of = await agent();
      const urls = Array.from({ length: 12 }, (_, n) => gateway.at(`/${n}`));
      let read = 0;
      let stopping: Promise<unknown> | null = null;
      gateway.play = async (socket) => {
        read += 1;
        if (read === 4) stopping = stop(of);
        // No page arrives meanwhile, so no other page starts in its place.
        await stopping;
        say(socket, HTML, PAGE);
      };
      const job = await gateway.ended(await gateway.launch({ ...of.account, key: of.key }, { urls }));
      const isRead = ({ content }: JobRow) => content !== null;
      expect(job).toMatchObject({ status: "failed", stopped, chargedCents: job.rows.filter(isRead).length });
      expect(job.chargedCents).toBeGreaterThanOrEqual(3);
      expect(job.chargedCents).toBeLessThanOrEqual(read);
      expect(read).toBeLessThan(12);
      // Pages that were not started have a reason and no vendor calls.
      expect(job.rows.map(({ url }) => url)).toEqual(urls);
      for (const row of job.rows.filter((one) => !isRead(one)))
        expect(row).toMatchObject({ error: stopped, hops: [], charged_cents: 0 });
      expect(job.result).toMatchObject({ row_count: 12, skipped_count: 12 - job.chargedCents, blocked_count: 0 });
      expect(vendor.asked).toEqual([]);
    });
  });

  it("refuses wrong combinations, naming both", async () => {
    const site = { url: "https://example.com" };
    for (const params of [{ urls: ["https://example.com"], site }, {}]) {
      const { status, json } = await gateway.launch(live, params);
      expect([status, json.error]).toEqual([400, "bad_request"]);
      expect(json.message).toMatch(/urls.*site/);
    }
  });

  it.each([
    [{ urls: Array.from({ length: 51 }, (_, n) => `https://example.com/${n}`) }, "bad_request"],
    [{ urls: [] }, "bad_request"],
    [{ site: { url: "https://example.com", max_pages: 51 } }, "bad_request"],
    [{ urls: ["https://example.com"], budgetCents: 9 }, "bad_request"],
    [{ urls: ["https://example.com"], budgetCents: 501 }, "bad_request"],
    [{ urls: ["https://x.com/a"] }, "onescrape_social"],
    [{ site: { url: "https://example.com/a.pdf" } }, "onescrape_document"],
    [{ site: { url: "nowhere" } }, "bad_url"],
  ])("refuses %j before anything is held: %s", async (params, code) => {
    const { status, json } = await gateway.launch(live, params);
    expect([status, json.error, json.charged_cents]).toEqual([400, code, 0]);
  });

  it("needs the budget free, and three at a time are enough", async () => {
    const poor = await gateway.account({ kind: "personal", creditCents: 30 });
    const broke = await gateway.launch(poor, { urls: ["https://example.com"], budgetCents: 31 });
    expect([broke.status, broke.json.error]).toEqual([402, "credits_required"]);
    let go: (() => void) | undefined;
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    gateway.play = (socket) => void gate.then(() => say(socket, HTML, PAGE));
    const launches = [];
    for (let at = 0; at < 3; at++)
      launches.push(await gateway.launch(poor, { urls: [gateway.at(`/${at}`)], budgetCents: 10 }));
    const more = await gateway.launch(live, { urls: [gateway.at("/9")], budgetCents: 10 });
    expect(more.status).toBe(200);
    await gateway.admin("POST", `/admin/v1/accounts/${poor.accountId}/credits`, { cents: 100, reference: "more" });
    const fourth = await gateway.launch(poor, { urls: [gateway.at("/4")], budgetCents: 10 });
    expect([fourth.status, fourth.json.error]).toEqual([429, "too_many_inflight"]);
    go?.();
    await Promise.all([...launches, more].map((launch) => gateway.ended(launch)));
  });
});

describe("core/onescrape-deep in the sandbox", () => {
  type Seen = Record<string, unknown> & { readonly status: string; readonly progress?: { readonly done: number } };
  /** Calls core/result or core/cancel as an agent does. */
  const ask = async (account: TestAccount, action: string, params: object) => {
    const headers = { authorization: `Bearer ${account.key}`, "content-type": "application/json" };
    const answer = await fetch(`${gateway.url}/api/run/core/${action}`, {
      method: "POST",
      headers,
      body: JSON.stringify(params),
    });
    const json = (await answer.json()) as { data: Seen; charged_cents: number };
    expect([answer.status, json.charged_cents]).toEqual([200, 0]);
    return json.data;
  };
  /** What the job's payer sees at each poll, up to the first that satisfies the condition. */
  const polled = async (account: TestAccount, jobId: string, isWanted: (seen: Seen) => boolean) => {
    const polls: Seen[] = [];
    await eventually(async () => {
      const seen = await ask(account, "result", { job_id: jobId });
      polls.push(seen);
      return isWanted(seen) ? seen : undefined;
    }, "what is waited for");
    return polls;
  };
  const isOver = ({ status }: Seen) => status === "succeeded" || status === "failed";
  const site = (path: string) => `https://example.com${path}`;

  it("reads 50 URLs of one host, each once and each paid once", async () => {
    const account = await gateway.account({ kind: "sandbox", creditCents: 1_000 });
    const urls = Array.from({ length: 50 }, (_, n) => site(`/page/${n}`));
    const launched = await ask(account, "onescrape-deep", { urls });
    const seen = await polled(account, String(launched.job_id), isOver);
    expect(seen.at(-1)).toMatchObject({
      status: "succeeded",
      charged_cents: 50,
      result: { url_count: 50, row_count: 50, read_count: 50, spent_cents: 50, skipped_count: 0 },
    });
    expect(await gateway.money(account)).toMatchObject({ balance_cents: 950, held_cents: 0 });
  });

  it("shows a row that calls of vendors have cost as much for as they may", async () => {
    const account = await gateway.account({ kind: "sandbox", creditCents: 1_000 });
    const launched = await ask(account, "onescrape-deep", { urls: [site("/cost_bound")] });
    const seen = await polled(account, String(launched.job_id), isOver);
    expect(JSON.stringify(seen.at(-1))).toContain('"skipped":"cost_bound"');
    expect(seen.at(-1)).toMatchObject({
      status: "failed",
      charged_cents: 0,
      result: { skipped_count: 1, blocked_count: 0 },
    });
  });

  it("is booked under its own name, for its payer and for the operator", async () => {
    const play = await gateway.account({ kind: "sandbox", creditCents: 1_000 });
    const { job_id: id } = await ask(play, "onescrape-deep", { urls: [site("/")] });
    await polled(play, String(id), isOver);
    const answer = await getAs(play.key, `${gateway.url}/api/v1/transactions`);
    const { transactions } = (await answer.json()) as { transactions: unknown[] };
    expect(transactions[0]).toMatchObject({ service: "core", action: "onescrape-deep", charged_cents: 1 });
    const path = `/admin/v1/usage?by=model&account=${play.accountId}&model=core/onescrape-deep`;
    expect((await gateway.admin("GET", path)).json.usage).toMatchObject([{ model: "core/onescrape-deep", calls: 1 }]);
  });

  it("is told of by core/result while it runs, and with its rows once it is over", async () => {
    const play = await gateway.account({ kind: "sandbox", creditCents: 1_000 });
    const urls = ["/", "/about", "/slow", "/thin"].map(site);
    const { job_id: id } = await ask(play, "onescrape-deep", { urls });
    const polls = await polled(play, String(id), isOver);
    expect(polls[0]).toMatchObject({ job_id: id, status: expect.stringMatching(/queued|running/), charged_cents: 0 });
    expect(polls[0]).not.toHaveProperty("result");
    const under = polls.filter((seen) => !isOver(seen)).map(({ progress }) => progress?.done ?? 0);
    expect(under).toContain(3);
    expect(under).toEqual(under.toSorted());
    expect(polls.at(-1)).toMatchObject({
      status: "succeeded",
      progress: { done: 4, total: 4 },
      charged_cents: 4,
      result: {
        spent_cents: 4,
        read_count: 4,
        rows: urls.map((url) => ({ url, provider: "direct", content: expect.any(String), charged_cents: 1 })),
      },
    });
  });

  it("has pages for each way that the ladder may go", async () => {
    const play = await gateway.account({ kind: "sandbox", creditCents: 1_000 });
    const ends: [page: string, by: string, cents: number][] = [
      ["/", "direct", 1],
      ["/thin", "direct", 1],
      ["/wall/exa", "exa", 1],
      ["/wall/firecrawl", "firecrawl", 1],
      ["/wall/scrapingant", "scrapingant", 1],
      ["/wall/firecrawl/unblock", "unblock", 2],
      ["/wall/scrapingant/residential-scrape", "residential", 4],
      ["/shell/fastcrw", "stealth", 1],
      ["/wall", "blocked", 0],
      ["/missing", "blocked", 0],
      ["/document", "onescrape_document", 0],
    ];
    const urls = ends.map(([page]) => site(page));
    const { job_id: id } = await ask(play, "onescrape-deep", { urls });
    const [job] = (await polled(play, String(id), isOver)).slice(-1);
    const { rows } = (job?.result ?? { rows: [] }) as { rows: readonly JobRow[] };
    expect(rows.map(({ provider, error, charged_cents }) => [provider ?? error, charged_cents])).toEqual(
      ends.map(([, by, cents]) => [by, cents]),
    );
    expect(job?.charged_cents).toBe(12);
  });

  it("shows rows that the budget does not cover, and further rungs that it does not", async () => {
    const play = await gateway.account({ kind: "sandbox", creditCents: 1_000 });
    const pages = Array.from({ length: 9 }, (_, at) => `https://page-${at}.example.com/`);
    const urls = [...pages, site("/wall/scrapingant/residential-scrape"), "https://last.example.com/"];
    const { job_id: id } = await ask(play, "onescrape-deep", { urls, budgetCents: 10 });
    const [job] = (await polled(play, String(id), isOver)).slice(-1);
    const { rows } = (job?.result ?? { rows: [] }) as { rows: readonly JobRow[] };
    expect(rows.map(({ provider, error }) => provider ?? error)).toEqual([
      ...pages.map(() => "direct"),
      "over budget",
      "direct",
    ]);
    expect(job?.charged_cents).toBe(10);
  });

  it("waits for no other account's pages", async () => {
    const [busy, play] = await Promise.all([1, 2].map(() => gateway.account({ kind: "sandbox", creditCents: 1_000 })));
    if (busy === undefined || play === undefined) throw new Error("there are two accounts");
    const hanging = await ask(busy, "onescrape-deep", { urls: [1, 2, 3, 4].map((n) => site(`/hang/${n}`)) });
    const quick = await ask(play, "onescrape-deep", { urls: [site("/")] });
    await polled(play, String(quick.job_id), isOver);
    const [seen] = await polled(busy, String(hanging.job_id), () => true);
    expect(seen).toMatchObject({ status: expect.stringMatching(/queued|running/) });
    await ask(busy, "cancel", { job_id: hanging.job_id });
  });

  it("ends with what it has where core/cancel ends it", async () => {
    const play = await gateway.account({ kind: "sandbox", creditCents: 1_000 });
    const urls = ["/", "/about", "/hang/1", "/hang/2", "/hang/3"].map(site);
    const { job_id: id } = await ask(play, "onescrape-deep", { urls });
    await polled(play, String(id), ({ progress }) => progress?.done === 2);
    expect(await ask(play, "cancel", { job_id: id })).toMatchObject({ job_id: id, cancelled: true });
    const [job] = (await polled(play, String(id), isOver)).slice(-1);
    const cut = { content: null, error: "cancelled", charged_cents: 0 };
    expect(job).toMatchObject({
      status: "succeeded",
      cancelled: true,
      charged_cents: 2,
      result: { row_count: 5, read_count: 2, spent_cents: 2, skipped_count: 3, rows: [{}, {}, cut, cut, cut] },
    });
    expect(await gateway.money(play)).toMatchObject({ balance_cents: 998, held_cents: 0 });
  });

  it("reads the sandbox's site", async () => {
    const play = await gateway.account({ kind: "sandbox", creditCents: 1_000 });
    const heads = gateway.outside.heads.length;
    const job = await gateway.ended(await gateway.launch(play, { site: { url: "https://example.com", max_pages: 4 } }));
    expect(job).toMatchObject({ status: "succeeded", result: { row_count: 4, read_count: 4 } });
    expect(gateway.outside.heads.length).toBe(heads);
  });
});
