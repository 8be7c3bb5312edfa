// OpenAI chat requests are translated to the generate-content wire without loss of meaning, or refused with a reason.
import { describe, expect, it } from "vitest";
import { generateContent } from "../../../src/models/formats/generate-content/vendor.ts";
import type { ChatContext } from "../../../src/upstream/dialects/dialect.ts";
import { asked, chatContext } from "../../support/dialect-replay.ts";

const HI = { role: "user", content: "Hi" };
const EFFORT = { wire: { reasoning: "effort" } } as const;

function sent(body: Record<string, unknown>, changes: Partial<ChatContext> = {}) {
  return generateContent.request(asked({ messages: [HI], ...body }), chatContext(changes)).body;
}

function config(body: Record<string, unknown>, changes: Partial<ChatContext> = {}) {
  return sent(body, changes).generationConfig as Record<string, unknown>;
}

function refused(body: Record<string, unknown>, changes: Partial<ChatContext> = {}) {
  return generateContent.unsupported(asked({ messages: [HI], ...body }), chatContext(changes));
}

const WEATHER = {
  type: "function",
  function: {
    name: "get_weather",
    description: "Tells the weather.",
    parameters: { $schema: "x", type: "object", additionalProperties: false },
  },
};

describe("the request", () => {
  it("names model and method in its path", () => {
    const path = (changes: Partial<ChatContext>) =>
      generateContent.request(asked({ messages: [HI] }), chatContext(changes)).path;
    expect(path({})).toBe("/models/vendor-model-1:generateContent");
    expect(path({ stream: true })).toBe("/models/vendor-model-1:streamGenerateContent?alt=sse");
    expect(path({ upstreamModel: "../files?x=" })).toBe("/models/..%2Ffiles%3Fx%3D:generateContent");
    expect(path({ upstreamModel: "broken-\ud800" })).toBe("/models/broken-%EF%BF%BD:generateContent");
  });

  it("puts every setting where the wire has it", () => {
    const body = sent({
      messages: [{ role: "system", content: "Be brief." }, HI],
      max_tokens: 99_999,
      temperature: 1.7,
      top_p: 0.9,
      top_k: 40,
      seed: 7,
      presence_penalty: 0.1,
      frequency_penalty: 0.2,
      n: 2,
      stop: ["END"],
      user: "u-1",
      store: false,
      safetySettings: [{ category: "HARM_CATEGORY_HARASSMENT", threshold: "BLOCK_NONE" }],
    });
    expect(body).toEqual({
      systemInstruction: { parts: [{ text: "Be brief." }] },
      contents: [{ role: "user", parts: [{ text: "Hi" }] }],
      generationConfig: {
        maxOutputTokens: 4096,
        temperature: 1.7,
        topP: 0.9,
        topK: 40,
        seed: 7,
        presencePenalty: 0.1,
        frequencyPenalty: 0.2,
        candidateCount: 2,
        stopSequences: ["END"],
      },
      safetySettings: [{ category: "HARM_CATEGORY_HARASSMENT", threshold: "BLOCK_NONE" }],
    });
  });

  it("leaves out a seed that the wire cannot hold", () => {
    expect(config({ seed: 2 ** 40 })).not.toHaveProperty("seed");
  });

  it("carries what adapters add and leaves out what they drop", () => {
    const wire = { dropFields: ["presence_penalty"], extraFields: { labels: { a: "b" } } };
    expect(config({ presence_penalty: 1 }, { wire })).not.toHaveProperty("presencePenalty");
    expect(sent({}, { wire })).toMatchObject({ labels: { a: "b" } });
  });
});

describe("the conversation", () => {
  const call = (id: string, name: string, args: string) => ({
    id,
    type: "function",
    function: { name, arguments: args },
  });

  it("answers calls by name and id, parallel ones in one turn", () => {
    const body = sent({
      messages: [
        HI,
        {
          role: "assistant",
          content: "Wait.",
          tool_calls: [call("a", "get_weather", '{"city":"Paris"}'), call("b", "get_time", "")],
        },
        { role: "tool", tool_call_id: "a", content: '{"sky":"blue"}' },
        { role: "tool", tool_call_id: "b", content: [{ type: "text", text: "noon" }] },
        { role: "user", content: "So?" },
      ],
    });
    expect(body.contents).toEqual([
      { role: "user", parts: [{ text: "Hi" }] },
      {
        role: "model",
        parts: [
          { text: "Wait." },
          { functionCall: { id: "a", name: "get_weather", args: { city: "Paris" } } },
          { functionCall: { id: "b", name: "get_time", args: {} } },
        ],
      },
      {
        role: "user",
        parts: [
          { functionResponse: { id: "a", name: "get_weather", response: { sky: "blue" } } },
          { functionResponse: { id: "b", name: "get_time", response: { output: "noon" } } },
          { text: "So?" },
        ],
      },
    ]);
  });

  it("carries signatures back to the parts they came with", () => {
    const format = "generate-content";
    const reasoning_details = [
      { type: "reasoning.encrypted", data: "sig-b", id: "b", format, index: 0 },
      { type: "reasoning.encrypted", data: "sig-text", id: null, format, index: 1 },
      { type: "reasoning.encrypted", data: "foreign", id: "a", format: "messages", index: 2 },
    ];
    const turn = {
      role: "assistant",
      content: "T",
      tool_calls: [call("a", "f", "{}"), call("b", "g", "{}")],
      reasoning_details,
    };
    expect(sent({ messages: [HI, turn] }, EFFORT).contents).toMatchObject([
      {},
      {
        parts: [
          { text: "T", thoughtSignature: "sig-text" },
          { functionCall: { id: "a" } },
          { functionCall: { id: "b" }, thoughtSignature: "sig-b" },
        ],
      },
    ]);
  });

  it("stands in for a lost signature only where the model insists on one", () => {
    const messages = [HI, { role: "assistant", tool_calls: [call("a", "f", "{}"), call("b", "g", "{}")] }];
    const parts = (changes: Partial<ChatContext>) =>
      (sent({ messages }, changes).contents as { parts: object[] }[])[1]?.parts;
    expect(parts(EFFORT)?.map((part) => "thoughtSignature" in part)).toEqual([true, false]);
    expect(parts({})?.map((part) => "thoughtSignature" in part)).toEqual([false, false]);
  });

  it("begins with the user's turn", () => {
    expect(sent({ messages: [{ role: "assistant", content: "Hello!" }, HI] }).contents).toMatchObject([
      { role: "user", parts: [{ text: "." }] },
      { role: "model" },
      { role: "user" },
    ]);
    expect(sent({ messages: [{ role: "developer", content: "A poem." }] })).toMatchObject({
      contents: [{ role: "user", parts: [{ text: "A poem." }] }],
    });
  });
});

describe("media", () => {
  const parts = (...content: unknown[]) => ({ messages: [{ role: "user", content }] });

  it("goes inline, or by an address that tells its type", () => {
    const body = sent(
      parts(
        { type: "image_url", image_url: { url: "data:image/png;base64,QUJD" } },
        { type: "image_url", image_url: { url: "https://example.com/a.JPG?w=1#x" } },
        { type: "input_audio", input_audio: { data: "UklG", format: "wav" } },
        { type: "file", file: { file_data: "data:application/pdf;base64,UERG" } },
      ),
    );
    expect(body.contents).toEqual([
      {
        role: "user",
        parts: [
          { inlineData: { mimeType: "image/png", data: "QUJD" } },
          { fileData: { mimeType: "image/jpeg", fileUri: "https://example.com/a.JPG?w=1#x" } },
          { inlineData: { mimeType: "audio/wav", data: "UklG" } },
          { inlineData: { mimeType: "application/pdf", data: "UERG" } },
        ],
      },
    ]);
  });

  it.each([
    [{ type: "image_url", image_url: { url: "https://example.com/picture" } }, /send a data: URL/],
    [{ type: "image_url", image_url: { url: "ftp://example.com/a.png" } }, /http address/],
    [{ type: "file", file: { file_data: "data:application/zip;base64,AA" } }, /application\/zip/],
    [{ type: "file", file: { file_id: "file-1" } }, /file_id/],
    [{ type: "input_audio", input_audio: {} }, /input_audio/],
  ])("refuses %j", (part, reason) => {
    expect(refused(parts(part))).toMatch(reason);
  });
});

describe("tools", () => {
  it("are declared with their whole JSON schema", () => {
    expect(sent({ tools: [WEATHER, { type: "function", function: { name: "now" } }] }).tools).toEqual([
      {
        functionDeclarations: [
          { name: "get_weather", description: "Tells the weather.", parametersJsonSchema: WEATHER.function.parameters },
          { name: "now" },
        ],
      },
    ]);
  });

  it.each([
    ["auto", { mode: "AUTO" }],
    ["none", { mode: "NONE" }],
    ["required", { mode: "ANY" }],
    [
      { type: "function", function: { name: "get_weather" } },
      { mode: "ANY", allowedFunctionNames: ["get_weather"] },
    ],
  ])("tool_choice %j becomes %j", (tool_choice, functionCallingConfig) => {
    expect(sent({ tools: [WEATHER], tool_choice }).toolConfig).toEqual({ functionCallingConfig });
    expect(sent({ tool_choice })).not.toHaveProperty("toolConfig");
  });
});

describe("response_format", () => {
  it("becomes a media type and a schema", () => {
    expect(config({ response_format: { type: "json_object" } })).toMatchObject({
      responseMimeType: "application/json",
    });
    const schema = { type: "object", properties: { a: { type: "string", minLength: 2 } } };
    expect(config({ response_format: { type: "json_schema", json_schema: { name: "x", schema } } })).toMatchObject({
      responseMimeType: "application/json",
      responseJsonSchema: schema,
    });
    expect(config({ response_format: { type: "text" } })).not.toHaveProperty("responseMimeType");
  });

  it("goes with tools only on models that take both", () => {
    const both = { tools: [WEATHER], response_format: { type: "json_object" } };
    expect(refused(both)).toMatch(/tools together with a response_format/);
    expect(refused(both, EFFORT)).toBeNull();
  });
});

describe("reasoning", () => {
  const thinking = (body: Record<string, unknown>, changes: Partial<ChatContext> = {}) =>
    config(body, { outputTokensMax: 10_000, ...changes }).thinkingConfig;

  it("is heard as clients of Claude ask for it", () => {
    const thinking = (told: object, more: object = {}) => config({ thinking: told, ...more }).thinkingConfig;
    expect(thinking({ type: "enabled", budget_tokens: 2_000 })).toMatchObject({ thinkingBudget: 2_000 });
    expect(thinking({ type: "disabled" })).toEqual({ thinkingBudget: 0 });
    expect(thinking({ type: "disabled" }, { reasoning: { max_tokens: 1_500 } })).toMatchObject({
      thinkingBudget: 1_500,
    });
  });

  it("becomes a budget within the bound on output", () => {
    expect(thinking({})).toBeUndefined();
    expect(thinking({ reasoning_effort: "medium" })).toEqual({ includeThoughts: true, thinkingBudget: 5000 });
    expect(thinking({ reasoning: { max_tokens: 99_999, exclude: true } })).toEqual({
      includeThoughts: false,
      thinkingBudget: 9_999,
    });
    expect(thinking({ reasoning_effort: "none" })).toEqual({ thinkingBudget: 0 });
    expect(thinking({ reasoning_effort: "high" }, { outputTokensMax: 100 })).toEqual({ thinkingBudget: 0 });
  });

  it("is never switched off where the model refuses that", () => {
    const always = { wire: { reasoning: "budget-always" } } as const;
    expect(thinking({ reasoning_effort: "none" }, always)).toEqual({ thinkingBudget: 128 });
    expect(thinking({ reasoning_effort: "low" }, { ...always, outputTokensMax: 64 })).toEqual({
      includeThoughts: true,
    });
    const wordAlways = { wire: { reasoning: "effort-always" } } as const;
    expect(thinking({ reasoning_effort: "none" }, wordAlways)).toEqual({ thinkingLevel: "LOW" });
    expect(thinking({ reasoning_effort: "minimal" }, wordAlways)).toEqual({
      includeThoughts: true,
      thinkingLevel: "LOW",
    });
  });

  it("becomes a word where the model takes words", () => {
    expect(thinking({ reasoning_effort: "none" }, EFFORT)).toEqual({ thinkingLevel: "MINIMAL" });
    expect(thinking({ reasoning_effort: "xhigh" }, EFFORT)).toEqual({ includeThoughts: true, thinkingLevel: "HIGH" });
    expect(thinking({ reasoning: { max_tokens: 2000 } }, EFFORT)).toEqual({ includeThoughts: true });
  });
});

describe("what would lose its meaning is refused", () => {
  it.each([
    [{ n: 9 }, /n above 8/],
    [{ stop: ["1", "2", "3", "4", "5", "6"] }, /more than 5 stops/],
    [{ tools: [WEATHER], parallel_tool_calls: false }, /parallel_tool_calls/],
    [{ logprobs: true }, /logprobs/],
    [{ logit_bias: { "1": 1 } }, /logit_bias/],
    [{ messages: [{ role: "critic", content: "x" }] }, /role critic/],
  ])("%j", (body, reason) => {
    expect(refused(body)).toMatch(reason);
  });

  it("and nothing else is", () => {
    expect(refused({ n: 1, parallel_tool_calls: false, logprobs: false, stop: null })).toBeNull();
  });
});
