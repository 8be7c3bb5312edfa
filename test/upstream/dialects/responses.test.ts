// Translates OpenAI chat requests to the responses wire without loss of meaning, and its answers back to OpenAI's chat wire.
import { hash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { responses } from "../../../src/models/formats/responses/vendor.ts";
import { responsesPassing } from "../../../src/models/formats/responses/vendor-passing.ts";
import { HeldStream } from "../../../src/upstream/held-stream.ts";
import { answerOf, asked, chatContext, feed, RecordedStream, replay } from "../../support/dialect-replay.ts";

const STREAMED = chatContext({ stream: true });
const USAGE = { inputTokens: 30, cacheReadTokens: 30, cacheWriteTokens: 10, outputTokens: 20, reasoningTokens: 5 };

describe("the request", () => {
  it("carries sealed thoughts back to their own vendor, before the calls they led to", () => {
    const call = { id: `call_${"x".repeat(80)}`, type: "function", function: { name: "get_weather", arguments: "" } };
    const seals = [
      { type: "reasoning.encrypted", data: "rs_1:gAA:A==", format: "responses" },
      { type: "reasoning.encrypted", data: "of another", format: "messages" },
      { type: "reasoning.encrypted", data: "no id", format: "responses" },
    ];
    const messages = [
      { role: "user", content: "Hi" },
      { role: "assistant", content: null, tool_calls: [call], reasoning_details: seals },
      { role: "tool", tool_call_id: call.id, content: "blue" },
    ];
    const { body } = responses.request(asked({ messages }), chatContext());
    const call_id = `call_${"x".repeat(26)}_${hash("md5", call.id)}`;
    expect((body.input as unknown[]).slice(1)).toEqual([
      { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "gAA:A==" },
      { type: "function_call", call_id, name: "get_weather", arguments: "{}" },
      { type: "function_call_output", call_id, output: "blue" },
    ]);
  });
});

describe("a stream", () => {
  it("is text with its usage in disjoint buckets", () => {
    const out = replay(responses, "responses/text.sse");
    expect(out.text("content")).toBe("Hello there");
    expect(out.finishes).toEqual([{ index: 0, reason: "stop", native: "completed" }]);
    expect([out.usages, out.ended, out.failure]).toEqual([[USAGE], true, null]);
  });

  it("shows summaries apart, and seals the whole thought for its vendor", () => {
    const out = replay(responses, "responses/thinking.sse");
    expect(out.text("reasoning")).toBe("First this.\n\nThen that.");
    expect(out.list("reasoning_details")).toMatchObject([{ type: "reasoning.encrypted", data: "rs_0:gAAA==" }]);
  });

  it("has calls side by side, one of them without pieces", async () => {
    const message = (await replay(responses, "responses/tools.sse").completion(STREAMED)).choices[0]?.message;
    expect(message?.tool_calls).toMatchObject([
      { id: "call_a", function: { name: "weather", arguments: '{"city":"Paris"}' } },
      { id: "call_b", function: { name: "clock", arguments: "{}" } },
    ]);
  });

  it("names a call that its vendor does not", () => {
    const [call] = replay(responses, "responses/length-in-call.sse").list("tool_calls") as { id: string }[];
    expect(call?.id).toMatch(/^call_\w+_0$/);
  });

  it.each([
    ["length", "length", "max_output_tokens"],
    ["filtered", "content_filter", "content_filter"],
    ["refusal", "stop", "completed"],
    ["unknown", "stop", "completed"],
  ])("%s ends as such", (name, reason, native) => {
    expect(replay(responses, `responses/${name}.sse`).finishes).toEqual([{ index: 0, reason, native }]);
  });

  it.each([
    ["failed", "provider_server_error"],
    ["error", "provider_rate_limited"],
  ])("%s is no answer", (name, kind) => {
    const out = replay(responses, `responses/${name}.sse`);
    expect([out.failure?.kind, out.finishes]).toEqual([kind, []]);
  });

  it("filtered at once is an answer that says so", () => {
    const out = replay(responses, "responses/filtered-at-once.sse");
    expect(out.failure).toBeNull();
    expect(out.finishes).toEqual([{ index: 0, reason: "content_filter", native: "content_filter" }]);
  });

  it("without a word says that it is empty", () => {
    const out = replay(responses, "responses/empty.sse");
    expect(out.failure).toBeNull();
    expect(out.emptiness).toContain("the answer is empty");
  });

  it("that opens calls without end is broken", () => {
    const out = new RecordedStream();
    const item = { type: "function_call", call_id: "c", name: "f", arguments: "" };
    const events = Array.from({ length: 1_100 }, (_, output_index) => ({
      name: null,
      data: JSON.stringify({ type: "response.output_item.added", output_index, item }),
    }));
    feed(responses, STREAMED, events, out);
    expect(out.failure?.kind).toBe("provider_malformed");
    expect(out.list("tool_calls").length).toBeLessThan(1_100);
  });

  it.each([
    ["negative", { input_tokens: -5, output_tokens: -1 }, null],
    [
      "more cached than sent",
      { input_tokens: 5, input_tokens_details: { cached_tokens: 9, cache_write_tokens: 9 }, output_tokens: 2 },
      { inputTokens: 0, cacheReadTokens: 5, cacheWriteTokens: 0, outputTokens: 2, reasoningTokens: 0 },
    ],
    [
      "more thought than said",
      { input_tokens: 5, output_tokens: 2, output_tokens_details: { reasoning_tokens: 7 } },
      { inputTokens: 5, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens: 2, reasoningTokens: 2 },
    ],
  ])("whose usage is absurd (%s) is read as far as it can be true", (_, usage, read) => {
    const output = [{ type: "message", content: [{ type: "output_text", text: "Hi" }] }];
    const answer = answerOf(responses, { status: "completed", output, usage }, chatContext());
    expect("usage" in answer && answer.usage).toEqual(read);
  });
});

it("counts what it passes on of a stream however its vendor spaces JSON: who leaves pays for what came", () => {
  const held = new HeldStream({ content() {}, done() {}, failed() {} });
  const reader = responsesPassing.reader(STREAMED, held);
  for (const space of ["", " "]) {
    const event = Buffer.from(`{"type":${space}"response.output_text.delta","delta":${space}"two words"}`);
    reader.event(event, 0, event.length, null);
  }
  expect(held.reading().delivered.text).toBe("two wordstwo words");
});

it("cache and cost are read where the adapter says that its vendor reports them", () => {
  const answer = answerOf(
    responses,
    {
      status: "completed",
      output: [
        { type: "search_results", results: [] },
        { type: "message", role: "assistant", content: [{ type: "output_text", text: "Hi" }] },
      ],
      usage: {
        input_tokens: 100,
        input_tokens_details: { cache_read_input_tokens: 40, cache_creation_input_tokens: 10 },
        output_tokens: 5,
        cost: { total_cost: 0.0031, currency: "USD" },
      },
    },
    chatContext({ spec: { dialect: "responses", models: {}, costUsdAt: "/cost/total_cost" } }),
  );
  expect(answer).toMatchObject({
    text: "Hi",
    usage: { inputTokens: 50, cacheReadTokens: 40, cacheWriteTokens: 10, outputTokens: 5 },
    upstreamCostNano: 3_100_000,
  });
});
