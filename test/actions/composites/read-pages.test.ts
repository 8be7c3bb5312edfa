// Concurrent page reading: each page goes rung by rung, in batches if a rung takes several, and no page delays the others for long.
import { describe, expect, it } from "vitest";
import { GrowingRow } from "../../../src/actions/composites/pages/page-row.ts";
import { askRung, noteAsked, PageReader } from "../../../src/actions/composites/pages/read-pages.ts";
import type { RungParts } from "../../../src/actions/composites/pages/read-rung.ts";
import type { InnerAnswer, WantedCall } from "../../../src/catalog/local-action.ts";
import type { PageLadderSpec, RungCall, RungSpec } from "../../../src/catalog/page-ladder.ts";
import { type Clock, systemClock } from "../../../src/core/clock.ts";
import { manualClock } from "../../support/manual-clock.ts";
import { shippedCatalog } from "../../support/shipped-catalog.ts";
import { READS_NOTHING } from "./page-reading.ts";

const TEXT = "All that is paid at the gate is written down, and whoever asks is told what is left of it. ".repeat(15);
const WANTED = { format: "markdown", mainContent: true } as const;
const ladder = (await shippedCatalog({})).compositeTiers.get("onescrape") as PageLadderSpec;

const one: RungCall = {
  action: "acme/one",
  params: ({ urls }) => ({ url: urls[0] ?? "" }),
  answer: { contentAt: "/text", holds: "markdown" },
};
const several: RungCall = {
  action: "acme/several",
  params: ({ urls }) => ({ urls }),
  answer: { listAt: "/pages", urlAt: "/url", contentAt: "/text", holds: "markdown" },
};
const FIRST: RungSpec = { tag: "first", cents: 1, markdown: one };
const TOGETHER: RungSpec = { tag: "together", cents: 1, pagesMax: 10, markdown: several };
const LAST: RungSpec = { tag: "last", cents: 2, markdown: { ...one, action: "acme/last" } };
const page = (name: string) => `https://example.com/${name}`;

interface Stage {
  /** The answer of the first and the last rung for a page: its text, or never. */
  readonly says: (url: string, action: string) => Promise<string>;
  readonly patienceMs?: number | null;
  readonly msMax?: number;
  readonly clock?: Clock;
  readonly isServed?: (action: string) => boolean;
}

/** Reads these pages; returns their rows, and the pages of each batch call. */
async function read(names: readonly string[], stage: Stage) {
  const { says, patienceMs = null, msMax = 60_000, clock = systemClock, isServed } = stage;
  const together: (readonly string[])[] = [];
  const answered = (data: unknown): InnerAnswer => {
    return { ok: true, id: "tx_1.1", action: "acme", provider: "acme", data, isMiss: false, ms: 1 };
  };
  const parts: RungParts = {
    direct: null,
    reading: READS_NOTHING,
    ladder,
    isServed: isServed ?? (() => true),
    async call({ action, params }: WantedCall) {
      if (action !== several.action) return answered({ text: await says(String(params.url), action) });
      const urls = params.urls as readonly string[];
      together.push(urls.map((url) => new URL(url).pathname.slice(1)));
      return answered({ pages: urls.map((url) => ({ url, text: TEXT })) });
    },
  };
  const { signal } = new AbortController();
  const bounds = { clock, untilMs: clock.elapsedMs() + msMax, signal };
  const reader = new PageReader({
    rungs: [FIRST, TOGETHER, LAST],
    canAsk: ({ markdown }) => parts.isServed(markdown?.action ?? ""),
    signal,
    patienceMs,
    async ask(rung, rows) {
      const wanted = { ...WANTED, urls: rows.map(({ url }) => url) };
      noteAsked(rung, rows, await askRung(rung, wanted, bounds, parts), rung.cents);
      return "asked";
    },
  });
  const rows = names.map((name) => new GrowingRow(page(name), WANTED));
  await Promise.all(rows.map((row) => reader.read(row)));
  return { rows: rows.map((row) => row.end()), together };
}
const never = new Promise<never>(() => {});

describe("pages that come to a rung which reads several", () => {
  it("go in one call, without those that are read already; the first carries what it costs", async () => {
    const { rows, together } = await read(["a", "read", "b", "c"], {
      says: async (url) => (url.endsWith("/read") ? TEXT : ""),
    });
    expect(together).toEqual([["a", "b", "c"]]);
    expect(rows.map(({ provider, charged_cents: cents }) => [provider, cents])).toEqual([
      ["together", 1],
      ["first", 1],
      ["together", 0],
      ["together", 0],
    ]);
  });

  it("are not held up for longer than their patience by one that is slow, which goes by itself", async () => {
    const late = Promise.withResolvers<string>();
    const reading = read(["slow", "a", "b"], {
      says: (url) => (url.endsWith("/slow") ? late.promise : Promise.resolve("")),
      patienceMs: 5,
    });
    // It answers after the others have finished.
    setTimeout(() => late.resolve(""), 100);
    expect((await reading).together).toEqual([["a", "b"], ["slow"]]);
  });

  it("wait for all who may still come where nobody waits for them", async () => {
    const late = Promise.withResolvers<string>();
    const reading = read(["slow", "a", "b"], {
      says: (url) => (url.endsWith("/slow") ? late.promise : Promise.resolve("")),
    });
    setTimeout(() => late.resolve(""), 50);
    expect((await reading).together.map((names) => [...names].sort())).toEqual([["a", "b", "slow"]]);
  });

  it("wait for nobody where that rung cannot be asked", async () => {
    const { rows, together } = await read(["a", "b"], {
      says: async (_, action) => (action === "acme/last" ? TEXT : ""),
      isServed: (action) => action !== several.action,
    });
    expect(together).toEqual([]);
    expect(rows.map(({ provider, hops }) => [provider, hops[1]?.skipped])).toEqual([
      ["last", "not_configured"],
      ["last", "not_configured"],
    ]);
  });
});

it("a rung that hangs is left when its time is over, and holds up no other page", async () => {
  const clock = manualClock(0);
  const msMax = 50;
  const { rows } = await read(["read", "hangs"], {
    says(url) {
      if (!url.endsWith("/hangs")) return Promise.resolve(TEXT);
      clock.advance(msMax);
      return never;
    },
    patienceMs: 5,
    msMax,
    clock,
  });
  expect(rows[0]).toMatchObject({ provider: "first", content: TEXT });
  expect(rows[1]).toMatchObject({ content: null, error: "blocked" });
  expect(rows[1]?.hops.map(({ ok, skipped }) => skipped ?? ok)).toEqual([false, "time", "time"]);
});
