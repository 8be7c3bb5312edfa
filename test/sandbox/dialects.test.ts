// The gateway's own dialects against the sandbox's strict dialects: every feature of OpenAI's, there and back.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ChatBody } from "../../src/models/formats/chat-completions/fields.ts";
import { generateContent } from "../../src/models/formats/generate-content/vendor.ts";
import { messages } from "../../src/models/formats/messages/vendor.ts";
import { responses } from "../../src/models/formats/responses/vendor.ts";
import { STAND_INS } from "../../src/models/formats/stand-ins.ts";
import { type Sandbox, startSandbox } from "../../src/sandbox/server.ts";
import type { ChatContext, Dialect } from "../../src/upstream/dialects/dialect.ts";
import { answerOf, asked, chatContext, eventsOf, feed, RecordedStream } from "../support/dialect-replay.ts";

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox({ dialects: STAND_INS, host: "127.0.0.1", port: 0 });
});
afterAll(() => sandbox.close());

const HEADERS = { authorization: "Bearer any", "x-api-key": "any", "some-version": "1", "x-goog-api-key": "any" };
const DIALECTS = [
  ["messages", messages],
  ["generate-content", generateContent],
  ["responses", responses],
] as const;
type Name = (typeof DIALECTS)[number][0];
/** Asked for as its vendor shows it to those whom it knows. */
const WIRE = { reasoningSummary: "auto" } as const;
/** Words that each thinks at the least effort. */
const THOUGHTS: Readonly<Record<Name, number>> = { messages: 16, "generate-content": 16, responses: 8 };

async function post(dialect: Dialect, body: ChatBody, context: ChatContext): Promise<string> {
  expect(dialect.unsupported(asked(body), context)).toBe(null);
  const upstream = dialect.request(asked(body), context);
  const url = `${sandbox.url}/sandbox${upstream.path}`;
  const response = await fetch(url, { method: "POST", headers: HEADERS, body: JSON.stringify(upstream.body) });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${response.status} ${text}`);
  return text;
}

async function streamed(name: Name, dialect: Dialect, body: ChatBody) {
  const context = chatContext({ upstreamModel: "ok", stream: true, spec: { dialect: name, models: {} }, wire: WIRE });
  const out = new RecordedStream();
  expect(feed(dialect, context, eventsOf(await post(dialect, body, context)), out)).toBe(0);
  expect(out.failure).toBe(null);
  return { out, message: (await out.completion(context)).choices[0]?.message };
}

async function unary(name: Name, dialect: Dialect, body: ChatBody) {
  const context = chatContext({ upstreamModel: "ok", spec: { dialect: name, models: {} }, wire: WIRE });
  const answer = answerOf(dialect, JSON.parse(await post(dialect, body, context)), context);
  if (!("body" in answer)) throw new Error(answer.message);
  return answer;
}

const SCHEMA = {
  type: "object",
  properties: { city: { type: "string" }, days: { type: ["integer", "null"] } },
  required: ["city", "days"],
  additionalProperties: false,
};
const tools = ["weather", "clock"].map((name) => ({ type: "function", function: { name, parameters: SCHEMA } }));
const user = (content: string) => ({ role: "user", content });
const PNG = "data:image/png;base64,iVBORw0KGgo=";

describe.each(DIALECTS)("the %s dialect", (name, dialect) => {
  it("carries text, with usage in disjoint buckets", async () => {
    const body = { messages: [{ role: "system", content: "Be kind" }, user(`${"word ".repeat(60)}[[cached: 50]]`)] };
    const { out, message } = await streamed(name, dialect, body);
    expect(message?.content?.split(" ")).toHaveLength(60);
    const usage = { inputTokens: 20, cacheReadTokens: 50, cacheWriteTokens: 0, outputTokens: 60, reasoningTokens: 0 };
    expect(out.usages.at(-1)).toEqual(usage);
    const whole = await unary(name, dialect, body);
    expect(whole.usage).toEqual(usage);
    expect(whole.text).toBe(message?.content);
  });

  it.skipIf(name === "responses")("carries images, stops, and white space at the end of a prefill", async () => {
    const image = { type: "image_url", image_url: { url: PNG } };
    const asked = { role: "user", content: [{ type: "text", text: "[[say: one two three]]" }, image] };
    const body = { messages: [asked, { role: "assistant", content: "So " }], stop: "three", temperature: 0.5 };
    const { out } = await streamed(name, dialect, body);
    expect(out.text("content")).toBe("one two ");
    expect(out.finishes[0]?.reason).toBe("stop");
  });

  it("carries tool calls, their results, and calls side by side", async () => {
    const asked = user("[[parallel]] What now?");
    const first = await streamed(name, dialect, { messages: [asked], tools });
    const calls = first.message?.tool_calls ?? [];
    expect(calls.map((call) => call.type === "function" && call.function.name)).toEqual(["weather", "clock"]);
    const results = calls.map((call) => ({ role: "tool", tool_call_id: call.id, content: "fine" }));
    const history = [asked, { ...first.message, role: "assistant" }, ...results];
    const second = await streamed(name, dialect, { messages: history, tools } as ChatBody);
    expect(second.message?.tool_calls).toBeUndefined();
    expect(second.message?.content).toMatch(/\w/);
    const choice = { type: "function", function: { name: "clock" } };
    const forced = await unary(name, dialect, { messages: history, tools, tool_choice: choice } as ChatBody);
    expect(JSON.stringify(forced.body)).toContain('"name":"clock"');
  });

  it("carries images, in the prompt and as a tool's result", async () => {
    const image = { type: "image_url", image_url: { url: PNG } };
    const body = { messages: [{ role: "user", content: [{ type: "text", text: "[[say: one two]]" }, image] }] };
    expect((await streamed(name, dialect, body)).out.text("content")).toBe("one two");
  });

  it("carries a JSON schema", async () => {
    const format = { type: "json_schema", json_schema: { name: "place", schema: SCHEMA, strict: true } };
    const { message } = await streamed(name, dialect, { messages: [user("Where?")], response_format: format });
    expect(JSON.parse(message?.content ?? "")).toEqual({ city: expect.any(String), days: expect.any(Number) });
  });

  it("carries thinking, and its signature back", async () => {
    const body = { messages: [user("Think")], reasoning_effort: "low", tools };
    const { out, message } = await streamed(name, dialect, body);
    expect(out.text("reasoning").split(" ")).toHaveLength(THOUGHTS[name]);
    const details = out.list("reasoning_details");
    const call = message?.tool_calls?.[0];
    const history = [
      ...body.messages,
      { role: "assistant", content: null, tool_calls: message?.tool_calls, reasoning_details: details },
      { role: "tool", tool_call_id: call?.id, content: "fine" },
    ];
    const second = await streamed(name, dialect, { ...body, messages: history } as ChatBody);
    expect(second.out.text("reasoning")).toMatch(/\w/);
    expect(second.message?.content).toMatch(/\w/);
  });
});
