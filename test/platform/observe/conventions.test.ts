// The gateway follows OpenTelemetry's and W3C's conventions: names of providers and operations in metrics, and traces that continue.
import { describe, expect, it } from "vitest";
import { callChat } from "../../support/chat-call.ts";
import { forFile } from "../../support/for-file.ts";
import { startTestGateway } from "../../support/gateway.ts";
import { postAs } from "../../support/keyed-fetch.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT = "00f067aa0ba902b7";

const gateway = forFile(await startTestGateway());
const account = await gateway.account();

const messages = [{ role: "user", content: "Hi" }];
const ask = (body: object, headers: Record<string, string> = {}) =>
  callChat({ messages, ...body }, { url: gateway.url, key: account.key, headers });

/** The series of a metric that have all of these labels. */
async function series(name: string, ...labels: string[]): Promise<string[]> {
  const lines = (await gateway.metricsText()).split("\n");
  return lines.filter((line) => line.startsWith(name) && labels.every((label) => line.includes(label)));
}

describe("metrics", () => {
  it("name providers as the conventions do", async () => {
    for (const [model, name] of [
      ["google/gemini-3.6-flash", "gcp.gemini"],
      ["mistralai/mistral-small-2603", "mistral_ai"],
      ["x-ai/grok-4.3", "x_ai"],
      ["openai/gpt-5.4-nano", "openai"],
    ] as const) {
      expect((await ask({ model })).status).toBe(200);
      const found = await series(
        "gen_ai_server_request_duration_seconds_count",
        `gen_ai_provider_name="${name}"`,
        `gen_ai_request_model="${model}"`,
      );
      expect([model, found.length]).toEqual([model, 1]);
    }
    // Our own metrics use the ids of settings and keys.
    expect((await series("tollgate_charged_usd_total", 'provider="gemini"')).length).toBe(1);
  });

  it("count calls of actions as actions, and as no operation of a model", async () => {
    const response = await postAs(account.key, `${gateway.url}/api/run/brave/news`, { q: "tides" });
    await gateway.record(response.headers.get("x-request-id"));
    expect(await series("gen_ai_", "brave")).toEqual([]);
    const [count] = await series("tollgate_action_duration_seconds_count", 'asked="brave/news"', 'code=""');
    expect(count).toMatch(/ 1$/);
  });

  it("count a list of models under the first that is known", async () => {
    for (const models of [
      ["sandbox/503", "openai/gpt-5.4-mini"],
      ["openai/gpt-5.4-mini", "sandbox/503"],
      ["gpt-5.4-mini", "core/cheap"],
    ]) {
      await gateway.record((await ask({ models })).requestId);
    }
    const [count] = await series("gen_ai_server_request_duration_seconds_count", 'request_model="openai/gpt-5.4-mini"');
    expect(count).toMatch(/ 3$/);
    expect(await series("gen_ai_server_request_duration_seconds_count", 'request_model="_other"')).toEqual([]);
  });
});

describe("a trace that a caller began", () => {
  it("goes on in the answer and in the log", async () => {
    const { headers, requestId } = await ask(
      { model: "openai/gpt-5.4-nano" },
      { traceparent: `00-${TRACE}-${PARENT}-01` },
    );
    const [, spanId] =
      /^00-4bf92f3577b34da6a3ce929d0e0e4736-([0-9a-f]{16})-01$/.exec(headers.get("traceparent") ?? "") ?? [];
    expect(spanId).toMatch(/^[0-9a-f]{16}$/);
    expect(spanId).not.toBe(PARENT);
    const record = await gateway.record(requestId);
    expect(record).toMatchObject({ trace_id: TRACE, span_id: spanId, parent_span_id: PARENT });
  });

  it("goes on where there is nothing to serve, too", async () => {
    const headers = { traceparent: `00-${TRACE}-${PARENT}-00` };
    const response = await fetch(`${gateway.url}/nothing`, { headers });
    expect(response.headers.get("traceparent")).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-00$`));
    expect(await gateway.record(response.headers.get("x-request-id"))).toMatchObject({ trace_id: TRACE });
  });

  it("counts as none where it is not as the standard has it", async () => {
    for (const traceparent of [
      "nonsense",
      `00-${"0".repeat(32)}-${PARENT}-01`,
      `00-${TRACE}-${"0".repeat(16)}-01`,
      `ff-${TRACE}-${PARENT}-01`,
      `00-${TRACE.toUpperCase()}-${PARENT}-01`,
      `00-${TRACE}-${PARENT}-01-more`,
      `00-${TRACE}-${PARENT}`,
    ]) {
      const response = await fetch(`${gateway.url}/nothing`, { headers: { traceparent } });
      expect([traceparent, response.headers.get("traceparent")]).toEqual([traceparent, null]);
      expect(await gateway.record(response.headers.get("x-request-id"))).not.toHaveProperty("trace_id");
    }
    const later = await fetch(`${gateway.url}/nothing`, { headers: { traceparent: `01-${TRACE}-${PARENT}-01-more` } });
    expect(later.headers.get("traceparent")).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-01$`));
  });
});
