// Traces as a collector receives them: spans of calls, attempts and jobs, their parents, and what happens without a collector.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { idsOf, isKept } from "../../../src/platform/observe/trace-context.ts";
import { callChat } from "../../support/chat-call.ts";
import { eventually, startTestGateway, type TestAccount, type TestGateway } from "../../support/gateway.ts";
import { postAs } from "../../support/keyed-fetch.ts";
import { Collector } from "../../support/otel-collector.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT = "00f067aa0ba902b7";
const CLIENT = 3;
const ERROR = 2;

const collector = new Collector();
let gateway: TestGateway;
let account: TestAccount;

beforeAll(async () => {
  gateway = await startTestGateway({
    OTEL_EXPORTER_OTLP_ENDPOINT: await collector.open(),
    OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20collector-secret,x-team=a",
    OTEL_SERVICE_NAME: "gate-1",
    OTEL_BSP_SCHEDULE_DELAY: "1",
  });
  account = await gateway.account();
});

afterAll(async () => {
  await gateway.stop();
  collector.close();
});

const messages = [{ role: "user", content: "a secret question" }];
const ask = (body: object, headers: Record<string, string> = {}) =>
  callChat({ messages, ...body }, { url: gateway.url, key: account.key, headers });

describe("a call", () => {
  it("is a span with what it was, what it used and what it cost", async () => {
    const { requestId } = await ask({ model: "sandbox/ok", stream: true });
    const span = await collector.of(requestId);
    expect(span.name).toBe("chat sandbox/ok");
    expect(span.attributes).toMatchObject({
      "http.route": "/api/llm/v1/chat/completions",
      "http.response.status_code": 200,
      "gen_ai.operation.name": "chat",
      "gen_ai.request.model": "sandbox/ok",
      "gen_ai.response.model": "sandbox/ok",
      "gen_ai.usage.output_tokens": 60,
      "tollgate.account_id": account.accountId,
      "tollgate.sandbox": true,
      "tollgate.outcome": "success",
    });
    expect(span.attributes["gen_ai.usage.input_tokens"]).toBeGreaterThan(0);
    expect(span.attributes["tollgate.charged_nano_usd"]).toBe((await gateway.record(requestId)).charged_nano_usd);
    expect(span.status.code).toBe(0);
  });

  it("tells when its first token came, between its beginning and its end", async () => {
    const { requestId } = await ask({ model: "sandbox/ok", stream: true });
    const span = await collector.of(requestId);
    const [event] = span.events;
    expect(event?.name).toBe("first token");
    expect(Number(event?.timeUnixNano)).toBeGreaterThan(Number(span.startTimeUnixNano));
    expect(Number(event?.timeUnixNano)).toBeLessThanOrEqual(Number(span.endTimeUnixNano));
  });

  it("has a span below it for each attempt, and those that failed say why", async () => {
    const { requestId } = await ask({ models: ["sandbox/503", "sandbox/ok"] });
    const span = await collector.of(requestId);
    const attempts = await eventually(() => {
      const found = collector.below(span);
      return found.length >= 2 ? found : undefined;
    }, "the attempts");
    const failed = attempts.filter(({ status }) => status.code === ERROR);
    const last = attempts.at(-1);
    expect(failed.length).toBe(attempts.length - 1);
    expect(failed[0]?.attributes).toMatchObject({
      "gen_ai.request.model": "sandbox/503",
      "http.response.status_code": 503,
      "error.type": "provider_overloaded",
    });
    expect(last?.name).toBe("sandbox sandbox/ok");
    expect(last?.kind).toBe(CLIENT);
    for (const attempt of attempts) {
      expect(Number(attempt.startTimeUnixNano)).toBeGreaterThanOrEqual(Number(span.startTimeUnixNano) - 1e6);
      expect(Number(attempt.endTimeUnixNano)).toBeLessThanOrEqual(Number(span.endTimeUnixNano) + 1e6);
    }
    expect(new Set(attempts.map(({ spanId }) => spanId)).size).toBe(attempts.length);
  });

  it("that is refused is a span which says so, and no error of the server's", async () => {
    const { requestId } = await ask({ model: "no/such" });
    const span = await collector.of(requestId);
    expect(span.attributes).toMatchObject({ "http.response.status_code": 404, "error.type": "model_not_found" });
    expect(span.status.code).toBe(0);
    expect(collector.below(span)).toEqual([]);
  });

  it("shows no word of what was asked or answered, and no key", async () => {
    const { requestId } = await ask({ model: "sandbox/ok" });
    await collector.of(requestId);
    const told = JSON.stringify(collector.spans);
    expect(told).not.toContain("secret question");
    expect(told).not.toContain("one two three");
    expect(told).not.toContain(account.key);
  });

  it("comes with the service's name and the collector's own headers", async () => {
    await collector.of((await ask({ model: "sandbox/ok" })).requestId);
    expect(collector.resource).toMatchObject({ "service.name": "gate-1" });
    expect(collector.heads[0]).toMatchObject({ authorization: "Bearer collector-secret", "x-team": "a" });
  });
});

describe("a trace that a caller began", () => {
  it("goes on under the caller's span, by the id that its answer tells", async () => {
    const { requestId, headers } = await ask({ model: "sandbox/ok" }, { traceparent: `00-${TRACE}-${PARENT}-01` });
    const span = await collector.of(requestId);
    expect(span.traceId).toBe(TRACE);
    expect(span.parentSpanId).toBe(PARENT);
    expect(headers.get("traceparent")).toBe(`00-${TRACE}-${span.spanId}-01`);
  });

  it("is not sent where its caller does not keep it", async () => {
    const unkept = await ask({ model: "sandbox/ok" }, { traceparent: `00-${TRACE}-${PARENT}-00` });
    await collector.of((await ask({ model: "sandbox/ok" })).requestId);
    const ids = collector.spans.map(({ attributes }) => attributes["tollgate.request_id"]);
    expect(ids).not.toContain(unkept.requestId);
  });
});

describe("a job", () => {
  it("is a trace of its own that names the call which launched it", async () => {
    const response = await postAs(
      account.key,
      `${gateway.url}/api/run/core/onescrape-deep`,
      { urls: ["https://example.com/"] },
      { traceparent: `00-${TRACE}-${PARENT}-01` },
    );
    const launch = await collector.of(response.headers.get("x-request-id"));
    const job = await eventually(
      () => collector.spans.find(({ name }) => name === "job core/onescrape-deep"),
      "the job's span",
    );
    expect(job.traceId).not.toBe(TRACE);
    expect(job.links).toMatchObject([{ traceId: TRACE, spanId: launch.spanId }]);
    expect(job.attributes).toMatchObject({ "tollgate.account_id": account.accountId, "tollgate.charged_cents": 1 });
    expect((await eventually(() => collector.below(job)[0], "its attempt")).attributes).toHaveProperty(
      "tollgate.upstream_nano_usd",
    );
  });
});

describe("of ten thousand traces", () => {
  it("the part that is asked for is kept, whichever process decides", () => {
    const kept = Array.from({ length: 10_000 }, (_, at) => isKept(idsOf(`req_${at}`).traceId, 0.1)).filter(Boolean);
    expect(kept.length).toBeGreaterThan(850);
    expect(kept.length).toBeLessThan(1_150);
  });
});

describe("a collector that is away", () => {
  it("holds up neither a call nor the end of the gateway", async () => {
    const away = new Collector();
    away.away = true;
    const alone = await startTestGateway({ OTEL_EXPORTER_OTLP_ENDPOINT: await away.open() });
    const { key } = await alone.account();
    const { status } = await callChat({ model: "sandbox/ok", messages }, { url: alone.url, key });
    expect(status).toBe(200);
    const fromMs = Date.now();
    await alone.stop();
    expect(Date.now() - fromMs).toBeLessThan(20_000);
    away.close();
  });
});
