// OpenAI chat requests are translated to the messages wire without loss of meaning, or refused with a reason.
import { describe, expect, it } from "vitest";
import { messages } from "../../../src/models/formats/messages/vendor.ts";
import { asked, chatContext } from "../../support/dialect-replay.ts";
import { HI, refused, sent, WEATHER } from "./messages-asking.ts";

describe("the request", () => {
  it("is posted below the origin with the vendor's model and the bound on output", () => {
    const request = messages.request(
      asked({ messages: [HI], max_tokens: 99_999 }),
      chatContext({ outputTokensMax: 777, stream: true }),
    );
    expect(request).toEqual({
      path: "/messages",
      body: {
        model: "vendor-model-1",
        max_tokens: 777,
        messages: [{ role: "user", content: [{ type: "text", text: "Hi" }] }],
        stream: true,
      },
    });
  });

  it("carries what adapters add and leaves out what they drop", () => {
    const wire = { dropFields: ["temperature"], extraFields: { inference_geo: "us" } };
    const body = sent({ temperature: 0.2, top_k: 5 }, { wire });
    expect(body).toMatchObject({ top_k: 5, inference_geo: "us" });
    expect(body).not.toHaveProperty("temperature");
  });

  it("leaves out OpenAI's own harmless fields", () => {
    const foreign = {
      store: false,
      verbosity: "low",
      seed: 7,
      frequency_penalty: 0.5,
      stream_options: {},
      service_tier: "auto",
      models: [],
    };
    expect(Object.keys(sent(foreign)).sort()).toEqual(["max_tokens", "messages", "model"]);
    expect(refused(foreign)).toBeNull();
  });
});

describe("sampling and stops", () => {
  it("clamps temperatures above 1", () => {
    expect(sent({ temperature: 1.7 }).temperature).toBe(1);
    expect(sent({ temperature: 0.3 }).temperature).toBe(0.3);
  });

  it("sends temperature or top_p, never both", () => {
    expect(sent({ temperature: 0.3, top_p: 0.9 })).not.toHaveProperty("top_p");
    expect(sent({ top_p: 0.9 }).top_p).toBe(0.9);
    expect(sent({ top_p: 1 })).not.toHaveProperty("top_p");
  });

  it("turns stop into a list", () => {
    expect(sent({ stop: "END" }).stop_sequences).toEqual(["END"]);
    expect(sent({ stop: ["a", "", "b"] }).stop_sequences).toEqual(["a", "b"]);
    expect(refused({ stop: "\n\n" })).toMatch(/white space/);
  });

  it("names the user", () => {
    expect(sent({ user: "u-1" }).metadata).toEqual({ user_id: "u-1" });
    expect(sent({ user: "u-1", metadata: { user_id: "own", topic: "x" } }).metadata).toEqual({ user_id: "own" });
  });
});

describe("the conversation", () => {
  it("moves system and developer messages to the front and merges turns of one role", () => {
    const body = sent({
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "One" },
        {
          role: "user",
          content: [
            { type: "text", text: "Two" },
            { type: "text", text: "" },
          ],
        },
        {
          role: "developer",
          content: [{ type: "text", text: "Be kind.", cache_control: { type: "ephemeral", ttl: "1h" } }],
        },
        { role: "assistant", content: "Three" },
        { role: "user", content: "Four", name: "ann" },
      ],
    });
    expect(body.system).toEqual([
      { type: "text", text: "Be brief." },
      { type: "text", text: "Be kind.", cache_control: { type: "ephemeral" } },
    ]);
    expect(body.messages).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "One" },
          { type: "text", text: "Two" },
        ],
      },
      { role: "assistant", content: [{ type: "text", text: "Three" }] },
      { role: "user", content: [{ type: "text", text: "Four" }] },
    ]);
  });

  it("begins with the user's turn", () => {
    expect(sent({ messages: [{ role: "assistant", content: "Hello!" }, HI] }).messages).toMatchObject([
      { role: "user", content: [{ text: "." }] },
      { role: "assistant" },
      { role: "user" },
    ]);
    const alone = sent({ messages: [{ role: "system", content: "Write a poem." }] });
    expect(alone).not.toHaveProperty("system");
    expect(alone.messages).toEqual([{ role: "user", content: [{ type: "text", text: "Write a poem." }] }]);
  });

  it("passes a prefilled answer without the white space at its end", () => {
    const body = sent({ messages: [HI, { role: "assistant", content: "The answer is (\n" }] });
    expect(body.messages).toMatchObject([
      {},
      { role: "assistant", content: [{ type: "text", text: "The answer is (" }] },
    ]);
    expect(sent({ messages: [HI, { role: "assistant", content: "  " }] }).messages).toHaveLength(1);
  });

  it("puts parallel calls into one turn and their results into the next", () => {
    const call = (id: string, args: string) => ({
      id,
      type: "function",
      function: { name: "get_weather", arguments: args },
    });
    const body = sent({
      messages: [
        HI,
        {
          role: "assistant",
          content: null,
          tool_calls: [call("call_1", '{"city":"Paris"}'), call("functions.w:2", '{"city":"Ro')],
        },
        { role: "tool", tool_call_id: "call_1", content: "Sunny" },
        { role: "tool", tool_call_id: "functions.w:2", content: [{ type: "text", text: "Rain" }] },
        { role: "user", content: "So?" },
      ],
    });
    expect(body.messages).toEqual([
      { role: "user", content: [{ type: "text", text: "Hi" }] },
      {
        role: "assistant",
        content: [
          { type: "tool_use", id: "call_1", name: "get_weather", input: { city: "Paris" } },
          { type: "tool_use", id: "functions_w_2", name: "get_weather", input: { raw_arguments: '{"city":"Ro' } },
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "call_1", content: "Sunny" },
          { type: "tool_result", tool_use_id: "functions_w_2", content: [{ type: "text", text: "Rain" }] },
          { type: "text", text: "So?" },
        ],
      },
    ]);
  });

  it("carries signed thoughts back, put together from fragments, and nobody else's", () => {
    const format = "messages";
    const reasoning_details = [
      { type: "reasoning.text", text: "Two and ", format, index: 0 },
      { type: "reasoning.text", text: "two.", format, index: 0 },
      { type: "reasoning.text", signature: "sig==", format, index: 0 },
      { type: "reasoning.encrypted", data: "sealed==", format, index: 1 },
      { type: "reasoning.encrypted", data: "foreign", format: "other-wire", index: 2 },
      { type: "reasoning.text", text: "unsigned", format, index: 3 },
    ];
    const body = sent({ messages: [HI, { role: "assistant", content: "4", reasoning_details }, HI] });
    expect(body.messages).toMatchObject([
      {},
      {
        content: [
          { type: "thinking", thinking: "Two and two.", signature: "sig==" },
          { type: "redacted_thinking", data: "sealed==" },
          { type: "text", text: "4" },
        ],
      },
      {},
    ]);
  });
});

describe("media", () => {
  const parts = (...content: unknown[]) => ({ messages: [{ role: "user", content }] });

  it("takes images and documents inline or by address", () => {
    const body = sent(
      parts(
        { type: "image_url", image_url: { url: "data:image/jpg;base64,QUJD", detail: "high" } },
        { type: "image_url", image_url: { url: "https://example.com/a.png" }, cache_control: { type: "ephemeral" } },
        { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,UERG" } },
        { type: "file", file: { file_data: "https://example.com/b.pdf" } },
        { type: "file", file: { file_data: "data:text/plain;base64,aGVsbG8=" } },
      ),
    );
    expect(body.messages).toEqual([
      {
        role: "user",
        content: [
          { type: "image", source: { type: "base64", media_type: "image/jpeg", data: "QUJD" } },
          {
            type: "image",
            source: { type: "url", url: "https://example.com/a.png" },
            cache_control: { type: "ephemeral" },
          },
          { type: "document", source: { type: "base64", media_type: "application/pdf", data: "UERG" }, title: "a.pdf" },
          { type: "document", source: { type: "url", url: "https://example.com/b.pdf" } },
          { type: "document", source: { type: "text", media_type: "text/plain", data: "hello" } },
        ],
      },
    ]);
  });

  it.each([
    [{ type: "image_url", image_url: { url: "ftp://example.com/a.png" } }, /http address/],
    [{ type: "image_url", image_url: { url: "data:image/png,abc" } }, /base64/],
    [{ type: "image_url", image_url: { url: "data:image/tiff;base64,AA" } }, /image\/tiff/],
    [{ type: "input_audio", input_audio: { data: "AA", format: "wav" } }, /audio/],
    [{ type: "file", file: { file_id: "file-1" } }, /file_id/],
    [{ type: "file", file: { file_data: "data:application/zip;base64,AA" } }, /application\/zip/],
    [{ type: "video_url", video_url: { url: "https://example.com/v.mp4" } }, /video_url/],
    ["text", /no object/],
  ])("refuses %j", (part, reason) => {
    expect(refused(parts(part))).toMatch(reason);
  });
});

describe("what would lose its meaning is refused", () => {
  it.each([
    [{ n: 2 }, /n above 1/],
    [{ logprobs: true }, /logprobs/],
    [{ logit_bias: { "50256": -100 } }, /logit_bias/],
    [{ modalities: ["text", "audio"] }, /modalities/],
    [{ functions: [{ name: "f" }] }, /use tools/],
    [{ tools: [{ type: "web_search_20250305", name: "web_search" }] }, /web_search_20250305/],
    [{ messages: [{ role: "function", name: "f", content: "x" }] }, /role function/],
    [{ messages: [HI, { role: "assistant", function_call: { name: "f" } }] }, /function_call/],
  ])("%j", (body, reason) => {
    expect(refused(body)).toMatch(reason);
  });

  it("and nothing else is", () => {
    expect(refused({ n: 1, logprobs: false, logit_bias: {}, modalities: ["text"], tools: [WEATHER] })).toBeNull();
    expect(refused({ logit_bias: { "1": 1 } }, { wire: { dropFields: ["logit_bias"] } })).toBeNull();
  });
});
