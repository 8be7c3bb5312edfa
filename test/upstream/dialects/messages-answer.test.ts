// Streams, answers and errors of the messages wire, as OpenAI's clients see them.
import { describe, expect, it } from "vitest";
import { messages } from "../../../src/models/formats/messages/vendor.ts";
import { classify } from "../../../src/upstream/classify.ts";
import {
  answerOf,
  asked,
  chatContext,
  eventsOf,
  feed,
  fixture,
  RecordedStream,
  replay,
} from "../../support/dialect-replay.ts";

const context = chatContext({ stream: true });

describe("a stream", () => {
  it("gives the role first, then the text, then why it ended", async () => {
    const out = replay(messages, "messages/text.sse");
    expect(out.deltas[0]).toEqual({ index: 0, delta: { role: "assistant", content: "" } });
    expect(out.text("content")).toBe('Good day, 世界 "and" all\n');
    expect(out.finishes).toEqual([{ index: 0, reason: "stop", native: "end_turn" }]);
    expect(out.ended).toBe(true);
    const completion = await out.completion(context);
    expect(completion.choices[0]?.message.content).toBe('Good day, 世界 "and" all\n');
  });

  it("counts disjoint buckets, the newest counts over those of the start", () => {
    expect(replay(messages, "messages/text.sse").usages.at(-1)).toEqual({
      inputTokens: 21,
      cacheReadTokens: 1500,
      cacheWriteTokens: 300,
      outputTokens: 12,
      reasoningTokens: 0,
    });
    expect(replay(messages, "messages/thinking.sse").usages.at(-1)).toMatchObject({
      outputTokens: 90,
      reasoningTokens: 80,
    });
  });

  it("gives parallel calls in OpenAI's fragments; one without arguments gets an empty object", async () => {
    const out = replay(messages, "messages/tools.sse");
    expect(out.list("tool_calls")).toEqual([
      { index: 0, id: "toolu_01A", type: "function", function: { name: "get_weather", arguments: "" } },
      { index: 0, function: { arguments: '{"city": "Pa' } },
      { index: 0, function: { arguments: 'ris"}' } },
      { index: 1, id: "toolu_01B", type: "function", function: { name: "get_time", arguments: "" } },
      { index: 1, function: { arguments: "{}" } },
    ]);
    const [choice] = (await out.completion(context)).choices;
    expect(choice?.finish_reason).toBe("tool_calls");
    expect(choice?.message.content).toBe("Let me look.");
    const calls = choice?.message.tool_calls ?? [];
    expect(calls.map((call) => "function" in call && JSON.parse(call.function.arguments))).toEqual([
      { city: "Paris" },
      {},
    ]);
    expect(out.usages.at(-1)).toMatchObject({ inputTokens: 400, outputTokens: 77 });
  });

  it("gives thoughts as reasoning, and whole with their signature for the way back", () => {
    const out = replay(messages, "messages/thinking.sse");
    expect(out.text("reasoning")).toBe("Two and two are four.");
    expect(out.text("content")).toBe("4");
    const details = out.list("reasoning_details");
    expect(details).toEqual([
      {
        type: "reasoning.text",
        text: "Two and two are four.",
        signature: "EqQBsignature==",
        format: "messages",
        index: 0,
      },
      { type: "reasoning.encrypted", data: "EmwKsealed==", id: null, format: "messages", index: 1 },
    ]);
    const next = messages.request(
      asked({ messages: [{ role: "assistant", content: "4", reasoning_details: details }] }),
      context,
    );
    expect(next.body.messages).toMatchObject([
      {},
      {
        content: [
          { type: "thinking", thinking: "Two and two are four.", signature: "EqQBsignature==" },
          { type: "redacted_thinking", data: "EmwKsealed==" },
          { type: "text" },
        ],
      },
    ]);
  });

  it("signs under the name the adapter gives", () => {
    const spec = { ...context.spec, reasoningFormat: "maker-v1" };
    const out = replay(messages, "messages/thinking.sse", chatContext({ spec }));
    expect(out.list("reasoning_details")).toMatchObject([{ format: "maker-v1" }, { format: "maker-v1" }]);
  });

  it("says a refusal before any content in the vendor's words", () => {
    const late = replay(messages, "messages/refusal.sse");
    expect(late.failure).toBeNull();
    expect(late.finishes).toEqual([{ index: 0, reason: "content_filter", native: "refusal" }]);
    const early = replay(messages, "messages/refusal-at-once.sse");
    expect(early.failure).toBeNull();
    expect(early.text("refusal")).toBe("This could be harmful.");
    expect(early.finishes).toEqual([{ index: 0, reason: "content_filter", native: "refusal" }]);
    expect(early.usages.length).toBeGreaterThan(0);
  });

  it("says that a call was cut off by the bound on output", () => {
    const out = replay(messages, "messages/length.sse");
    expect(out.finishes).toEqual([{ index: 0, reason: "length", native: "max_tokens" }]);
    expect(out.list("tool_calls").at(-1)).toEqual({ index: 0, function: { arguments: '{"text": "once upon' } });
  });

  it("fails with the vendor's own error", () => {
    const out = replay(messages, "messages/overloaded.sse");
    expect(out.failure).toMatchObject({ kind: "provider_overloaded", status: 529, message: "Overloaded" });
    expect(out.finishes).toEqual([]);
    expect(out.ended).toBe(false);
  });

  it("passes over what it does not know", () => {
    const out = replay(messages, "messages/unknown.sse");
    expect(out.text("content")).toBe("So it is");
    expect(out.finishes).toEqual([{ index: 0, reason: "stop", native: "pause_turn" }]);
  });

  it("an empty answer says so, and keeps its usage", () => {
    const out = new RecordedStream();
    const events = eventsOf(fixture("messages/refusal-at-once.sse").replace('"refusal"', '"end_turn"'));
    feed(messages, context, events, out);
    expect(out.failure).toBeNull();
    expect(out.emptiness).toBe("the answer is empty (end_turn)");
    expect(out.usages.length).toBeGreaterThan(0);
  });

  it("skips data that cannot be parsed", () => {
    const out = new RecordedStream();
    expect(
      feed(
        messages,
        context,
        [
          { name: null, data: '{"type":"mess' },
          { name: "ping", data: "[]" },
        ],
        out,
      ),
    ).toBe(2);
    expect(feed(messages, context, [{ name: "message_stop", data: "{}" }], out)).toBe(0);
    expect(out.ended).toBe(true);
  });
});

describe("a whole answer", () => {
  const whole = {
    id: "msg_1",
    type: "message",
    role: "assistant",
    content: [
      { type: "thinking", thinking: "Look it up.", signature: "sig" },
      { type: "text", text: "One " },
      { type: "text", text: "moment." },
      { type: "tool_use", id: "toolu_1", name: "find", input: { q: "x" } },
    ],
    stop_reason: "tool_use",
    usage: { input_tokens: 5, cache_read_input_tokens: 7, cache_creation_input_tokens: null, output_tokens: 11 },
  };

  it("is a chat completion", () => {
    expect(answerOf(messages, whole, chatContext())).toEqual({
      body: {
        id: "chatcmpl-0123456789abcdef",
        object: "chat.completion",
        created: 1_790_000_000,
        model: "maker/model-1",
        choices: [
          {
            index: 0,
            message: {
              role: "assistant",
              content: "One moment.",
              refusal: null,
              reasoning: "Look it up.",
              reasoning_content: "Look it up.",
              reasoning_details: [
                { type: "reasoning.text", text: "Look it up.", signature: "sig", format: "messages", index: 0 },
              ],
              tool_calls: [{ id: "toolu_1", type: "function", function: { name: "find", arguments: '{"q":"x"}' } }],
            },
            logprobs: null,
            finish_reason: "tool_calls",
            native_finish_reason: "tool_use",
          },
        ],
      },
      usage: { inputTokens: 5, cacheReadTokens: 7, cacheWriteTokens: 0, outputTokens: 11, reasoningTokens: 0 },
      upstreamCostNano: null,
      text: 'Look it up.One moment.find{"q":"x"}',
    });
  });

  it("has no content beside calls, and an empty one where thinking used the output up", () => {
    const calls = answerOf(messages, { ...whole, content: whole.content.slice(3) }, chatContext());
    expect(calls).toMatchObject({ body: { choices: [{ message: { content: null } }] } });
    const spent = answerOf(messages, { ...whole, content: [], stop_reason: "max_tokens" }, chatContext());
    expect(spent).toMatchObject({ body: { choices: [{ message: { content: "" }, finish_reason: "length" }] } });
  });

  it.each([
    [null, "provider_malformed"],
    ["oops", "provider_malformed"],
    [{}, "provider_malformed"],
    [{ ...whole, stop_reason: null }, "provider_malformed"],
    [{ type: "error", error: { type: "overloaded_error", message: "Overloaded" } }, "provider_overloaded"],
  ])("%j is none", (json, kind) => {
    expect(answerOf(messages, json, chatContext())).toMatchObject({ kind });
  });

  it("that refuses is an answer, with its usage and the vendor's reason", () => {
    const refused = { ...whole, content: [], stop_reason: "refusal", stop_details: { explanation: "Harmful." } };
    const answer = answerOf(messages, refused, chatContext());
    expect(answer).toMatchObject({
      body: { choices: [{ finish_reason: "content_filter", message: { refusal: "Harmful." } }] },
    });
    expect("kind" in answer ? null : answer.usage?.inputTokens).toBe(5);
  });

  it("without a word says that it is empty, with its usage", () => {
    const answer = answerOf(messages, { ...whole, content: [], stop_reason: "tool_use" }, chatContext());
    expect(answer).toMatchObject({ empty: "the answer is empty (tool_use)", usage: { inputTokens: 5 } });
  });

  it.each([-5, 1.5, "12", Number.NaN, null, undefined, {}])("counts %s tokens safely", (count) => {
    const answer = answerOf(messages, { ...whole, usage: { input_tokens: count, output_tokens: 3 } }, chatContext());
    if ("kind" in answer) throw new Error("no answer");
    expect(answer.usage?.inputTokens).toBe(count === 1.5 ? 2 : 0);
  });

  it("without any count has no usage", () => {
    expect(answerOf(messages, { ...whole, usage: {} }, chatContext())).toMatchObject({ usage: null });
  });
});

describe("errors", () => {
  const error = (type: string, message = "m") => ({ type: "error", error: { type, message }, request_id: "req_1" });

  it.each([
    [400, error("invalid_request_error", "max_tokens: must be positive"), "caller_invalid"],
    [
      400,
      error("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
      "caller_context_length",
    ],
    [
      400,
      error("invalid_request_error", "input length and `max_tokens` exceed context limit: 190000 + 16384 > 200000"),
      "caller_context_length",
    ],
    [400, error("invalid_request_error", "Your credit balance is too low to access the API."), "provider_billing"],
    [
      400,
      error("invalid_request_error", "This model does not support assistant message prefill."),
      "caller_unsupported",
    ],
    [400, error("invalid_request_error", "Output blocked by content filtering policy"), "policy_content"],
    [401, error("authentication_error", "invalid x-api-key"), "provider_auth_failed"],
    [402, error("billing_error"), "provider_billing"],
    [403, error("permission_error"), "provider_auth_failed"],
    [404, error("not_found_error", "model: vendor-model-1"), "provider_model_missing"],
    [413, error("request_too_large", "Request exceeds the maximum size"), "caller_invalid"],
    [429, error("rate_limit_error", "This request would exceed your rate limit"), "provider_rate_limited"],
    [500, error("api_error", "Internal server error"), "provider_server_error"],
    [504, error("timeout_error"), "provider_timeout"],
    [529, error("overloaded_error", "Overloaded"), "provider_overloaded"],
    [502, "<html>Bad gateway</html>", "provider_server_error"],
  ])("%i %j is %s", (status, body, kind) => {
    expect(classify(status, messages.error(body), null).kind).toBe(kind);
  });

  it.each([
    ["invalid_request_error", "caller_invalid"],
    ["authentication_error", "provider_auth_failed"],
    ["billing_error", "provider_billing"],
    ["not_found_error", "provider_model_missing"],
    ["rate_limit_error", "provider_rate_limited"],
    ["api_error", "provider_server_error"],
    ["timeout_error", "provider_timeout"],
    ["overloaded_error", "provider_overloaded"],
    ["brand_new_error", "provider_server_error"],
  ])("%s in a stream is %s", (type, kind) => {
    const out = new RecordedStream();
    feed(messages, context, [{ name: "error", data: JSON.stringify(error(type)) }], out);
    expect(out.failure?.kind).toBe(kind);
  });
});
