// A run's bill from its postings: rows, sums, loops and timeline, over books that the test fills.
import { describe, expect, it } from "vitest";
import type { PostingRow } from "../../../src/core/account-rows.ts";
import { nano } from "../../../src/core/money.ts";
import { billCsv, billOf, billSchema, idsOf } from "../../../src/money/runs/bill.ts";
import { runCallRow } from "../../../src/money/runs/bill-calls.ts";
import { Timeline } from "../../../src/money/runs/timeline.ts";

const START_MS = Date.parse("2026-11-22T10:00:00Z");
const RUNS = { accountId: "acct_1", runIds: ["one"] };

interface Asked {
  readonly model?: string;
  readonly action?: string;
  readonly nano?: number;
  readonly input?: number;
  readonly cached?: number;
  readonly output?: number;
  readonly hash?: string;
}

function posting(at: number, asked: Asked): PostingRow {
  const { model, action, input = 100, cached = 0, output = 10 } = asked;
  const served = model ?? action ?? "maker/model";
  const inRun = { firstTokenMs: 40, requestHash: asked.hash ?? `hash ${at}` };
  const leg = {
    vendor: "vendor",
    model: served,
    upstreamNano: nano(1),
    ok: true,
    ms: 300,
    reason: null,
    count: 1,
    inRun,
  };
  return {
    ...{ transactionId: `tx_${at}`, kind: "charge", accountId: "acct_1", keyId: "key_1", parentId: null },
    ...{ requestId: `req_${at}`, createdAtMs: START_MS + at * 1_000, operation: action === undefined ? "chat" : "run" },
    ...{ asked: served, served, provider: "vendor", amountNano: nano(asked.nano ?? 1_000), chargedCents: 0 },
    ...{ upstreamNano: nano(1), absorbedNano: nano(0), absorbReason: null, estimated: false, priceVersion: null },
    usage:
      action === undefined
        ? {
            ...{ inputTokens: input - cached, cacheReadTokens: cached, cacheWriteTokens: 0 },
            ...{ outputTokens: output, reasoningTokens: 0 },
          }
        : null,
    ...{ reference: null, reason: null, runId: "one", tags: [], legs: [leg] },
  };
}

function booksOf(postings: readonly PostingRow[]) {
  const limits: number[] = [];
  return {
    limits,
    account: async () => null,
    key: async () => null,
    async runPostings({ cursor, limit }: { readonly cursor: string | null; readonly limit: number }) {
      limits.push(limit);
      const from = Number(cursor ?? 0);
      const next = from + limit < postings.length ? String(from + limit) : null;
      return { rows: postings.slice(from, from + limit), next };
    },
  };
}

const calls = (...asked: readonly Asked[]) => asked.map((one, at) => posting(at, one));
const bill = async (postings: readonly PostingRow[], query: Record<string, string> = {}) =>
  billOf(booksOf(postings), RUNS, billSchema.parse(query)) as Promise<{
    readonly calls: readonly { readonly transaction_id: string }[];
    readonly next_cursor: string | null;
    readonly totals?: { readonly calls: number; readonly charged_nano_usd: number };
    readonly loops?: readonly { readonly kind: string; readonly calls: number; readonly charged_nano_usd: number }[];
    readonly timeline?: readonly { readonly calls: number }[];
  }>;

describe("the rows of a bill", () => {
  it("have the call's times, and the routes that failed before the one that served", () => {
    const row = posting(1, { model: "maker/model" });
    const failed = { vendor: "other", model: "maker/model", upstreamNano: nano(0), ok: false, ms: 200 };
    const legs = [{ ...failed, reason: "provider_overloaded", count: 1 }, ...row.legs];
    expect(runCallRow({ ...row, legs })).toMatchObject({
      ...{ transaction_id: "tx_1", status: "complete", first_token_ms: 240, duration_ms: 500 },
      fell_back_from: [{ vendor: "other", model: "maker/model", reason: "provider_overloaded" }],
    });
    const left = row.legs.map(({ inRun: _, ...leg }) => ({ ...leg, ok: false, reason: "caller_left" }));
    expect(runCallRow({ ...row, legs: left })).toMatchObject({ status: "partial", first_token_ms: null });
  });

  it("come by page; only the first page has the sums", async () => {
    const all = calls(...Array.from({ length: 5 }, () => ({})));
    const first = await bill(all, { limit: "3" });
    expect(first.calls.map(({ transaction_id: id }) => id)).toEqual(["tx_0", "tx_1", "tx_2"]);
    expect(first.totals).toMatchObject({ calls: 5, charged_nano_usd: 5_000 });
    const second = await bill(all, { limit: "3", cursor: first.next_cursor ?? "" });
    expect(second).toMatchObject({
      calls: [{ transaction_id: "tx_3" }, { transaction_id: "tx_4" }],
      next_cursor: null,
    });
    expect(second.totals).toBeUndefined();
    expect(await bill(all, { limit: "0" })).toEqual({});
  });

  it("are also comma-separated values", async () => {
    const { body, headers } = await billCsv(
      booksOf(calls({}, {})),
      RUNS,
      billSchema.parse({ format: "csv", limit: "1" }),
    );
    const [head, line, ...more] = String(body).trimEnd().split("\r\n");
    expect(head).toMatch(/^created_at,run_id,transaction_id,/);
    expect(line).toContain("tx_0");
    expect([more, headers?.["x-next-cursor"]]).toEqual([[], "1"]);
  });
});

describe("the sums of a bill", () => {
  it("are by model and by action, the costliest first", async () => {
    const all = calls(
      { model: "a/b" },
      { model: "c/d", nano: 5_000 },
      { action: "exa/search", nano: 7 },
      { model: "a/b" },
    );
    expect(await bill(all)).toMatchObject({
      totals: {
        ...{ calls: 4, charged_nano_usd: 7_007 },
        by_model: [
          { model: "c/d", calls: 1, charged_nano_usd: 5_000 },
          { model: "a/b", calls: 2, charged_nano_usd: 2_000, input_tokens: 200, output_tokens: 20 },
        ],
        by_action: [{ action: "exa/search", calls: 1, charged_nano_usd: 7 }],
      },
    });
  });

  it("read each batch of a long run once", async () => {
    const books = booksOf(Array.from({ length: 4_500 }, (_, at) => posting(at, {})));
    expect(await billOf(books, RUNS, billSchema.parse({}))).toMatchObject({ totals: { calls: 4_500 } });
    expect(books.limits).toEqual([100, 2_000, 2_000, 2_000]);
  });
});

describe("the loops of a bill", () => {
  const kinds = async (...asked: readonly Asked[]) => (await bill(calls(...asked))).loops;

  it("are none where an agent works as it should", async () => {
    const turns = [1, 2, 3, 4, 5].map((turn) => ({ input: 3_000 * turn, cached: 3_000 * (turn - 1), output: 2_500 }));
    expect(await kinds(...turns)).toEqual([]);
  });

  it("name the same call again and again, and what the repeats cost", async () => {
    const same = { action: "exa/search", nano: 10, hash: "same" };
    expect(await kinds(same, { action: "exa/search" }, same, same)).toMatchObject([
      { kind: "same_call", name: "exa/search", calls: 3, charged_nano_usd: 20 },
    ]);
    expect(await kinds(same, same)).toEqual([]);
  });

  it("name a growing prompt that no cache serves", async () => {
    const turns = [1, 2, 3, 4].map((turn) => ({ input: 3_000 + 100 * turn, nano: 50 }));
    expect(await kinds(...turns)).toMatchObject([{ kind: "uncached_prompt", calls: 3, charged_nano_usd: 150 }]);
    expect(await kinds(...turns.map((turn) => ({ ...turn, cached: 2_000 })))).toEqual([]);
    expect(await kinds(...turns.map((turn) => ({ ...turn, input: turn.input / 10 })))).toEqual([]);
  });

  it("name tool results that grow with each call", async () => {
    const inputs = [1_000, 2_500, 5_000, 9_000, 15_000];
    const turns = inputs.map((input, at) => ({ input, cached: inputs[at - 1] ?? 0, nano: 5 }));
    expect(await kinds(...turns)).toMatchObject([{ kind: "growing_results", calls: 4, charged_nano_usd: 20 }]);
  });
});

describe("the timeline of a bill", () => {
  const add = (timeline: Timeline, from: number, to: number, runId = "one") =>
    timeline.add({
      ...{ runId, isAction: false, name: "a/b", nano: 1, startedAtMs: from, endedAtMs: to },
      ...{ inputTokens: 0, cachedTokens: 0, outputTokens: 0, requestHash: null },
    });

  it("joins calls of a run that overlap or follow at once, and no others", () => {
    const timeline = new Timeline();
    for (const [from, to, runId] of [
      [0, 90],
      [50, 100],
      [60, 120, "child"],
      [110, 200],
      [900, 1_000],
    ] as const)
      add(timeline, from, to, runId);
    expect(timeline.spans()).toEqual([
      { run_id: "one", from_ms: 0, to_ms: 200, calls: 3, charged_nano_usd: 3 },
      { run_id: "child", from_ms: 60, to_ms: 120, calls: 1, charged_nano_usd: 1 },
      { run_id: "one", from_ms: 900, to_ms: 1_000, calls: 1, charged_nano_usd: 1 },
    ]);
  });

  it("stays small for a run of any length, and loses no call", () => {
    const timeline = new Timeline();
    for (let at = 0; at < 50_000; at++) add(timeline, at * 1_000, at * 1_000 + 10);
    expect(timeline.spans().length).toBeLessThanOrEqual(400);
    expect(timeline.spans().reduce((sum, { calls: count }) => sum + count, 0)).toBe(50_000);
  });

  it("has the first 400 runs of a tree with more", () => {
    const timeline = new Timeline();
    for (let at = 0; at < 3_000; at++) add(timeline, at * 1_000, at * 1_000 + 10, `run ${at % 1_000}`);
    const lanes = timeline.spans().map(({ run_id: id }) => id);
    expect(lanes).toEqual(Array.from({ length: 400 }, (_, at) => `run ${at}`));
    expect(timeline.spans().every(({ calls: count }) => count === 3)).toBe(true);
  });
});

it("a tree of runs has the ids of all its runs", () => {
  const leaf = (id: string) => ({ id, children: [] });
  const tree = { id: "a", children: [{ id: "b", children: [leaf("c")] }, leaf("d")] };
  expect(idsOf(tree)).toEqual(["a", "b", "c", "d"]);
});
