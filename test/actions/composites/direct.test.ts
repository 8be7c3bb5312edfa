// Our own page fetcher: how it treats hosts, and the limits of each step.
import { describe, expect, it } from "vitest";
import { createDirect, type DirectAnswer, type OpenPage } from "../../../src/actions/composites/pages/direct.ts";
import { createExtractor, type PageReading } from "../../../src/actions/composites/pages/extractor.ts";
import { createHostPace } from "../../../src/actions/composites/pages/host-pace.ts";
import { matchesGlob, pagesOfSite } from "../../../src/actions/composites/pages/site-map.ts";
import { readableChars } from "../../../src/actions/composites/pages/yield.ts";
import { bounded, systemClock } from "../../../src/core/clock.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import { badUrl, TooLarge } from "../../../src/upstream/public-trouble.ts";
import { cpuMsOf } from "../../support/cpu-time.ts";
import { eventually } from "../../support/gateway.ts";
import { manualClock } from "../../support/manual-clock.ts";
import { READS_HERE } from "./page-reading.ts";

const never = new AbortController().signal;

async function* bytes(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

/** An internet of texts by path; null: unreachable. */
function internet(pages: (url: URL) => { status?: number; text: string; to?: string } | null) {
  const asked: string[] = [];
  const open: OpenPage = async (address, { onHop }) => {
    let url = new URL(address);
    for (;;) {
      const stopped = await onHop(url);
      if (stopped !== null) return stopped;
      asked.push(url.href);
      const page = pages(url);
      if (page === null) return new GatewayError("upstream_error", { detail: { detail: "nobody" } });
      if (page.to === undefined) {
        const headers = { "content-type": "text/html" };
        return { status: page.status ?? 200, headers, finalUrl: url.href, body: bytes(page.text) };
      }
      url = new URL(page.to);
    }
  };
  return { open, asked };
}

const directOf = (open: OpenPage, clock = systemClock) =>
  createDirect({ open, pace: createHostPace(systemClock), clock, obeysRobots: true });

describe("our own fetch", () => {
  it("asks for robots.txt once an hour, and again soon where it could not be had", async () => {
    const clock = manualClock(0);
    let robots: { status: number; text: string } | null = { status: 200, text: "User-agent: Tollgate\nDisallow: /no" };
    const { open, asked } = internet(({ pathname }) => (pathname === "/robots.txt" ? robots : { text: "hi" }));
    const direct = directOf(open, clock);
    const fetched = async (path: string) => (await direct.fetch(`https://a.example${path}`, READS_HERE, never)).kind;
    expect([await fetched("/yes"), await fetched("/no/x")]).toEqual(["answer", "skipped"]);
    robots = { status: 503, text: "" };
    clock.advance(3_600_001);
    expect(await fetched("/yes")).toBe("skipped");
    robots = { status: 404, text: "" };
    expect(await fetched("/yes")).toBe("skipped");
    clock.advance(60_001);
    expect(await fetched("/no/x")).toBe("answer");
    expect(asked.filter((url) => url.endsWith("robots.txt"))).toHaveLength(3);
  });

  it("does not let a robots.txt keep the event loop busy: one with patterns for seconds of work forbids all", async () => {
    const slow = `User-agent: *\n${`Disallow: /${"*a".repeat(1_000)}b\n`.repeat(250)}`;
    const { open, asked } = internet(({ pathname }) => ({ text: pathname === "/robots.txt" ? slow : "hi" }));
    const ms = await cpuMsOf(async () => {
      const answer = await directOf(open).fetch(`https://a.example/${"a".repeat(2_000)}`, READS_HERE, never);
      expect(answer).toEqual({ kind: "skipped", why: "robots" });
    });
    expect(asked).toEqual(["https://a.example/robots.txt"]);
    expect(ms).toBeLessThan(4_000);
  });

  it.each([
    ["long rules", `Disallow: /${"no".repeat(500)}\n`.repeat(500), 20],
    ["many rules", "Disallow: /x\n".repeat(2_000), 45],
  ])("keeps so much of robots.txt files and no more, however many hosts somebody has: %s", async (_, rules, hosts) => {
    const robots = `User-agent: *\n${rules}`;
    const { open, asked } = internet(({ pathname }) => ({ text: pathname === "/robots.txt" ? robots : "hi" }));
    const direct = directOf(open);
    const fetched = (host: string) => direct.fetch(`https://${host}.example/`, READS_HERE, never);
    const count = (host: string) => asked.filter((url) => url === `https://${host}.example/robots.txt`).length;
    for (let host = 0; host < hosts; host++) await fetched(`h${host}`);
    await fetched(`h${hosts - 1}`);
    expect(count(`h${hosts - 1}`)).toBe(1);
    await fetched("h0");
    expect(count("h0")).toBe(2);
  });

  it.each([
    ["is too long forbids all", new TooLarge(524_288), { kind: "skipped", why: "robots" }],
    ["leads nowhere public forbids nothing", badUrl("is not public"), { kind: "answer" }],
  ])("takes it that a robots.txt that %s", async (_, problem, expected) => {
    const { open } = internet(() => ({ text: "hi" }));
    const direct = directOf(async (url, bounds) => (url.endsWith("/robots.txt") ? problem : open(url, bounds)));
    expect(await direct.fetch("https://a.example/", READS_HERE, never)).toMatchObject(expected);
  });

  it("obeys the stars of an ordinary robots.txt", async () => {
    const robots = `User-agent: *\n${"Disallow: /*/private/*.html$\n".repeat(200)}`;
    const { open } = internet(({ pathname }) => ({ text: pathname === "/robots.txt" ? robots : "hi" }));
    const direct = directOf(open);
    const kinds = ["/a/private/b.html", "/a/public/b.html"].map(async (path) => {
      return (await direct.fetch(`https://a.example${path}`, READS_HERE, never)).kind;
    });
    expect(await Promise.all(kinds)).toEqual(["skipped", "answer"]);
  });

  it("is as polite to where it is sent on to, and obeys what is said there", async () => {
    const { open, asked } = internet(({ hostname, pathname }) => {
      if (pathname === "/robots.txt") return { text: hostname === "b.example" ? "User-agent: *\nDisallow: /" : "" };
      return hostname === "a.example" ? { text: "", to: "https://b.example/page" } : { text: "hi" };
    });
    expect(await directOf(open).fetch("https://a.example/", READS_HERE, never)).toEqual({
      kind: "skipped",
      why: "robots",
    });
    expect(asked).not.toContain("https://b.example/page");
  });

  it("lets two at a time to a host, five in a second, and gives up where its turn does not come", async () => {
    const pace = createHostPace(systemClock);
    const enter = (msMax = 5_000) => pace.enter("a.example", { msMax, signal: never });
    const fromMs = performance.now();
    const first = await enter();
    const second = await enter();
    expect(performance.now() - fromMs).toBeGreaterThan(150);
    expect(await enter(20)).toBeNull();
    const third = enter();
    first?.();
    first?.();
    expect(await third).not.toBeNull();
    expect(await enter(20)).toBeNull();
    expect(await pace.enter("b.example", { msMax: 20, signal: never })).not.toBeNull();
    second?.();
  });
});

describe("a robots.txt that an account had no room to read", () => {
  const full: PageReading = { ...READS_HERE, robots: async () => "busy" };
  const kindOf = (answer: DirectAnswer) => (answer.kind === "skipped" ? answer.why : answer.kind);

  it("is told as busy, is not kept, and is read for the next account at once", async () => {
    const { open, asked } = internet(() => ({ text: "" }));
    const direct = directOf(open);
    expect(kindOf(await direct.fetch("https://a.example/1", full, never))).toBe("busy");
    expect(kindOf(await direct.fetch("https://a.example/2", READS_HERE, never))).toBe("answer");
    expect(asked.filter((url) => url.endsWith("robots.txt"))).toHaveLength(2);
  });

  it("is read anew for whoever has waited for it", async () => {
    const { open } = internet(() => ({ text: "" }));
    const direct = directOf(open);
    const first = direct.fetch("https://a.example/1", full, never);
    const second = direct.fetch("https://a.example/2", READS_HERE, never);
    expect([kindOf(await first), kindOf(await second)]).toEqual(["busy", "answer"]);
  });
});

describe("the bounds of a step", () => {
  it("leave what hangs, and tell it to stop", async () => {
    let told = false;
    const hangs = (signal: AbortSignal) =>
      new Promise<string>(() => signal.addEventListener("abort", () => (told = true)));
    expect(await bounded(hangs, "late", { msMax: 20, signal: never })).toBe("late");
    expect(told).toBe(true);
    expect(await bounded(hangs, "late", { msMax: 60_000, signal: AbortSignal.abort() })).toBe("late");
  });

  it("end a page that keeps a thread busy, and the next page has a thread", async () => {
    // A fast machine reads the hard page in half a second.
    const extractor = createExtractor({ threads: 1, msMax: 200 });
    const order = {
      url: "https://a.example/",
      format: "markdown",
      mainContent: true,
      status: 200,
      hasRun: false,
    } as const;
    const reading = extractor.of("ada");
    const hard = reading.page("<div><p>some, words of it</p></div>".repeat(36_000), order, never);
    // The same length, so it gets the same time, but needs almost none of it. On a busy machine even that may take too long.
    const easy = () => reading.page(`<p>Open at nine.</p><!-- ${"x".repeat(1_200_000)} -->`, order, never);
    const read = eventually(async () => (await easy()) ?? undefined, "a page that is read");
    expect(await hard).toBeNull();
    expect(await read).toMatchObject({ content: "Open at nine." });
    expect(await reading.page("x".repeat(4_000_000), order, never)).toBeNull();
    await extractor.close();
  });

  it("of a page do not count while its thread is started, which takes long on a busy machine", async () => {
    const extractor = createExtractor({ threads: 1, msMax: 1_250 });
    const order = {
      url: "https://a.example/",
      format: "text",
      mainContent: false,
      status: 200,
      hasRun: false,
    } as const;
    const extracted = await extractor.of("ada").page("<p>Open at nine.</p>", order, never);
    expect(extracted).toMatchObject({ content: "Open at nine." });
    await extractor.close();
  });

  it("hold for texts that are made to be slow to judge", () => {
    const fromMs = performance.now();
    for (const text of ["[", "[](", "![a](", "[a]("]) readableChars(text.repeat(500_000));
    expect(matchesGlob(`${"*a".repeat(200)}*b`, "a".repeat(2_000))).toBe(false);
    expect(performance.now() - fromMs).toBeLessThan(10_000);
  });
});

describe("patterns of addresses", () => {
  it.each([
    ["/blog/", "https://a.example/blog/x", true],
    ["*/blog/*", "https://a.example/blog/x", true],
    ["*/blog/*", "https://a.example/news/x", false],
    ["https://a.example/*.html", "https://a.example/x.html", true],
    ["https://a.example/*.html", "https://a.example/x.htm", false],
    ["*a*a*", "https://b/a", false],
    ["*", "https://b/", true],
  ])("%s, %s: %s", (pattern, url, is) => {
    expect(matchesGlob(pattern, url)).toBe(is);
  });

  it("keep the first page, whatever they say, and no other host's", async () => {
    const site = { url: "https://a.example/start", max_pages: 3, include: ["/blog/"], exclude: [] };
    const ladder = { socialDomains: [], documentEndings: [".pdf"] } as never;
    const found = ["https://b.example/blog/1", "https://a.example/blog/x.pdf", "https://a.example/blog/1#a"];
    const more = ["https://a.example/blog/1", "https://a.example/blog/2", "https://a.example/blog/3"];
    expect(await pagesOfSite(site, [...found, ...more], ladder)).toEqual([
      "https://a.example/start",
      "https://a.example/blog/1",
      "https://a.example/blog/2",
    ]);
  });
});
