import { describe, expect, test } from "vitest";
import { nano } from "../../../src/core/money.ts";
import { createLog, type LogFormat, type LogLevel } from "../../../src/platform/observe/log.ts";
import { RequestRecord } from "../../../src/platform/observe/record.ts";
import { manualClock } from "../../support/manual-clock.ts";

const TIME = "2026-01-02T03:04:05.678Z";

function logged(format: LogFormat, level: LogLevel = "info") {
  const lines: string[] = [];
  const stream = { write: (line: string) => void lines.push(line) };
  const log = createLog({ level, format, clock: manualClock(Date.parse(TIME)), stream });
  const request = (fields: Partial<RequestRecord>) =>
    log.request(Object.assign(new RequestRecord({ requestId: "req_1", method: "GET", startedMs: 0 }), fields));
  return { lines, log, request };
}

const chat: Partial<RequestRecord> = {
  method: "POST",
  endpoint: "/api/llm/v1/chat/completions",
  status: 200,
  operation: "chat",
  asked: "core/cheap",
  served: "acme/small",
  provider: "acme",
  chargedNano: nano(12_000),
  durationMs: 812.34,
};

describe("a line of the log", () => {
  test("is JSON with a time that people and programs read, a request's as any other", () => {
    const { lines, log, request } = logged("json");
    request(chat);
    log.logger.warn({ provider: "acme" }, "a notice");
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { level: 30, time: TIME, msg: "request", status: 200 },
      { level: 40, time: TIME, msg: "a notice", provider: "acme" },
    ]);
  });

  test("has the time that a date would write, whichever millisecond it is", () => {
    const lines: string[] = [];
    const clock = manualClock(0);
    const log = createLog({ level: "info", clock, stream: { write: (line: string) => void lines.push(line) } });
    const times = ["2026-01-02T03:04:05.000Z", "2026-01-02T03:04:05.007Z", "2026-01-02T03:04:05.070Z", TIME];
    times.push("2026-01-02T03:04:06.000Z", "2026-02-28T23:59:59.999Z", "2026-03-01T00:00:00.001Z");
    let now = 0;
    for (const time of times) {
      clock.advance(Date.parse(time) - now);
      now = Date.parse(time);
      log.logger.info("x");
      log.request(new RequestRecord({ requestId: "req_1", method: "GET", startedMs: 0 }));
    }
    expect(lines.map((line) => JSON.parse(line).time)).toEqual(times.flatMap((time) => [time, time]));
  });

  test("is words for people", () => {
    const { lines, log, request } = logged("text");
    request(chat);
    request({ endpoint: "/x", status: 401, code: "invalid_token", durationMs: 1 });
    log.logger.warn({ provider: "acme" }, "a notice");
    expect(lines).toEqual([
      `${TIME} INFO  POST /api/llm/v1/chat/completions 200 812.3 ms, core/cheap by acme as acme/small, 0.000012 USD request_id=req_1\n`,
      `${TIME} INFO  GET /x 401 1 ms request_id=req_1 code=invalid_token\n`,
      `${TIME} WARN  a notice provider=acme\n`,
    ]);
  });

  test("for people tells an error with its stack, and no control character of a caller's", () => {
    const { lines, log, request } = logged("text");
    log.logger.error({ err: new Error("broken") }, "internal error");
    request({ ...chat, asked: "a\u001b[2Jb\nc" });
    expect(lines[0]).toMatch(/ERROR internal error\n {2}Error: broken\n {2,}at /);
    expect(lines[1]).toContain("a?[2Jb?c");
  });

  test("is JSON where standard output is no terminal", () => {
    const { lines, log } = logged("auto");
    log.logger.info("x");
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({ msg: "x" });
  });
});

describe("whoever watches", () => {
  test.each<[LogLevel, boolean, number, number]>([
    ["info", true, 200, 0],
    ["debug", true, 200, 1],
    ["info", true, 503, 1],
    ["info", false, 200, 1],
  ])("at %s, watched %s, status %i: %i lines", (level, watched, status, count) => {
    const { lines, request } = logged("json", level);
    request({ endpoint: "/healthz", watched, status });
    expect(lines).toHaveLength(count);
  });
});
