// Streams, answers and errors of the generate-content wire, as OpenAI's clients see them.
import { describe, expect, it } from "vitest";
import { generateContent } from "../../../src/models/formats/generate-content/vendor.ts";
import { classify } from "../../../src/upstream/classify.ts";
import { answerOf, asked, chatContext, feed, RecordedStream, replay } from "../../support/dialect-replay.ts";

const context = chatContext({ stream: true });

describe("a stream", () => {
  it("gives the role first, then the text, then why it ended", async () => {
    const out = replay(generateContent, "generate-content/text.sse");
    expect(out.deltas[0]).toEqual({ index: 0, delta: { role: "assistant", content: "" } });
    expect(out.finishes).toEqual([{ index: 0, reason: "stop", native: "STOP" }]);
    const completion = await out.completion(context);
    expect(completion.choices[0]?.message.content).toBe("Good day, 世界.");
  });

  it("counts disjoint buckets; the last count is the count", () => {
    const out = replay(generateContent, "generate-content/text.sse");
    expect(out.usages.at(-1)).toEqual({
      inputTokens: 186,
      cacheReadTokens: 1024,
      cacheWriteTokens: 0,
      outputTokens: 6,
      reasoningTokens: 0,
    });
    expect(replay(generateContent, "generate-content/thoughts-and-calls.sse").usages.at(-1)).toEqual({
      inputTokens: 87,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
      outputTokens: 97,
      reasoningTokens: 66,
    });
  });

  it("gives thoughts as reasoning and calls whole, with ids and signatures that travel back", async () => {
    const out = replay(generateContent, "generate-content/thoughts-and-calls.sse");
    expect(out.text("reasoning")).toBe("**Plan** look it up");
    const calls = out.list("tool_calls");
    expect(calls).toEqual([
      { index: 0, id: "fc9x", type: "function", function: { name: "get_weather", arguments: '{"city": "Paris"}' } },
      { index: 1, id: "call_0123456789abcdef_0", type: "function", function: { name: "get_time", arguments: "{}" } },
    ]);
    const details = out.list("reasoning_details");
    expect(details).toEqual([
      { type: "reasoning.encrypted", data: "CpYBsig==", id: "fc9x", format: "generate-content", index: 0 },
    ]);
    const [choice] = (await out.completion(context)).choices;
    expect(choice?.finish_reason).toBe("tool_calls");
    const message = { role: "assistant", tool_calls: choice?.message.tool_calls, reasoning_details: details };
    const next = generateContent.request(asked({ messages: [message] }), context);
    expect(next.body.contents).toMatchObject([
      {},
      {
        parts: [
          { functionCall: { id: "fc9x", args: { city: "Paris" } }, thoughtSignature: "CpYBsig==" },
          { functionCall: { name: "get_time" } },
        ],
      },
    ]);
  });

  it("keeps candidates apart", async () => {
    const out = replay(generateContent, "generate-content/two-candidates.sse");
    expect([out.text("content", 0), out.text("content", 1)]).toEqual(["Aa", "Bb"]);
    expect(out.finishes.map(({ index, reason }) => [index, reason])).toEqual([
      [0, "stop"],
      [1, "length"],
    ]);
  });

  it("gives images", () => {
    const out = replay(generateContent, "generate-content/image.sse");
    expect(out.list("images")).toEqual([
      { type: "image_url", index: 0, image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } },
    ]);
  });

  it.each([
    ["malformed-call", { kind: "provider_malformed", message: expect.stringContaining("default_api.x") }],
    ["error", { kind: "provider_overloaded", status: 503 }],
  ])("%s fails", (name, failure) => {
    const out = replay(generateContent, `generate-content/${name}.sse`);
    expect(out.failure).toMatchObject(failure);
    expect(out.finishes).toEqual([]);
  });

  it.each([
    ["blocked-prompt", "PROHIBITED_CONTENT"],
    ["safety-at-once", "SAFETY"],
  ])("%s is an answer that was filtered", (name, native) => {
    const out = replay(generateContent, `generate-content/${name}.sse`);
    expect(out.failure).toBeNull();
    expect(out.finishes).toEqual([{ index: 0, reason: "content_filter", native }]);
  });

  it("that was stopped half way says so", () => {
    const safety = replay(generateContent, "generate-content/safety.sse");
    expect(safety.finishes).toEqual([{ index: 0, reason: "content_filter", native: "SAFETY" }]);
    expect(safety.text("content")).toBe("First, take");
    const spent = replay(generateContent, "generate-content/thought-out.sse");
    expect(spent.failure).toBeNull();
    expect(spent.finishes).toEqual([{ index: 0, reason: "length", native: "MAX_TOKENS" }]);
  });

  it.each([
    ["STOP", "stop"],
    ["MAX_TOKENS", "length"],
    ["SAFETY", "content_filter"],
    ["RECITATION", "content_filter"],
    ["LANGUAGE", "content_filter"],
    ["BLOCKLIST", "content_filter"],
    ["PROHIBITED_CONTENT", "content_filter"],
    ["SPII", "content_filter"],
    ["IMAGE_SAFETY", "content_filter"],
    ["OTHER", "content_filter"],
    ["SOMETHING_NEW", "content_filter"],
    ["FINISH_REASON_UNSPECIFIED", null],
    ["MALFORMED_FUNCTION_CALL", "failure"],
    ["UNEXPECTED_TOOL_CALL", "failure"],
    ["TOO_MANY_TOOL_CALLS", "failure"],
  ])("with text that finishes with %s ends as %s", (finishReason, reason) => {
    const out = new RecordedStream();
    const event = { candidates: [{ content: { parts: [{ text: "Hi" }] }, finishReason }] };
    feed(generateContent, context, [{ name: null, data: JSON.stringify(event) }], out);
    expect(out.failure === null ? (out.finishes[0]?.reason ?? null) : "failure").toBe(reason);
  });

  it("skips data that cannot be parsed", () => {
    const out = new RecordedStream();
    expect(
      feed(
        generateContent,
        context,
        [
          { name: null, data: '{"candid' },
          { name: null, data: "7" },
        ],
        out,
      ),
    ).toBe(2);
  });
});

describe("a whole answer", () => {
  const whole = {
    candidates: [
      {
        content: {
          role: "model",
          parts: [{ text: "Hm.", thought: true }, { text: "Yes", thoughtSignature: "s==" }, { text: "." }],
        },
        finishReason: "STOP",
        index: 0,
      },
    ],
    usageMetadata: { promptTokenCount: 34, candidatesTokenCount: 418, thoughtsTokenCount: 438, totalTokenCount: 890 },
    responseId: "r",
  };

  it("is a chat completion", () => {
    expect(answerOf(generateContent, whole, chatContext())).toEqual({
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
              content: "Yes.",
              refusal: null,
              reasoning: "Hm.",
              reasoning_content: "Hm.",
              reasoning_details: [
                { type: "reasoning.encrypted", data: "s==", id: null, format: "generate-content", index: 0 },
              ],
            },
            logprobs: null,
            finish_reason: "stop",
            native_finish_reason: "STOP",
          },
        ],
      },
      usage: { inputTokens: 34, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens: 856, reasoningTokens: 438 },
      upstreamCostNano: null,
      text: "Hm.Yes.",
    });
  });

  const ended = (finishReason: unknown, parts: unknown[] = []) => ({
    candidates: [{ content: { parts }, finishReason }],
  });

  it.each([
    [null, "provider_malformed"],
    [[], "provider_malformed"],
    [{}, "provider_malformed"],
    [{ candidates: [] }, "provider_malformed"],
    [ended(undefined, [{ text: "half" }]), "provider_malformed"],
    [ended("MALFORMED_FUNCTION_CALL", [{ text: "half" }]), "provider_malformed"],
    [{ error: { code: 429, status: "RESOURCE_EXHAUSTED", message: "slow down" } }, "provider_rate_limited"],
  ])("%j is none", (json, kind) => {
    expect(answerOf(generateContent, json, chatContext())).toMatchObject({ kind });
  });

  it.each([ended("SAFETY"), { promptFeedback: { blockReason: "SAFETY" } }])("%j was filtered", (json) => {
    const usageMetadata = { promptTokenCount: 7, totalTokenCount: 7 };
    const answer = answerOf(generateContent, { ...json, usageMetadata }, chatContext());
    expect(answer).toMatchObject({
      body: { choices: [{ finish_reason: "content_filter" }] },
      usage: { inputTokens: 7 },
    });
  });

  it("without a word says that it is empty", () => {
    expect(answerOf(generateContent, ended("STOP"), chatContext())).toMatchObject({
      empty: "the answer is empty (STOP)",
    });
  });

  it("names calls that have no id, each in its own way", () => {
    const calls = [{ functionCall: { name: "f" } }, { functionCall: { name: "f", args: { a: 1 } } }];
    expect(answerOf(generateContent, ended("STOP", calls), chatContext())).toMatchObject({
      body: {
        choices: [
          {
            finish_reason: "tool_calls",
            message: {
              content: null,
              tool_calls: [
                { id: "call_0123456789abcdef_0", function: { arguments: "{}" } },
                { id: "call_0123456789abcdef_1", function: { arguments: '{"a":1}' } },
              ],
            },
          },
        ],
      },
    });
  });

  it.each([-5, 1.5, "12", null, {}])("counts %s tokens safely", (count) => {
    const usageMetadata = { promptTokenCount: count, cachedContentTokenCount: 1_000_000, candidatesTokenCount: 3 };
    const answer = answerOf(generateContent, { ...whole, usageMetadata }, chatContext());
    if ("kind" in answer) throw new Error("no answer");
    expect(answer.usage).toMatchObject({ inputTokens: 0, cacheReadTokens: count === 1.5 ? 2 : 0, outputTokens: 3 });
  });
});

describe("errors", () => {
  const error = (code: number, status: string, message = "m", details: unknown[] = []) => ({
    error: { code, status, message, details },
  });
  const quota =
    "You exceeded your current quota, please check your plan and billing details. Quota exceeded for metric: requests";
  const retry = { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34.07s" };

  it.each([
    [400, error(400, "INVALID_ARGUMENT", "temperature must be between 0 and 2"), "caller_invalid"],
    [
      400,
      error(
        400,
        "INVALID_ARGUMENT",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
      ),
      "caller_context_length",
    ],
    [
      400,
      error(400, "INVALID_ARGUMENT", "API key not valid.", [{ reason: "API_KEY_INVALID" }]),
      "provider_auth_failed",
    ],
    [400, error(400, "FAILED_PRECONDITION", "User location is not supported for the API use."), "caller_unsupported"],
    [400, error(400, "FAILED_PRECONDITION", "Please enable billing on your project."), "provider_billing"],
    [403, error(403, "PERMISSION_DENIED", "Your API key was reported as leaked."), "provider_auth_failed"],
    [404, error(404, "NOT_FOUND", "models/x is not found for API version v1beta"), "provider_model_missing"],
    [429, error(429, "RESOURCE_EXHAUSTED", quota, [retry]), "provider_rate_limited"],
    [429, error(429, "RESOURCE_EXHAUSTED", quota), "provider_billing"],
    [500, error(500, "INTERNAL"), "provider_server_error"],
    [503, error(503, "UNAVAILABLE", "The model is overloaded."), "provider_overloaded"],
    [504, error(504, "DEADLINE_EXCEEDED"), "provider_timeout"],
    [503, [error(503, "UNAVAILABLE")], "provider_overloaded"],
    [502, "<html>Bad gateway</html>", "provider_server_error"],
  ])("%i %j is %s", (status, body, kind) => {
    expect(classify(status, generateContent.error(body), null).kind).toBe(kind);
  });

  it("say in the body how long to wait; a header counts more", () => {
    const told = generateContent.error(error(429, "RESOURCE_EXHAUSTED", quota, [retry]));
    expect(classify(429, told, null).retryAfterMs).toBe(34_070);
    expect(classify(429, told, 1000).retryAfterMs).toBe(1000);
  });
});
