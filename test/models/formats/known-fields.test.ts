// Bodies crafted to break the sieve or to slow it down.
import { describe, expect, it } from "vitest";
import { GatewayError, refusalIn } from "../../../src/core/errors.ts";
import { textTokensMax } from "../../../src/models/chat/prompt-bounds.ts";
import { quoteOf } from "../../../src/models/chat/quote.ts";
import { CHAT_FIELDS } from "../../../src/models/formats/chat-completions/fields.ts";
import { readChatBody } from "../../../src/models/formats/chat-completions/read-body.ts";
import { NAMES_MAX } from "../../../src/models/formats/known-fields.ts";
import type { ModelRequest } from "../../../src/models/formats/model-request.ts";
import { sentText } from "../../../src/models/formats/prompt-text.ts";
import { cpuMsOf } from "../../support/cpu-time.ts";

const USER = { role: "user", content: "hello" };

function read(fields: object | string): ModelRequest | GatewayError {
  const body = typeof fields === "string" ? fields : JSON.stringify({ model: "a/b", messages: [USER], ...fields });
  try {
    return readChatBody(Buffer.from(body));
  } catch (error) {
    return refusalIn(error);
  }
}

function good(fields: object | string): ModelRequest {
  const chat = read(fields);
  if (chat instanceof GatewayError) throw chat;
  return chat;
}

function many<T>(length: number, make: (at: number) => T): T[] {
  return Array.from({ length }, (_, at) => make(at));
}

/** A loose bound: quadratic work takes minutes. */
const MS_MAX = 5_000;

describe("much of everything", () => {
  it.each<[what: string, fields: object]>([
    ["19,900 unknown fields", Object.fromEntries(many(19_900, (at) => [`f${at}`, 1]))],
    [
      "9,800 unknown fields in messages",
      { messages: many(4_900, (at) => ({ ...USER, [`a${at}`]: 1, [`b${at}`]: 1 })) },
    ],
    ["6,000 tools", { tools: many(6_000, (at) => ({ type: "function", function: { name: `f${at}` } })) }],
    ["9,900 parts", { messages: [{ role: "user", content: many(9_900, () => ({ type: "text", text: "x" })) }] }],
    [
      "190,000 values of a schema",
      { response_format: { type: "json_schema", json_schema: { schema: { a: many(190_000, () => 1) } } } },
    ],
    [
      "a number a million times",
      { messages: [{ role: "tool", tool_call_id: "c", content: "1e20,".repeat(1_000_000) }] },
    ],
  ])("%s are read in time, and bounded", async (_, fields) => {
    const bytes = Buffer.from(JSON.stringify({ model: "a/b", messages: [USER], ...fields }));
    const read = () => {
      const chat = readChatBody(bytes) as ModelRequest;
      expect(chat).not.toBeInstanceOf(GatewayError);
      return { chat, text: sentText(chat.asked.body, CHAT_FIELDS) };
    };
    expect(await cpuMsOf(read)).toBeLessThan(MS_MAX);
    const { chat, text } = read();
    expect(chat.dropped.length).toBeLessThanOrEqual(NAMES_MAX);
    expect(textTokensMax(chat.shape, bytes.length)).toBeGreaterThan(Buffer.byteLength(text) / 2);
  });

  it.each<[param: string, value: unknown]>([
    ["logit_bias", Object.fromEntries(many(1_025, (at) => [at, 1]))],
    ["metadata", Object.fromEntries(many(65, (at) => [`k${at}`, "v"]))],
    ["safetySettings", many(65, () => ({}))],
    ["stop", many(17, String)],
    ["models", many(17, String)],
  ])("%s that is longer than any client's is refused", (param, value) => {
    expect(read({ [param]: value })).toMatchObject({ code: "bad_request", options: { param } });
  });
});

describe("what is odd", () => {
  it("a key that every object has is found in no list", () => {
    const inside =
      '{"__proto__": {"a": 1}, "constructor": {"a": 1}, "toString": "x", "role": "user", "content": "hello"}';
    const chat = good(`{"model": "a/b", "__proto__": {"n": 8}, "constructor": 1, "messages": [${inside}]}`);
    expect(Object.keys(chat.asked.body)).toEqual(["model", "messages"]);
    expect(chat.asked.body.messages).toEqual([USER]);
    expect(Object.getPrototypeOf(chat.asked.body)).toBe(Object.prototype);
    expect(chat.choices).toBe(1);
  });

  it("half a pair of surrogates is counted", () => {
    const text = sentText(
      good({ messages: [{ role: "user", content: "\ud800".repeat(100) }] }).asked.body,
      CHAT_FIELDS,
    );
    expect(Buffer.byteLength(text)).toBeGreaterThanOrEqual(300);
  });

  it.each<[param: string, fields: object]>([
    ["verbosity", { verbosity: { text: "x" } }],
    ["prompt_cache_key", { prompt_cache_key: [1] }],
    [
      "messages.0.content.0.image_url.detail",
      { messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: "x", detail: ["x"] } }] }] },
    ],
    ["tool_choice", { tool_choice: ["auto"] }],
    ["reasoning", { reasoning: [{ effort: "low" }] }],
  ])("an object or a list where there can be none is refused: %s", (param, fields) => {
    expect(read(fields)).toMatchObject({ code: "bad_request", options: { param } });
  });

  it("a body of which everything has its place is not copied", () => {
    const allowed_tools = { mode: "auto", tools: [{ type: "function", function: { name: "f" } }] };
    const messages = [USER, { role: "assistant", content: [{ type: "text", text: "x" }] }];
    const chat = good({ messages, seed: 1, tool_choice: { type: "allowed_tools", allowed_tools } });
    expect(chat.asked.body).toBe(chat.sent);
  });

  it("null where something could be refused is nothing", () => {
    const chat = good({
      functions: null,
      audio: null,
      messages: [{ role: "assistant", content: "x", function_call: null }],
    });
    expect([chat.dropped, Object.keys(chat.asked.body)]).toEqual([[], ["model", "messages"]]);
  });

  it("numbers that grow when they are written anew are bounded as written", () => {
    const schema = { enum: many(1_000, () => 1e20) };
    const json = JSON.stringify({
      model: "a/b",
      messages: [USER],
      response_format: { type: "json_schema", json_schema: { name: "x", schema } },
    });
    const short = json.replaceAll("100000000000000000000", "1e20");
    const { shape, asked } = good(short);
    expect(textTokensMax(shape, short.length)).toBeGreaterThan(JSON.stringify(asked.body).length);
    const call = { id: "c", type: "function", function: { name: "f", arguments: `{"a":[${"1e20,".repeat(1_000)}1]}` } };
    const { shape: called } = good({ messages: [{ role: "assistant", tool_calls: [call] }] });
    expect(called.jsonTokens).toBeGreaterThan(20_000);
  });
});

describe("encoded media", () => {
  const image = (fields: object) => ({ messages: [{ role: "user", content: [{ type: "image_url", ...fields }] }] });
  const data = (type: string, of = "A".repeat(10_000)) => `data:${type};base64,${of}`;

  it.each([
    ["image/png", "image"],
    ["IMAGE/JPEG", "image"],
    ["image/svg+xml", "anything"],
    ["application/pdf", "file"],
    ["text/plain", "anything"],
    ["audio/wav", "audio"],
    ["", "anything"],
  ])("is bounded as what it says it is: %j as %s", (type, kind) => {
    const { shape } = good(image({ image_url: { url: data(type) } }));
    expect(shape.parts).toEqual({ image: 0, audio: 0, file: 0, anything: 0, [kind]: 1 });
    expect(shape.dataChars).toBeGreaterThan(10_000);
  });

  it("alone is taken off the bytes: no other long string of the part is", () => {
    const { shape } = good(image({ image_url: { url: data("image/png"), detail: "x".repeat(50_000) } }));
    expect(shape.dataChars).toBeLessThan(11_000);
  });
});

describe("an account whose holds are made from bytes", () => {
  it("has no tighter bound", () => {
    const { shape, choices } = good({});
    const model = {
      sale: { input: 1, output: 1, cacheRead: 1, cacheWrite: 1, thousandth: 0, steps: [], hours: [] },
      contextTokens: 1_000,
    };
    const candidate = { model, partTokens: 0, outputTokensMax: 10, unsifted: false } as unknown as Parameters<
      typeof quoteOf
    >[0][0];
    const prompt = { shape, bodyBytes: 100, text: () => "", choices };
    const counter = { count: async () => 0, countMax: async () => 0, close: async () => {} };
    const noRoute = () => {
      throw new Error("no route was asked for");
    };
    expect(
      quoteOf(
        [candidate],
        { ...prompt, strict: true },
        { counter, routeOf: noRoute, withOutput: null, fromMs: 0, untilMs: 0 },
      ).tighten,
    ).toBeNull();
    expect(
      quoteOf(
        [candidate],
        { ...prompt, strict: false },
        { counter, routeOf: noRoute, withOutput: null, fromMs: 0, untilMs: 0 },
      ).tighten,
    ).not.toBeNull();
  });
});
