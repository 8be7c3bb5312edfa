// The good paths of the chat-completions dialect, through the official client.
import OpenAI from "openai";
import { get_encoding } from "tiktoken";
import { describe, expect, it } from "vitest";
import { STAND_INS } from "../../src/models/formats/stand-ins.ts";
import { startSandbox } from "../../src/sandbox/server.ts";
import { VOCABULARY } from "../../src/sandbox/vocabulary.ts";
import { forFile } from "../support/for-file.ts";

const sandbox = forFile(await startSandbox({ dialects: STAND_INS, host: "127.0.0.1", port: 0 }));
const client = new OpenAI({ apiKey: "any", baseURL: `${sandbox.url}/openai`, maxRetries: 0 });

type Params = Omit<OpenAI.ChatCompletionCreateParamsNonStreaming, "model" | "messages" | "stream">;

function user(content: string): OpenAI.ChatCompletionMessageParam[] {
  return [{ role: "user", content }];
}

/** The streamed answer, assembled by the client, and the usage where there is any. */
async function streamed(messages: OpenAI.ChatCompletionMessageParam[], params: Params = {}) {
  return client.chat.completions
    .stream({ model: "ok", messages, stream_options: { include_usage: true }, ...params })
    .finalChatCompletion();
}

function unary(messages: OpenAI.ChatCompletionMessageParam[], params: Params = {}) {
  return client.chat.completions.create({ model: "ok", messages, ...params });
}

const WEATHER = {
  type: "object",
  properties: { city: { type: "string" }, days: { type: "integer", minimum: 1, maximum: 5 } },
  required: ["city", "days"],
  additionalProperties: false,
};
const TOOLS: OpenAI.ChatCompletionTool[] = [
  { type: "function", function: { name: "weather", parameters: WEATHER } },
  { type: "function", function: { name: "clock" } },
];

describe("a plain answer", () => {
  it("is the same for the same request, streamed or not, and another for another", async () => {
    const [one, again, stream, other] = await Promise.all([
      unary(user("Tell me")),
      unary(user("Tell me")),
      streamed(user("Tell me")),
      unary(user("Tell me more")),
    ]);
    const text = one.choices[0]?.message.content;
    expect(again).toEqual(one);
    expect(stream.choices[0]?.message.content).toBe(text);
    expect(stream.usage).toEqual(one.usage);
    expect(other.choices[0]?.message.content).not.toBe(text);
  });

  it("has sixty words, as many as the prompt says, or as the limit allows", async () => {
    expect((await unary(user("Hi"))).usage?.completion_tokens).toBe(60);
    const long = await unary(user("Hi [[words: 500]]"));
    expect(long.choices[0]?.message.content?.split(" ")).toHaveLength(500);
    expect(long.choices[0]?.finish_reason).toBe("stop");
    const cut = await streamed(user("Hi [[words: 500]]"), { max_completion_tokens: 7 });
    expect(cut.choices[0]?.message.content?.split(" ")).toHaveLength(7);
    expect(cut.choices[0]?.finish_reason).toBe("length");
    expect(cut.usage?.completion_tokens).toBe(7);
  });

  it("counts as a tokenizer counts", async () => {
    for (const name of ["o200k_base", "cl100k_base"] as const) {
      const encoding = get_encoding(name);
      const many = VOCABULARY.filter((word) => encoding.encode(word).length + encoding.encode(` ${word}`).length !== 2);
      expect(many).toEqual([]);
      const answer = await unary(user("[[words: 200]]"));
      expect(encoding.encode(answer.choices[0]?.message.content ?? "")).toHaveLength(200);
      encoding.free();
    }
  });

  it("says exactly what it is told to say", async () => {
    const text = 'Ünïcode, two\nlines,  and "quotes" 🙂.';
    const answer = await streamed(user(`Please [[say: ${text}]] now`));
    expect(answer.choices[0]?.message.content).toBe(text);
    expect(answer.usage?.completion_tokens).toBe(text.split(/\s+/).length);
  });

  it("ends before a stop sequence", async () => {
    const answer = await streamed(user("[[say: one two three four]]"), { stop: ["four", "three"] });
    expect(answer.choices[0]).toMatchObject({ finish_reason: "stop", message: { content: "one two " } });
  });

  it("comes n times, each of its own words, with one usage", async () => {
    for (const answer of [await unary(user("Hi"), { n: 3 }), await streamed(user("Hi"), { n: 3 })]) {
      expect(new Set(answer.choices.map((choice) => choice.message.content)).size).toBe(3);
      expect(answer.usage?.completion_tokens).toBe(180);
    }
  });

  it("bears usage in a stream only where it was asked for", async () => {
    const stream = await client.chat.completions.create({ model: "ok", messages: user("Hi"), stream: true });
    for await (const chunk of stream) expect(chunk).not.toHaveProperty("usage");
  });

  it("counts cached and reasoning tokens within the others", async () => {
    const prompt = user(`${"word ".repeat(200)} [[cached: 100]] [[cache-write: 20]]`);
    const answer = await streamed(prompt, { reasoning_effort: "low", max_tokens: 20 });
    expect(answer.usage).toMatchObject({
      prompt_tokens: 207,
      completion_tokens: 20,
      total_tokens: 227,
      prompt_tokens_details: { cached_tokens: 100, cache_write_tokens: 20 },
      completion_tokens_details: { reasoning_tokens: 8 },
    });
    expect(answer.choices[0]?.message.content?.split(" ")).toHaveLength(12);
    const short = await unary(user("Hi [[cached: 1000]]"));
    expect(short.usage?.prompt_tokens_details?.cached_tokens).toBe(short.usage?.prompt_tokens);
  });

  it("counts an image as a fixed number of tokens", async () => {
    const text = { type: "text", text: "What is this" } as const;
    const image = { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } } as const;
    const answer = await unary([{ role: "user", content: [text, image, image] }]);
    expect(answer.usage?.prompt_tokens).toBe(3 + 3 + 2 * 85);
  });
});

describe("tools", () => {
  const ask = user("What is the weather?");

  it("are called first, with arguments their schema accepts, in fragments", async () => {
    const one = await unary(ask, { tools: TOOLS });
    const call = one.choices[0]?.message.tool_calls?.[0];
    expect(one.choices[0]).toMatchObject({ finish_reason: "tool_calls", message: { content: null } });
    expect(call).toMatchObject({ type: "function", function: { name: "weather" } });
    const stream = await streamed(ask, { tools: TOOLS });
    expect(stream.choices[0]?.message.tool_calls?.[0]).toMatchObject(call ?? {});
    const input = JSON.parse(call?.type === "function" ? call.function.arguments : "");
    expect(input).toEqual({ city: expect.any(String), days: expect.any(Number) });
    expect([1, 2, 3, 4, 5]).toContain(input.days);
    expect(stream.usage?.completion_tokens).toBeGreaterThan(1);
  });

  it("are called two at a time where the prompt asks, unless the request forbids", async () => {
    const two = await streamed(user("[[parallel]] both"), { tools: TOOLS });
    const names = two.choices[0]?.message.tool_calls?.map((call) => call.type === "function" && call.function.name);
    expect(names).toEqual(["weather", "clock"]);
    const single = await unary(user("[[parallel]] both"), { tools: TOOLS, parallel_tool_calls: false });
    expect(single.choices[0]?.message.tool_calls).toHaveLength(1);
  });

  it("are not called again once they have answered, unless the choice forces it", async () => {
    const first = (await unary(ask, { tools: TOOLS })).choices[0]?.message;
    const tool_call_id = first?.tool_calls?.[0]?.id ?? "";
    const history = [...ask, ...(first ? [first] : []), { role: "tool", tool_call_id, content: "Sunny" } as const];
    expect((await unary(history, { tools: TOOLS })).choices[0]).toMatchObject({
      finish_reason: "stop",
      message: { content: expect.stringMatching(/\w/) },
    });
    const forced = { type: "function", function: { name: "clock" } } as const;
    const again = await unary(history, { tools: TOOLS, tool_choice: forced });
    expect(again.choices[0]?.message.tool_calls?.[0]).toMatchObject({ function: { name: "clock", arguments: "{}" } });
    expect((await unary(ask, { tools: TOOLS, tool_choice: "none" })).choices[0]?.finish_reason).toBe("stop");
  });

  it("leave half an argument where the token limit cuts it", async () => {
    const answer = await unary(ask, { tools: TOOLS, max_tokens: 2 });
    expect(answer.choices[0]?.finish_reason).toBe("length");
    const call = answer.choices[0]?.message.tool_calls?.[0];
    expect(call?.type === "function" && call.function.arguments).toMatch(/^\{"city":/);
  });
});

describe("a JSON answer", () => {
  it("is an instance of its schema", async () => {
    const schema = {
      type: "object",
      properties: {
        kind: { enum: ["a", "b"] },
        ratio: { type: "number", minimum: 0, maximum: 1 },
        tags: { type: "array", items: { $ref: "#/$defs/tag" }, minItems: 3 },
        either: { anyOf: [{ type: "boolean" }, { type: "null" }] },
        when: { type: ["string", "null"], format: "date-time" },
      },
      $defs: { tag: { type: "object", properties: { name: { type: "string", maxLength: 4 } } } },
    };
    const format = { type: "json_schema", json_schema: { name: "thing", schema } } as const;
    const answer = await streamed(user("As JSON"), { response_format: format });
    const value = JSON.parse(answer.choices[0]?.message.content ?? "");
    expect(value).toEqual({
      kind: expect.stringMatching(/^[ab]$/),
      ratio: expect.any(Number),
      tags: Array.from({ length: 3 }, () => ({ name: expect.stringMatching(/^.{1,4}$/) })),
      either: expect.any(Boolean),
      when: "2026-01-02T03:04:05Z",
    });
    expect(value.ratio).toBeLessThanOrEqual(1);
  });

  it("is some object where no schema says which", async () => {
    const answer = await unary(user("As JSON"), { response_format: { type: "json_object" } });
    expect(JSON.parse(answer.choices[0]?.message.content ?? "")).toEqual({ answer: expect.any(String) });
  });
});

describe("embeddings", () => {
  it("depend on the text alone, have length one, and come in the encoding asked for", async () => {
    const create = (input: string[], encoding_format: "float" | "base64", dimensions?: number) =>
      client.embeddings.create({ model: "any", input, encoding_format, ...(dimensions && { dimensions }) });
    const floats = await create(["one two", "three"], "float");
    const [first, second] = floats.data.map((row) => row.embedding);
    expect(first).toHaveLength(1_536);
    expect(Math.hypot(...(first ?? []))).toBeCloseTo(1, 4);
    expect(second).not.toEqual(first);
    expect(floats.usage).toEqual({ prompt_tokens: 3, total_tokens: 3 });
    const packed = await client.embeddings.create({ model: "any", input: ["one two"] });
    expect(packed.data[0]?.embedding).toEqual(first);
    expect((await create(["x"], "float", 8)).data[0]?.embedding).toHaveLength(8);
  });

  it("have faults too", async () => {
    await expect(client.embeddings.create({ model: "503", input: "x" })).rejects.toMatchObject({ status: 503 });
  });
});

describe("a request that is wrong", () => {
  const post = async (
    path: string,
    body: unknown,
    headers: Record<string, string> = { authorization: "Bearer any" },
  ) => {
    const sent = typeof body === "string" ? body : JSON.stringify(body);
    const response = await fetch(`${sandbox.url}${path}`, { method: "POST", headers, body: sent });
    return { status: response.status, error: ((await response.json()) as { error: Record<string, unknown> }).error };
  };
  const CHAT = "/openai/chat/completions";
  const messages = user("Hi");
  const called = {
    role: "assistant",
    tool_calls: [{ id: "a", type: "function", function: { name: "f", arguments: "{}" } }],
  };

  it.each([
    ["model", { messages }],
    ["messages", { model: "ok" }],
    ["messages", { model: "ok", messages: [] }],
    ["messages.0.role", { model: "ok", messages: [{ role: "robot", content: "x" }] }],
    ["messages.0.content", { model: "ok", messages: [{ role: "user" }] }],
    ["max_tokens", { model: "ok", messages, max_tokens: 0 }],
    ["max_tokens", { model: "ok", messages, max_tokens: 5, max_completion_tokens: 5 }],
    ["temperature", { model: "ok", messages, temperature: 3 }],
    ["stream_options", { model: "ok", messages, stream_options: { include_usage: true } }],
    ["tool_choice", { model: "ok", messages, tool_choice: "auto" }],
    ["messages.1.role", { model: "ok", messages: [...messages, { role: "tool", tool_call_id: "a", content: "x" }] }],
    [
      "messages.2.role",
      { model: "ok", messages: [...messages, called, { role: "tool", tool_call_id: "b", content: "x" }] },
    ],
  ])("is refused with 400 that names %s", async (param, body) => {
    expect(await post(CHAT, body)).toMatchObject({ status: 400, error: { param, type: "invalid_request_error" } });
  });

  it("is refused where it is no JSON, has no key, or goes nowhere", async () => {
    expect(await post(CHAT, "{nope")).toMatchObject({ status: 400, error: { type: "invalid_request_error" } });
    expect(await post(CHAT, { model: "ok", messages }, {})).toMatchObject({
      status: 401,
      error: { code: "invalid_api_key" },
    });
    expect(await post("/openai/nowhere", {})).toMatchObject({ status: 404, error: { code: null } });
    const got = await fetch(`${sandbox.url}${CHAT}`);
    expect(got.status).toBe(404);
  });

  it("is refused where a form ends in the middle of a file", async () => {
    const headers = { authorization: "Bearer any", "content-type": "multipart/form-data; boundary=x" };
    const cut = '--x\r\ncontent-disposition: form-data; name="file"; filename="a.wav"\r\n\r\nsound';
    expect(await post("/openai/audio/transcriptions", cut, headers)).toMatchObject({ status: 400 });
  });
});
