// core/onescrape from outside: a simulated internet, vendors' wire formats and ledger entries.
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startTestGateway, type TestAccount, type TestGateway } from "../../support/gateway.ts";
import { postAs } from "../../support/keyed-fetch.ts";
import { startVendor, type VendorServer } from "../../support/vendor-server.ts";
import { head, type Outside, redirect, say, startOutside } from "../../upstream/outside.ts";

interface Hop {
  readonly provider: string;
  readonly ok: boolean;
  readonly skipped?: string;
  readonly found?: string;
  readonly charged_cents: number;
  readonly transaction_id?: string;
}
interface Row {
  readonly url: string;
  readonly content: string | null;
  readonly provider: string | null;
  readonly format: string;
  readonly error?: string;
  readonly yield: number;
  readonly quality_flags: readonly string[];
  readonly hops: readonly Hop[];
}
interface Answer {
  readonly status: number;
  readonly json: Record<string, unknown> & { data?: { rows: Row[]; calls: Hop[] } & Record<string, unknown> };
}

const TEXT = "All that is paid at the gate is written down, and whoever asks is told what is left of it. ".repeat(15);
const PAGE = `<!doctype html><html><head><title>The gate</title></head><body><nav>Home</nav><article><h1>The gate</h1><p>${TEXT}</p></article></body></html>`;
const WALL = "<html><head><title>Just a moment...</title></head><body><p>Verify you are human.</p></body></html>";
const HTML = { "content-type": "text/html; charset=utf-8" };

let outside: Outside;
let vendor: VendorServer;
let gateway: TestGateway;
let live: TestAccount;
let play: TestAccount;
/** Answers all paths except robots.txt. */
let pages: Outside["play"];
beforeAll(async () => {
  outside = await startOutside();
  outside.names["gate.example"] = ["127.0.0.2"];
  outside.names["xn--mnchen-3ya.example"] = ["127.0.0.2"];
  outside.names["inside.example"] = ["127.0.0.1"];
  outside.play = (socket, path, text) => {
    if (path === "/robots.txt") return say(socket, {}, "User-agent: *\nDisallow: /private\n");
    pages(socket, path, text);
  };
  vendor = await startVendor();
  gateway = await startTestGateway(
    { FIRECRAWL_API_KEY: "k", FIRECRAWL_BASE_URL: vendor.url, CONTACT: "ops@gate.example" },
    {
      internet: {
        allowForTests: [`127.0.0.2:${outside.port}`],
        resolve: async (name) => [outside.names[name] ?? []].flat() as string[],
      },
    },
  );
  live = await gateway.account({ kind: "personal", creditCents: 10_000 });
  play = await gateway.account({ kind: "sandbox", creditCents: 1_000 });
});
afterAll(async () => {
  expect(await gateway.doctor()).toEqual([]);
  await gateway.stop();
  await Promise.all([outside.close(), vendor.close()]);
});
beforeEach(() => {
  pages = (socket) => say(socket, HTML, PAGE);
  outside.heads.length = 0;
  vendor.answers({ status: 500, body: {} });
});

const at = (path: string, name = "gate.example") => outside.url(path, name);

async function run(account: TestAccount, params: unknown, more: Record<string, string> = {}): Promise<Answer> {
  const response = await postAs(account.key, `${gateway.url}/api/run/core/onescrape`, params, more);
  return { status: response.status, json: (await response.json()) as Answer["json"] };
}

const toldHops = (hops: readonly Hop[]) =>
  hops.map(({ provider, ok, skipped, found }) => `${provider} ${skipped ?? found ?? ok}`);

/** The only row, with its hops abbreviated. */
async function one(path: string, more: Record<string, unknown> = {}) {
  const { status, json } = await run(live, { urls: [at(path)], ...more });
  const [row] = json.data?.rows ?? [];
  const calls = row?.hops ?? json.data?.calls ?? [];
  return { status, json, row, hops: calls.map(({ provider, ok, skipped }) => `${provider} ${skipped ?? ok}`) };
}

describe("core/onescrape", () => {
  it("reads a page by our own fetch, which says who it is", async () => {
    const { row, json } = await one("/story");
    expect(json).toMatchObject({
      charged_cents: 2,
      data: { url_count: 1, row_count: 1, read_count: 1, format: "markdown", hard: false, next: "" },
    });
    expect(row).toMatchObject({
      id: at("/story"),
      url: at("/story"),
      final_url: at("/story"),
      title: "The gate",
      format: "markdown",
      provider: "direct",
      yield: 1,
      quality_flags: [],
      hard: false,
      charged_cents: 1,
      hops: [{ provider: "direct", action: "fetch", ok: true, charged_cents: 1 }],
    });
    expect(row?.content).toContain("written down");
    expect(row?.content).not.toContain("Home");
    expect(outside.heads.at(-1)).toMatch(/user-agent: Tollgate\/\S+ \(ops@gate\.example\)/i);
  });

  it("is one posting in which each of our own fetches is a leg that costs nothing, and the hop names it", async () => {
    pages = (socket, path) => (path === "/cut" ? socket.destroy() : say(socket, HTML, PAGE));
    const { json } = await run(live, { urls: [at("/story"), at("/cut"), at("/private")] });
    const id = String(json.transaction_id);
    const { json: told } = await gateway.admin("GET", `/admin/v1/transactions/${id}`);
    const legs = (told.legs as { vendor: string; service: string; action: string; upstream_nano_usd: number }[]).map(
      ({ vendor, service, action, ...leg }) => ({ name: `${vendor} ${service}/${action}`, ...leg }),
    );
    const own = legs.filter(({ name }) => name === "tollgate direct/fetch");
    expect(own.map((leg) => [(leg as { ok?: boolean }).ok, leg.upstream_nano_usd]).sort()).toEqual([
      [false, 0],
      [false, 0],
      [true, 0],
    ]);
    const [read, cut, forbidden] = json.data?.rows ?? [];
    expect(read?.hops[0]).toMatchObject({ ok: true, transaction_id: expect.stringMatching(`^${id}\\.\\d+$`) });
    expect(cut?.hops[0]).toMatchObject({ ok: false, transaction_id: expect.stringMatching(`^${id}\\.\\d+$`) });
    // The page is not fetched if robots.txt forbids it: only robots.txt was requested, in a leg.
    expect(forbidden?.hops[0]).toMatchObject({ skipped: "robots" });
    expect(forbidden?.hops[0]).not.toHaveProperty("transaction_id");
    const headers = { authorization: `Bearer ${live.key}` };
    const cited = await fetch(`${gateway.url}/api/v1/transactions/${read?.hops[0]?.transaction_id}`, { headers });
    expect([cited.status, await cited.text()]).toEqual([200, expect.stringContaining('"service":"direct"')]);
  });

  it("gives HTML, and the whole page, where asked", async () => {
    const { row } = await one("/story", { format: "html", main_content: false });
    expect(row).toMatchObject({ format: "html" });
    expect(row?.content).toContain("<nav>Home</nav>");
  });

  it("counts an address once, with a fragment or without, and knows hosts in other letters", async () => {
    const urls = [at("/a"), at("/a#b"), `http://münchen.example:${outside.port}/`];
    const { json } = await run(live, { urls });
    expect(json).toMatchObject({ charged_cents: 4, data: { url_count: 2, read_count: 2 } });
    expect(json.data?.rows[1]?.url).toBe(`http://xn--mnchen-3ya.example:${outside.port}/`);
  });

  it("goes on past a wall to those who are configured, and says of the others that they are not", async () => {
    pages = (socket) => say(socket, HTML, WALL);
    vendor.answers({ body: { success: true, data: { markdown: TEXT, metadata: { title: "T", statusCode: 200 } } } });
    const { row, hops } = await one("/story");
    expect(row).toMatchObject({ provider: "firecrawl", title: "T", yield: 1, quality_flags: [], charged_cents: 1 });
    expect(hops).toEqual(["direct false", "exa not_configured", "firecrawl true"]);
    expect(row?.hops[2]?.transaction_id).toMatch(/^tx_\w+\.2$/);
  });

  it.each([
    [
      "a header",
      '<div id="__next"><div class="skeleton"><header>Shop</header></div></div><script src="/app.js"></script>',
    ],
    ["a line that waits", '<div id="root"><p>Loading your dashboard…</p></div><script src="/app.js"></script>'],
  ])("asks a renderer where scripts were to fill the page: %s", async (_, body) => {
    pages = (socket) => say(socket, HTML, `<html><head><title>Shop</title></head><body>${body}</body></html>`);
    vendor.answers({ body: { success: true, data: { markdown: TEXT, metadata: { title: "T", statusCode: 200 } } } });
    const { row, hops } = await one("/shop");
    expect(row).toMatchObject({ provider: "firecrawl", yield: 1 });
    expect(hops).toEqual(["direct false", "exa not_configured", "firecrawl true"]);
    expect(row?.hops.map(({ found }) => found)).toEqual(["shell", undefined, undefined]);
  });

  it("takes a short page that mentions a wall, and says of a wall that it is one", async () => {
    const limits = "<h1>Limits</h1><p>Requests are rate limited to 60 a minute for each key. Ask us for more.</p>";
    pages = (socket, path) => say(socket, HTML, path === "/limits" ? `<html><body>${limits}</body></html>` : WALL);
    expect((await one("/limits")).row).toMatchObject({ provider: "direct", quality_flags: [] });
    vendor.answers({ body: { success: true, data: { markdown: TEXT, metadata: { title: "T", statusCode: 200 } } } });
    expect((await one("/wall")).row?.hops[0]).toMatchObject({ provider: "direct", ok: false, found: "wall" });
  });

  it("is free where no rung has read any page", async () => {
    pages = (socket) => say(socket, HTML, WALL);
    vendor.answers({ body: { success: true, data: { markdown: "Access denied", metadata: { statusCode: 200 } } } });
    const { status, json, hops } = await one("/story");
    expect([status, json.error, json.charged_cents]).toEqual([502, "all_blocked", 0]);
    expect(hops).toEqual(["direct false", "exa not_configured", "firecrawl false", "scrapingant not_configured"]);
  });

  it("charges each URL sent where one was read, and says what was not", async () => {
    pages = (socket, path) => say(socket, HTML, path === "/wall" ? WALL : PAGE);
    const { json } = await run(live, { urls: [at("/wall"), at("/story")] });
    expect(json).toMatchObject({ charged_cents: 4, data: { read_count: 1, row_count: 2 } });
    expect(json.data?.rows[0]).toMatchObject({ content: null, error: "blocked", quality_flags: ["blocked"], yield: 0 });
    expect(json.data?.next).toContain("core/onescrape-deep");
  });

  it("takes a short page that came whole, and flags thin content of a vendor's", async () => {
    pages = (socket) => say(socket, HTML, "<html><body><p>Open from nine to five.</p></body></html>");
    expect((await one("/short")).row).toMatchObject({ provider: "direct", yield: 0.35, quality_flags: [] });
    pages = (socket) => say(socket, HTML, '<html><body><div id="root"></div><script></script></body></html>');
    vendor.answers({ body: { success: true, data: { markdown: "Open from nine.", metadata: { statusCode: 200 } } } });
    expect((await one("/app")).row).toMatchObject({ provider: "firecrawl", quality_flags: ["thin_content"] });
  });

  it("obeys robots.txt", async () => {
    const { hops } = await one("/private/story");
    expect(hops[0]).toBe("direct robots");
    expect(outside.heads.filter((text) => text.includes("/private"))).toEqual([]);
  });

  it("is not led inside by a redirect, nor by a name", async () => {
    pages = (socket) => redirect(socket, at("/", "inside.example"));
    const before = outside.innerConnections();
    expect((await one("/story")).hops[0]).toBe("direct false");
    expect((await run(live, { urls: [at("/", "inside.example")] })).status).toBe(502);
    expect(outside.innerConnections()).toBe(before);
  });

  it("leaves a page that is too large, or grows as it is unpacked", async () => {
    pages = (socket) => socket.write(head(200, { ...HTML, "content-length": "10000000000" }));
    expect((await one("/huge")).hops[0]).toBe("direct false");
    const bomb = gzipSync(Buffer.alloc(20_000_000, "a"));
    pages = (socket) => say(socket, { ...HTML, "content-encoding": "gzip" }, bomb);
    expect((await one("/bomb")).hops[0]).toBe("direct false");
  });

  it("leaves what nobody can take apart in time", async () => {
    pages = (socket) => say(socket, HTML, "<div>".repeat(200_000));
    expect((await one("/deep")).hops[0]).toBe("direct false");
    pages = (socket) => say(socket, HTML, PAGE);
    expect((await one("/story")).row?.provider).toBe("direct");
  });

  it("asks a host twice at once and no more", async () => {
    let now = 0;
    let most = 0;
    pages = (socket) => {
      most = Math.max(most, ++now);
      setTimeout(() => {
        now -= 1;
        say(socket, HTML, PAGE);
      }, 300);
    };
    const { json } = await run(live, { urls: ["/1", "/2", "/3", "/4", "/5"].map((path) => at(path)) });
    expect([json.data?.read_count, most]).toEqual([5, 2]);
  });

  it("tells a document by what its server says, and plain text from a page", async () => {
    pages = (socket) => say(socket, { "content-type": "application/pdf" }, "%PDF-1.7");
    const { status, json } = await one("/paper");
    expect([status, json.error, json.charged_cents]).toEqual([400, "onescrape_document", 0]);
    pages = (socket) => say(socket, { "content-type": "text/plain" }, TEXT);
    expect((await one("/notes")).row).toMatchObject({ format: "text", content: TEXT });
  });

  it.each([
    ["bad_url", "not a page"],
    ["bad_url", "https://user:secret@example.com/"],
    ["bad_url", "http://127.0.0.1/"],
    ["bad_url", "http://intranet/"],
    ["bad_url", "ftp://example.com/"],
    ["bad_url", "javascript:alert(1)"],
    ["bad_url", `https://example.com/${"x".repeat(2_048)}`],
    ["onescrape_social", "https://www.linkedin.com/in/someone"],
    ["onescrape_social", "x.com/someone"],
    ["onescrape_document", "https://example.com/Report.PDF?download=1"],
    ["onescrape_document", "https://example.com/table.xlsx"],
  ])("refuses with %s, and holds nothing: %s", async (code, url) => {
    const { status, json } = await run(live, { urls: ["https://example.com", url] });
    expect([status, json.error, json.charged_cents, json.message]).toEqual([
      400,
      code,
      0,
      expect.stringContaining("urls.1"),
    ]);
  });

  it("takes one to five URLs", async () => {
    for (const urls of [[], Array.from({ length: 6 }, (_, n) => `https://example.com/${n}`), undefined]) {
      const { status, json } = await run(live, { urls });
      expect([status, json.error]).toEqual([400, "bad_request"]);
    }
  });

  it("is held for what it can cost: an empty account is told before anything is read", async () => {
    const poor = await gateway.account({ kind: "personal", creditCents: 3 });
    const { status, json } = await run(poor, { urls: [at("/1"), at("/2")] });
    expect([status, json.error]).toEqual([402, "insufficient_balance"]);
    expect(outside.heads).toEqual([]);
  });
});

describe("core/onescrape in the sandbox", () => {
  it("reads an address of 2,000 characters, and each fragment of a page once", async () => {
    const long = `https://example.com/${"x".repeat(2_000 - "https://example.com/".length)}`;
    const { json } = await run(play, { urls: [long, `${long}#a`, `${long}#b`] });
    expect(json).toMatchObject({ charged_cents: 2, data: { url_count: 1, read_count: 1, rows: [{ url: long }] } });
  });

  it("asks for pages that meet walls together: the cent of a call is carried by one of its pages", async () => {
    const urls = [1, 2, 3].map((n) => `https://example.com/wall/exa?${n}`);
    const { json } = await run(play, { urls: [...urls, "https://example.com/about"] });
    expect(json).toMatchObject({ charged_cents: 8, data: { read_count: 4 } });
    const rows = json.data?.rows ?? [];
    expect(rows.map(({ provider }) => provider)).toEqual(["exa", "exa", "exa", "direct"]);
    const calls = rows.slice(0, 3).map(({ hops }) => hops[1]);
    // On a busy machine, one page may arrive later than the others wait. It then causes a second call.
    for (const id of new Set(calls.map((hop) => hop?.transaction_id))) {
      const cents = calls.filter((hop) => hop?.transaction_id === id).map((hop) => Number(hop?.charged_cents));
      expect(cents.toSorted()).toEqual([...Array(cents.length - 1).fill(0), 1]);
    }
  });

  const fault = (name: string) => ({ "x-tollgate-sandbox-fault": name });
  it.each<[what: string, page: string, row: object, hops: string[], more?: object, headers?: Record<string, string>]>([
    ["a page", "about", { provider: "direct", yield: 1, quality_flags: [] }, ["direct true"]],
    ["a wall that another rung passes", "wall/exa", { provider: "exa" }, ["direct wall", "exa true"]],
    ["a shell", "shell", { provider: "exa" }, ["direct shell", "exa true"]],
    ["a page that cannot be taken apart", "nested", { provider: "exa" }, ["direct false", "exa true"]],
    ["our own fetch where it is off", "off", { provider: "exa" }, ["direct off", "exa true"]],
    ["our own fetch that has no room", "busy", { provider: "exa" }, ["direct busy", "exa true"]],
    ["our own fetch for which it is too late", "time", { provider: "exa" }, ["direct time", "exa true"]],
    ["what robots.txt forbids", "private", { provider: "exa" }, ["direct robots", "exa true"]],
    [
      "less than is enough",
      "scant",
      { content: "Open from nine to five.", yield: 0.023, quality_flags: ["thin_content"] },
      ["direct shell", "exa true", "firecrawl true", "scrapingant true"],
    ],
    ["a text for machines alone", "hidden", { quality_flags: ["hidden_text"] }, ["direct true"]],
    ["what readers pay for", "paywall", { quality_flags: ["paywall"] }, ["direct true"]],
    ["a page longer than a row", "long", { truncated: true, chars: 500_000 }, ["direct true"]],
    [
      "a format that a rung does not have",
      "wall/firecrawl",
      { provider: "firecrawl", format: "html" },
      ["direct wall", "exa format", "firecrawl true"],
      { format: "html" },
    ],
    [
      "a vendor that fails, and one that does not know us",
      "shell",
      { provider: "scrapingant" },
      ["direct shell", "exa false", "firecrawl not_configured", "scrapingant true"],
      {},
      fault("500@exa,401@firecrawl"),
    ],
  ])("shows %s", async (_, page, row, hops, more = {}, headers = {}) => {
    const { json } = await run(play, { urls: [`https://example.com/${page}`], ...more }, headers);
    expect(json).toMatchObject({ charged_cents: 2, data: { rows: [row] } });
    expect(toldHops(json.data?.rows[0]?.hops ?? [])).toEqual(hops);
  });

  it.each([
    ["wall", ["wall", "wall", "nothing", "nothing"]],
    ["missing", ["error_status", "nothing", "nothing", "nothing"]],
    ["empty", ["nothing", "nothing", "nothing", "false"]],
    ["image", ["false"]],
    ["cost_bound", ["nothing", "cost_bound", "cost_bound", "cost_bound"]],
  ])("shows that nobody reads /%s, free", async (page, hops) => {
    const { status, json } = await run(play, { urls: [`https://example.com/${page}`] });
    expect([status, json.error, json.charged_cents]).toEqual([502, "all_blocked", 0]);
    expect(toldHops(json.data?.calls ?? []).map((hop) => hop.split(" ")[1])).toEqual(hops);
  });

  it("reads the sandbox's pages and never the internet", async () => {
    const urls = ["example.com/about", "https://wall.example.com/firecrawl", at("/story"), "https://example.com/thin"];
    const { json } = await run(play, { urls });
    expect(json.charged_cents).toBe(8);
    expect(json.data?.rows.map(({ provider }) => provider)).toEqual(["direct", "firecrawl", "direct", "direct"]);
    expect(json.data?.rows[0]).toMatchObject({ url: "https://example.com/about", yield: 1 });
    expect(json.data?.rows[1]?.hops[0]).toMatchObject({ provider: "direct", ok: false });
    expect(outside.heads).toEqual([]);
  });
});
