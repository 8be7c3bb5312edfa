import { setTimeout } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { nano } from "../../../src/core/money.ts";
import type { Leg } from "../../../src/core/route.ts";
import { createLog, type LogLevel } from "../../../src/platform/observe/log.ts";
import { METRICS, type MetricRow, metricType, showTotals } from "../../../src/platform/observe/metrics.ts";
import { createObserver } from "../../../src/platform/observe/observer.ts";
import type { RequestRecord } from "../../../src/platform/observe/record.ts";
import { manualClock } from "../../support/manual-clock.ts";

const CATALOG = new Set(["core/cheap", "acme/small", "acme/large"]);

function setUp(level: LogLevel = "info") {
  const clock = manualClock(Date.UTC(2026, 0, 2));
  const lines: Record<string, unknown>[] = [];
  const stream = { write: (text: string) => void lines.push(JSON.parse(text) as Record<string, unknown>) };
  const log = createLog({ level, clock, stream });
  const observer = createObserver({ clock, log, isKnown: (name) => CATALOG.has(name) });
  const begin = (fields: Partial<RequestRecord> = {}) =>
    Object.assign(observer.begin({ requestId: "req_1", method: "POST", startedMs: clock.elapsedMs() }), fields);
  return { clock, lines, observer, begin };
}

const attempt: Leg = {
  provider: "acme",
  model: "acme/small",
  status: 200,
  failure: null,
  ms: 900,
  firstTokenMs: 100,
  upstreamNano: nano(2_000),
};

/** A successful streamed chat completion of one second. */
const chat: Partial<RequestRecord> = {
  endpoint: "/api/llm/v1/chat/completions",
  status: 200,
  accountId: "acct_1",
  keyId: "key_1",
  operation: "chat",
  asked: "core/cheap",
  served: "acme/small",
  provider: "acme",
  streamed: true,
  attempts: [attempt],
  firstTokenMs: 200,
  usage: { inputTokens: 100, cacheReadTokens: 20, cacheWriteTokens: 0, outputTokens: 81, reasoningTokens: 5 },
  heldNano: nano(5_000),
  chargedNano: nano(3_000),
  upstreamNano: nano(2_000),
  transactionId: "tx_1",
  outcome: "success",
};

/** The value of a series, by its name and some of its labels. */
function value(text: string, name: string, labels: Record<string, string> = {}): number | null {
  for (const line of text.split("\n")) {
    if (!line.startsWith(`${name}{`) && !line.startsWith(`${name} `)) continue;
    if (Object.entries(labels).every(([label, is]) => line.includes(`${label}="${is}"`))) {
      return Number(line.slice(line.lastIndexOf(" ") + 1));
    }
  }
  return null;
}

describe("a request that went well", () => {
  test("is one line that says what it was, what served it and what it cost", () => {
    const { clock, lines, observer, begin } = setUp();
    const record = begin(chat);
    clock.advance(1_000);
    observer.end(record);
    expect(lines).toEqual([
      expect.objectContaining({
        level: 30,
        time: "2026-01-02T00:00:01.000Z",
        msg: "request",
        request_id: "req_1",
        endpoint: "/api/llm/v1/chat/completions",
        status: 200,
        ms: 1000,
        asked: "core/cheap",
        served: "acme/small",
        attempts: ["acme acme/small 200 ok 900"],
        first_token_ms: 200,
        held_nano_usd: 5_000,
        charged_nano_usd: 3_000,
        upstream_nano_usd: 2_000,
        transaction_id: "tx_1",
      }),
    ]);
    expect(lines[0]).not.toHaveProperty("code");
    expect(lines[0]).not.toHaveProperty("sandbox");
  });

  test("is counted with the names and labels of the conventions", async () => {
    const { clock, observer, begin } = setUp();
    const record = begin(chat);
    clock.advance(1_000);
    observer.end(record);
    const text = await observer.metricsText();
    const genAi = {
      gen_ai_operation_name: "chat",
      gen_ai_provider_name: "acme",
      gen_ai_request_model: "core/cheap",
      gen_ai_response_model: "acme/small",
      sandbox: "0",
    };
    const tokens = (type: string) =>
      value(text, "gen_ai_client_token_usage_sum", { ...genAi, gen_ai_token_type: type });
    expect([tokens("input"), tokens("cached_input"), tokens("output"), tokens("reasoning")]).toEqual([120, 20, 81, 5]);
    expect(tokens("cache_creation_input")).toBeNull();
    expect(value(text, "gen_ai_client_token_usage_bucket", { gen_ai_token_type: "output", le: "64" })).toBe(0);
    expect(value(text, "gen_ai_client_token_usage_bucket", { gen_ai_token_type: "output", le: "256" })).toBe(1);
    expect(value(text, "gen_ai_client_token_usage_bucket", { gen_ai_token_type: "output", le: "+Inf" })).toBe(1);
    expect(value(text, "gen_ai_server_request_duration_seconds_sum", { ...genAi, error_type: "" })).toBe(1);
    expect(value(text, "gen_ai_server_time_to_first_token_seconds_sum", genAi)).toBe(0.2);
    expect(value(text, "gen_ai_server_time_per_output_token_seconds_sum", genAi)).toBe(0.01);
    const models = { operation: "chat", provider: "acme", asked: "core/cheap", served: "acme/small", sandbox: "0" };
    expect(value(text, "tollgate_charged_usd_total", models)).toBe(0.000003);
    expect(value(text, "tollgate_upstream_cost_usd_total", models)).toBe(0.000002);
    expect(value(text, "tollgate_requests_total", { status: "200", code: "", sandbox: "0" })).toBe(1);
    expect(value(text, "tollgate_attempts_total", { provider: "acme", outcome: "ok" })).toBe(1);
    expect(value(text, "tollgate_attempt_first_token_seconds_sum", { provider: "acme" })).toBe(0.1);
    expect(value(text, "tollgate_outcomes_total", { operation: "chat", outcome: "success" })).toBe(1);
    expect(value(text, "tollgate_overhead_seconds_sum", { operation: "chat" })).toBe(0.1);
    expect(value(text, "tollgate_request_duration_seconds_count", { sandbox: "0" })).toBe(1);
  });

  test("adds up over many requests", async () => {
    const { observer, begin } = setUp("silent");
    for (let call = 0; call < 1_000; call += 1) observer.end(begin({ ...chat, attempts: [attempt] }));
    const text = await observer.metricsText();
    expect(value(text, "tollgate_charged_usd_total", { asked: "core/cheap" })).toBe(0.003);
    expect(value(text, "gen_ai_client_token_usage_count", { gen_ai_token_type: "input" })).toBe(1_000);
  });

  test("from a sandbox account never mixes with real money", async () => {
    const { observer, begin } = setUp();
    observer.end(begin({ ...chat, sandbox: true }));
    const text = await observer.metricsText();
    expect(value(text, "tollgate_charged_usd_total", { sandbox: "1" })).toBe(0.000003);
    expect(value(text, "tollgate_charged_usd_total", { sandbox: "0" })).toBeNull();
    expect(value(text, "tollgate_attempts_total", { sandbox: "0" })).toBeNull();
  });
});

describe("a request that went wrong", () => {
  const failed: Leg = {
    ...attempt,
    provider: "other",
    model: "acme/large",
    status: 503,
    failure: "provider_overloaded",
  };

  test("shows the routes that were left behind, and why", async () => {
    const { lines, observer, begin } = setUp();
    observer.end(begin({ ...chat, attempts: [failed, attempt] }));
    const text = await observer.metricsText();
    const fallback = { asked: "core/cheap", served: "acme/small", reason: "provider_overloaded", sandbox: "0" };
    expect(value(text, "tollgate_fallbacks_total", fallback)).toBe(1);
    expect(value(text, "tollgate_attempts_total", { provider: "other", outcome: "provider_overloaded" })).toBe(1);
    expect(lines[0]?.attempts).toEqual(["other acme/large 503 provider_overloaded 900", "acme acme/small 200 ok 900"]);
  });

  test("for want of any route is a warning and an error type", async () => {
    const { lines, observer, begin } = setUp();
    const nothing = { served: null, provider: null, chargedNano: nano(0), usage: null, firstTokenMs: null };
    observer.end(
      begin({
        ...chat,
        ...nothing,
        status: 502,
        code: "upstream_error",
        outcome: "failed",
        attempts: [failed, failed],
      }),
    );
    const text = await observer.metricsText();
    expect(lines[0]).toMatchObject({ level: 40, status: 502, code: "upstream_error", outcome: "failed" });
    expect(value(text, "gen_ai_server_request_duration_seconds_count", { error_type: "upstream_error" })).toBe(1);
    expect(value(text, "tollgate_fallbacks_total", { served: "_none" })).toBe(1);
    expect(value(text, "tollgate_overhead_seconds_count")).toBeNull();
  });

  test("after it had begun is a warning although its status was 200", () => {
    const { lines, observer, begin } = setUp();
    observer.end(begin({ ...chat, status: 200, code: "upstream_error", outcome: "broken" }));
    expect(lines[0]).toMatchObject({ level: 40, status: 200, outcome: "broken" });
  });

  test("by the caller's fault is no warning", async () => {
    const { lines, observer, begin } = setUp();
    observer.end(begin({ endpoint: "/api/llm/v1/chat/completions", status: 401, code: "invalid_token" }));
    expect(lines[0]).toMatchObject({ level: 30, status: 401, code: "invalid_token" });
    expect(lines[0]).not.toHaveProperty("charged_nano_usd");
    expect(
      value(await observer.metricsText(), "tollgate_requests_total", { status: "401", code: "invalid_token" }),
    ).toBe(1);
  });

  test("counts what nobody paid for, by reason, and events that were skipped", async () => {
    const { observer, begin } = setUp();
    observer.end(begin({ ...chat, absorbedNano: nano(1_000_000), absorbReason: "over_hold", skippedEvents: 3 }));
    const text = await observer.metricsText();
    expect(value(text, "tollgate_absorbed_usd_total", { reason: "over_hold", sandbox: "0" })).toBe(0.001);
    expect(value(text, "tollgate_stream_events_skipped_total", { provider: "acme" })).toBe(3);
  });
});

describe("what callers make up", () => {
  test("is never a label", async () => {
    const { observer, begin } = setUp("silent");
    for (let name = 0; name < 500; name += 1) {
      observer.end(
        begin({ ...chat, asked: `made/up-${name}`, served: `ollama/up-${name}`, attempts: [failedOn(name)] }),
      );
    }
    const text = await observer.metricsText();
    expect(text).not.toContain("up-1");
    expect(value(text, "tollgate_charged_usd_total", { asked: "_other", served: "_other" })).toBeCloseTo(0.0015, 12);
  });

  test("stays bounded even where the catalog knows every name", async () => {
    const clock = manualClock(0);
    const log = createLog({ level: "silent", clock });
    const observer = createObserver({ clock, log, isKnown: () => true });
    for (let name = 0; name < 3_000; name += 1) {
      const record = observer.begin({ requestId: "r", method: "POST", startedMs: 0 });
      observer.end(Object.assign(record, { ...chat, asked: `made/up-${name}` }));
    }
    const series = (await observer.metricsText()).match(/^tollgate_charged_usd_total\{.*$/gm) ?? [];
    expect(series.length).toBeLessThan(1_002);
    expect(series.some((line) => line.includes('asked="_other"') && line.endsWith(" 0.006"))).toBe(true);
  });

  test("cannot break the log's lines or fill them", () => {
    const { lines, observer, begin } = setUp();
    observer.end(begin({ ...chat, asked: `evil"}\n{"level":60${"x".repeat(10_000)}` }));
    expect(lines).toHaveLength(1);
    expect(String(lines[0]?.asked)).toHaveLength(200);
  });
});

function failedOn(name: number): Leg {
  return { ...attempt, model: `ollama/up-${name}` };
}

describe("the log level", () => {
  test.each([
    ["info", 2],
    ["warn", 1],
    ["error", 0],
  ] as const)("%s writes %i of a good and a bad request", (level, count) => {
    const { lines, observer, begin } = setUp(level);
    observer.end(begin({ status: 200 }));
    observer.end(begin({ status: 500 }));
    expect(lines).toHaveLength(count);
  });
});

describe("at a scrape", () => {
  test("the gauges say what is so now", async () => {
    const { observer, begin } = setUp();
    let resting = [{ provider: "acme", model: "acme/small" }];
    observer.onScrape((gauges) => {
      showTotals(gauges, {
        accounts: 3,
        holdsOpen: 2,
        heldNano: nano(5_000_000_000),
        spentNano: "1500000000",
        play: { heldNano: nano(1_000_000_000), spentNano: "500000000" },
      });
      gauges.spoolDepth.set(4);
      gauges.spoolOldest.set(1.5);
      gauges.archiveBehind.set(2.5);
      gauges.resting.reset();
      for (const route of resting) gauges.resting.set(route, 1);
    });
    const record = begin();
    begin();
    const during = await observer.metricsText();
    expect(value(during, "tollgate_in_flight")).toBe(2);
    expect(value(during, "tollgate_accounts")).toBe(3);
    expect(value(during, "tollgate_holds_open")).toBe(2);
    expect(value(during, "tollgate_held_usd", { sandbox: "0" })).toBe(4);
    expect(value(during, "tollgate_held_usd", { sandbox: "1" })).toBe(1);
    expect(value(during, "tollgate_spent_usd", { sandbox: "0" })).toBe(1);
    expect(value(during, "tollgate_spent_usd", { sandbox: "1" })).toBe(0.5);
    expect(value(during, "tollgate_spool_depth")).toBe(4);
    expect(value(during, "tollgate_spool_oldest_seconds")).toBe(1.5);
    expect(value(during, "tollgate_archive_behind_seconds")).toBe(2.5);
    expect(value(during, "tollgate_route_resting", { provider: "acme", model: "acme/small" })).toBe(1);
    observer.end(record);
    resting = [];
    const after = await observer.metricsText();
    expect(observer.inFlight()).toBe(1);
    expect(value(after, "tollgate_in_flight")).toBe(1);
    expect(value(after, "tollgate_route_resting")).toBeNull();
  });

  test("a ledger that cannot answer costs only its gauges", async () => {
    const { lines, observer } = setUp();
    observer.onScrape(() => Promise.reject(new Error("disk is gone")));
    const text = await observer.metricsText();
    expect(value(text, "tollgate_in_flight")).toBe(0);
    expect(lines[0]).toMatchObject({ level: 40, msg: "gauges not read" });
  });

  test("the ledger's times and the process's own metrics are there", async () => {
    const { observer } = setUp();
    observer.ledgerTook("reserve", 2);
    observer.ledgerTook("reserve", 4);
    const text = await observer.metricsText();
    expect(value(text, "tollgate_ledger_operation_seconds_sum", { operation: "reserve" })).toBe(0.006);
    expect(value(text, "tollgate_ledger_operation_seconds_bucket", { operation: "reserve", le: "0.0025" })).toBe(1);
    expect(value(text, "nodejs_eventloop_lag_p99_seconds")).not.toBeNull();
    expect(value(text, "process_resident_memory_bytes")).toBeGreaterThan(0);
  });

  test("the longest hold of the event loop is told once", async () => {
    const { observer } = setUp();
    // A timer notices a blocked loop only when its turn comes.
    const hold = async (ms: number) => {
      await setTimeout(120);
      const startedMs = performance.now();
      while (performance.now() - startedMs < ms);
      await setTimeout(120);
      return value(await observer.metricsText(), "tollgate_event_loop_longest_hold_seconds");
    };
    expect(await hold(400)).toBeGreaterThan(0.3);
    // A busy machine may hold the loop itself, but not at every scrape.
    await expect.poll(() => hold(0)).toBeLessThan(0.3);
  });

  test("every metric of the table is explained", async () => {
    const text = await setUp().observer.metricsText();
    for (const row of Object.values<MetricRow>(METRICS)) {
      expect(text).toMatch(new RegExp(`^# HELP ${row.name} \\S`, "m"));
      expect(text).toMatch(new RegExp(`^# TYPE ${row.name} ${metricType(row)}$`, "m"));
    }
  });
});
