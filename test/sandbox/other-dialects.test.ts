// The messages and generateContent dialects as a vendor's client sees them: answers, strictness and the core faults.
import { describe, expect, it } from "vitest";
import { STAND_INS } from "../../src/models/formats/stand-ins.ts";
import { startSandbox } from "../../src/sandbox/server.ts";
import { forFile } from "../support/for-file.ts";
import { eventData, type RawAnswer, rawCall } from "./raw-client.ts";

const sandbox = forFile(await startSandbox({ dialects: STAND_INS, host: "127.0.0.1", port: 0 }));

type Fields = Readonly<Record<string, unknown>>;
// biome-ignore lint/suspicious/noExplicitAny: answers of vendors, read field by field below.
type Loose = any;

const KEYS = { "x-api-key": "any", "some-version": "2023-06-01" };

function messages(model: string, body: Fields, headers: Readonly<Record<string, string>> = KEYS): Promise<RawAnswer> {
  const sent = { model, max_tokens: 4_096, messages: [{ role: "user", content: "Hi" }], ...body };
  return rawCall({ url: `${sandbox.url}/anthropic/v1/messages`, body: JSON.stringify(sent), headers });
}

function generate(
  model: string,
  body: Fields,
  stream = false,
  headers: Readonly<Record<string, string>> = { "x-goog-api-key": "any" },
) {
  const method = stream ? "streamGenerateContent?alt=sse" : "generateContent";
  const sent = { contents: [{ role: "user", parts: [{ text: "Hi" }] }], ...body };
  return rawCall({ url: `${sandbox.url}/gemini/models/${model}:${method}`, body: JSON.stringify(sent), headers });
}

function json(answer: RawAnswer): Loose {
  return JSON.parse(answer.body);
}

function events(answer: RawAnswer): Loose[] {
  return eventData(answer.body).map((data) => JSON.parse(data));
}

const WEATHER = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const TOOL = { name: "weather", input_schema: WEATHER };
const DECLARED = { tools: [{ functionDeclarations: [{ name: "weather", parameters: WEATHER }] }] };

describe("the messages dialect", () => {
  it("streams blocks between a start and an end, all of them named", async () => {
    const answer = await messages("ok", { stream: true, max_tokens: 3 });
    const all = events(answer);
    expect(all.map((event) => event.type)).toEqual([
      "message_start",
      "ping",
      "content_block_start",
      ...Array.from({ length: 3 }, () => "content_block_delta"),
      "content_block_stop",
      "message_delta",
      "message_stop",
    ]);
    expect([...answer.body.matchAll(/^event: (.*)$/gm)].map((match) => match[1])).toEqual(
      all.map((event) => event.type),
    );
    expect(all.at(-2)).toMatchObject({ delta: { stop_reason: "max_tokens" }, usage: { output_tokens: 3 } });
    const unary = json(await messages("ok", { max_tokens: 3 }));
    expect(
      all
        .slice(3, 6)
        .map((event) => event.delta.text)
        .join(""),
    ).toBe(unary.content[0].text);
  });

  it("counts cached tokens beside the input tokens", async () => {
    const content = `${"word ".repeat(50)}[[cached: 30]] [[cache-write: 10]]`;
    const { usage } = json(await messages("ok", { messages: [{ role: "user", content }] }));
    expect(usage).toMatchObject({ input_tokens: 17, cache_read_input_tokens: 30, cache_creation_input_tokens: 10 });
  });

  it("thinks, calls tools and answers in JSON", async () => {
    const thinking = { type: "enabled", budget_tokens: 1_024 };
    const thought = json(await messages("ok", { thinking }));
    expect(thought.content.map((block: Loose) => block.type)).toEqual(["thinking", "text"]);
    expect(thought.usage.output_tokens).toBe(76);
    const streamed = events(await messages("ok", { thinking, stream: true }));
    const signatures = streamed.flatMap((event) => event.delta?.signature ?? []);
    expect(signatures).toEqual([thought.content[0].signature]);

    const called = json(await messages("ok", { tools: [TOOL] }));
    expect(called).toMatchObject({
      stop_reason: "tool_use",
      content: [{ type: "tool_use", name: "weather", input: { city: expect.any(String) } }],
    });
    const fragments = events(await messages("ok", { tools: [TOOL], stream: true }));
    const partial = fragments.map((event) => event.delta?.partial_json ?? "").join("");
    expect(JSON.parse(partial)).toEqual(called.content[0].input);

    const schema = { ...WEATHER, additionalProperties: false };
    const formatted = json(await messages("ok", { output_config: { format: { type: "json_schema", schema } } }));
    expect(JSON.parse(formatted.content[0].text)).toEqual({ city: expect.any(String) });
  });

  it("names the stop sequence that ended it", async () => {
    const said = [{ role: "user", content: "[[say: one two three]]" }];
    const answer = json(await messages("ok", { messages: said, stop_sequences: ["three"] }));
    expect(answer).toMatchObject({
      stop_reason: "stop_sequence",
      stop_sequence: "three",
      content: [{ text: "one two " }],
    });
  });

  const user = { role: "user", content: "Hi" };
  const use = { role: "assistant", content: [{ type: "tool_use", id: "a", name: "weather", input: {} }] };
  const result = (id: string) => ({ role: "user", content: [{ type: "tool_result", tool_use_id: id, content: "x" }] });
  it.each<[string, Fields]>([
    ["max_tokens", { max_tokens: undefined }],
    ["messages", { messages: [] }],
    ["messages.0.role", { messages: [{ role: "system", content: "x" }] }],
    ['"user" role', { messages: [{ role: "assistant", content: "x" }, user] }],
    ["messages.0.content.0.text", { messages: [{ role: "user", content: [{ type: "text", text: "" }] }] }],
    ["frequency_penalty", { frequency_penalty: 1 }],
    ["temperature", { temperature: 1.5 }],
    ["without `tool_result` blocks", { messages: [user, use, user], tools: [TOOL] }],
    ["unexpected `tool_use_id`", { messages: [user, use, result("b")], tools: [TOOL] }],
    ["trailing whitespace", { messages: [user, { role: "assistant", content: "So " }] }],
    ["`max_tokens` must be greater", { max_tokens: 1_024, thinking: { type: "enabled", budget_tokens: 1_024 } }],
    [
      "Expected `thinking`",
      { messages: [user, use, result("a")], tools: [TOOL], thinking: { type: "enabled", budget_tokens: 1_024 } },
    ],
    [
      "Invalid `signature`",
      { messages: [user, { role: "assistant", content: [{ type: "thinking", thinking: "x", signature: "y" }] }, user] },
    ],
    ["additionalProperties", { output_config: { format: { type: "json_schema", schema: WEATHER } } }],
  ])("refuses with 400 and says %s", async (words, body) => {
    const answer = await messages("ok", body);
    expect(answer.status).toBe(400);
    expect(json(answer)).toMatchObject({ type: "error", error: { type: "invalid_request_error" } });
    expect(json(answer).error.message).toContain(words);
  });

  it("takes a conversation whose calls are answered", async () => {
    const answer = json(await messages("ok", { messages: [user, use, result("a")], tools: [TOOL] }));
    expect(answer.stop_reason).toBe("end_turn");
  });

  it("asks for a key, a version and a known address", async () => {
    expect(json(await messages("ok", {}, {}))).toMatchObject({ error: { type: "authentication_error" } });
    expect((await messages("ok", {}, { "x-api-key": "any" })).status).toBe(400);
    const lost = await rawCall({ url: `${sandbox.url}/anthropic/v1/complete`, body: "{}", headers: KEYS });
    expect(lost.status).toBe(404);
    expect(json(lost)).toMatchObject({ type: "error", error: { type: "not_found_error" } });
  });

  it("has its own words for faults", async () => {
    const types = {
      "429-after-5": "rate_limit_error",
      "500": "api_error",
      "529": "overloaded_error",
      "402": "billing_error",
    };
    for (const [model, type] of Object.entries(types)) expect(json(await messages(model, {})).error.type).toBe(type);
    expect(json(await messages("400-context", {})).error.message).toContain("prompt is too long");
    const broken = events(await messages("error-after-10", { stream: true }));
    expect(broken.filter((event) => event.type === "content_block_delta")).toHaveLength(10);
    expect(broken.at(-1)).toMatchObject({ type: "error", error: { type: "api_error" } });
    const cut = await messages("cut-after-40", { stream: true });
    expect(cut.whole).toBe(false);
    expect(events(cut).filter((event) => event.type === "content_block_delta")).toHaveLength(40);
    expect(events(await messages("no-done", { stream: true })).at(-1).type).toBe("message_delta");
    expect((await messages("no-usage", { stream: true })).body).not.toMatch(/"usage":/);
    expect(events(await messages("filtered", { stream: true })).at(-2).delta.stop_reason).toBe("refusal");
    expect(events(await messages("empty", { stream: true })).map((event) => event.type)).toEqual([
      ...["message_start", "ping", "message_delta", "message_stop"],
    ]);
    const every = events(await messages("usage-every-chunk", { stream: true, max_tokens: 4 }));
    const counts = every.flatMap((event) => event.usage?.output_tokens ?? []);
    expect(counts).toEqual([1, 2, 3, 4, 4]);
    const late = events(await messages("usage-on-finish", { stream: true }));
    expect(late[0].message.usage).toEqual({ input_tokens: 0, output_tokens: 0 });
    expect(late.at(-2).usage).toMatchObject({ input_tokens: 4, output_tokens: 60 });
  });
});

describe("the generateContent dialect", () => {
  it("streams candidates with usage on each, and says nothing at the end", async () => {
    const answer = await generate("ok", { generationConfig: { maxOutputTokens: 3 } }, true);
    expect(answer.body.replaceAll("\r\n", "")).not.toContain("\n");
    const all = events(answer);
    expect(all.map((event) => event.usageMetadata.candidatesTokenCount)).toEqual([1, 2, 3, 3]);
    expect(all.map((event) => event.candidates[0].finishReason)).toEqual([
      undefined,
      undefined,
      undefined,
      "MAX_TOKENS",
    ]);
    const unary = json(await generate("ok", { generationConfig: { maxOutputTokens: 3 } }));
    const text = all.map((event) => event.candidates[0].content.parts[0].text).join("");
    expect(text).toBe(unary.candidates[0].content.parts[0].text);
    expect(unary).toMatchObject({ modelVersion: "ok", usageMetadata: { promptTokenCount: 4, totalTokenCount: 7 } });
  });

  it("counts thoughts beside the answer, shown or not", async () => {
    const shown = json(await generate("ok", { generationConfig: { thinkingConfig: { includeThoughts: true } } }));
    const hidden = json(await generate("ok", { generationConfig: { thinkingConfig: { thinkingBudget: 512 } } }));
    expect(shown.candidates[0].content.parts).toMatchObject([{ thought: true }, { text: expect.any(String) }]);
    expect(hidden.candidates[0].content.parts).toHaveLength(1);
    const usage = { candidatesTokenCount: 60, thoughtsTokenCount: 16, totalTokenCount: 80 };
    expect(shown.usageMetadata).toMatchObject(usage);
    expect(hidden.usageMetadata).toMatchObject(usage);
    const streamed = events(
      await generate("ok", { generationConfig: { thinkingConfig: { thinkingBudget: 512 } } }, true),
    );
    expect(streamed.at(-1).usageMetadata).toMatchObject(usage);
    expect(sandbox.books().requests.at(-1)?.tokensOut).toBe(76);
  });

  it("calls functions whole, answers in JSON, in several candidates", async () => {
    const called = events(await generate("ok", DECLARED, true));
    const { functionCall } = called[0].candidates[0].content.parts[0];
    expect(functionCall).toEqual({ name: "weather", args: { city: expect.any(String) } });
    const config = {
      responseMimeType: "application/json",
      responseSchema: { type: "OBJECT", properties: { n: { type: "INTEGER" } } },
    };
    const formatted = json(await generate("ok", { generationConfig: config }));
    expect(JSON.parse(formatted.candidates[0].content.parts[0].text)).toEqual({ n: expect.any(Number) });
    const two = json(await generate("ok", { generationConfig: { candidateCount: 2 } }));
    expect(two.candidates.map((candidate: Loose) => candidate.index)).toEqual([0, 1]);
    const cached = json(await generate("ok", { contents: [{ parts: [{ text: "a b c d [[cached: 5]]" }] }] }));
    expect(cached.usageMetadata.cachedContentTokenCount).toBe(5);
  });

  const call = { role: "model", parts: [{ functionCall: { name: "weather", args: {} } }] };
  const user = { role: "user", parts: [{ text: "Hi" }] };
  it.each<[string, Fields]>([
    ["contents", { contents: [] }],
    ["contents.0.role", { contents: [{ role: "assistant", parts: [{ text: "x" }] }] }],
    ["contents.0.parts.0", { contents: [{ parts: [{}] }] }],
    ["max_tokens", { max_tokens: 5 }],
    ["generationConfig.stop", { generationConfig: { stop: ["x"] } }],
    ["function response parts", { contents: [user, call, user], ...DECLARED }],
    [
      "additionalProperties",
      { tools: [{ functionDeclarations: [{ name: "f", parameters: { ...WEATHER, additionalProperties: false } }] }] },
    ],
    ["non-empty for OBJECT", { tools: [{ functionDeclarations: [{ name: "f", parameters: { type: "object" } }] }] }],
    ["responseMimeType", { generationConfig: { responseSchema: WEATHER } }],
    ["thinking level", { generationConfig: { thinkingConfig: { thinkingBudget: 1, thinkingLevel: "LOW" } } }],
  ])("refuses with 400 and says %s", async (words, body) => {
    const answer = await generate("ok", body);
    expect(answer.status).toBe(400);
    expect(json(answer).error).toMatchObject({ code: 400, status: "INVALID_ARGUMENT" });
    expect(json(answer).error.message).toContain(words);
  });

  it("takes a conversation whose calls are answered", async () => {
    const response = { role: "user", parts: [{ functionResponse: { name: "weather", response: { sky: "blue" } } }] };
    const answer = json(await generate("ok", { contents: [user, call, response], ...DECLARED }));
    expect(answer.candidates[0].content.parts[0].text).toMatch(/\w/);
  });

  it("asks for a key, in a header or the address", async () => {
    expect(json(await generate("ok", {}, false, {})).error).toMatchObject({ code: 401, status: "UNAUTHENTICATED" });
    const body = JSON.stringify({ contents: [user] });
    expect((await rawCall({ url: `${sandbox.url}/gemini/models/ok:generateContent?key=any`, body })).status).toBe(200);
  });

  it("has its own words for faults", async () => {
    const limited = await generate("429-once", {});
    expect(limited.headers.get("retry-after")).toBe("2");
    expect(json(limited).error).toMatchObject({ status: "RESOURCE_EXHAUSTED", details: [{ retryDelay: "2s" }] });
    expect((await generate("429-once", {})).status).toBe(200);
    expect(json(await generate("503", {})).error.status).toBe("UNAVAILABLE");
    const cut = await generate("cut-after-40", {}, true);
    expect(cut.whole).toBe(false);
    expect(events(cut)).toHaveLength(40);
    const clean = events(await generate("cut-clean-after-40", {}, true));
    expect(clean.at(-1).candidates[0]).not.toHaveProperty("finishReason");
    expect(events(await generate("error-after-10", {}, true)).at(-1)).toMatchObject({
      error: { code: 500, status: "INTERNAL" },
    });
    expect(json(await generate("error-in-200", {}))).toMatchObject({ error: { status: "INTERNAL" } });
    expect((await generate("no-usage", {}, true)).body).not.toMatch(/"usageMetadata":/);
    const late = events(await generate("usage-on-finish", {}, true));
    expect(late.filter((event) => event.usageMetadata)).toHaveLength(1);
    expect(events(await generate("filtered", {}, true)).at(-1).candidates[0].finishReason).toBe("SAFETY");
    expect(events(await generate("empty", {}, true))).toHaveLength(1);
  });
});
