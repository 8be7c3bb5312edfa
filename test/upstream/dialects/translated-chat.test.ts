// OpenAI's wire on the vendor's side only: requests of callers in other wires are translated to it, and its answers to the neutral form.
import { describe, expect, test } from "vitest";
import type { NeutralBlock, NeutralEvent, NeutralRequest } from "../../../src/core/neutral.ts";
import type { AttemptFailure, TokenUsage } from "../../../src/core/route.ts";
import { chatCompletions } from "../../../src/models/formats/chat-completions/vendor.ts";
import { generateContent } from "../../../src/models/formats/generate-content/vendor.ts";
import { messages } from "../../../src/models/formats/messages/vendor.ts";
import { responses } from "../../../src/models/formats/responses/vendor.ts";
import type { ChatContext, EventOut } from "../../../src/upstream/format-kit/dialect.ts";
import { gathered } from "../../../src/upstream/whole-stream.ts";
import { asked, chatContext } from "../../support/dialect-replay.ts";

const context = (changes: Partial<ChatContext> = {}) =>
  chatContext({ spec: { dialect: "chat-completions", models: {}, reasoningFormat: "maker-v1" }, ...changes });

function requestOf(changes: Partial<NeutralRequest>): NeutralRequest {
  return { ...asked({ messages: [{ role: "user", content: "Hi" }] }), ...changes };
}

function sent(changes: Partial<NeutralRequest>, told: Partial<ChatContext> = {}) {
  return chatCompletions.request(requestOf(changes), context(told)).body;
}

const text = (said: string): NeutralBlock => ({ kind: "text", text: said, cacheMark: true });
const PNG = { at: "inline", mediaType: "image/png", base64: "AA==" } as const;
const image: NeutralBlock = { kind: "image", source: PNG, filename: null, cacheMark: false };
const seal = { kind: "reasoning", text: "", format: "maker-v1", signature: null, sealed: null, callId: null } as const;
const result = (content: string | readonly NeutralBlock[], isError = false): NeutralBlock => {
  return { kind: "tool-result", callId: "c1", name: "weather", content, isError, cacheMark: true };
};

describe("a request", () => {
  test("keeps the conversation: results come right after the calls, media in them with the user", () => {
    const call: NeutralBlock = { kind: "tool-call", id: "c1", name: "weather", arguments: "", cacheMark: true };
    const { messages: said } = sent({
      turns: [
        { role: "system", blocks: [text("Be brief."), text("Be kind.")] },
        { role: "user", blocks: [text("Look"), image] },
        {
          role: "assistant",
          blocks: [
            { ...seal, text: "Hm.", signature: "sig==" },
            { ...seal, format: "another", sealed: "x" },
            text("Wait."),
            call,
          ],
        },
        { role: "user", blocks: [text("So?"), result([text("sunny"), image])] },
      ],
    });
    const picture = { type: "image_url", image_url: { url: "data:image/png;base64,AA==" } };
    expect(said).toEqual([
      { role: "system", content: "Be brief.\n\nBe kind." },
      { role: "user", content: [{ type: "text", text: "Look" }, picture] },
      {
        role: "assistant",
        content: "Wait.",
        reasoning_details: [{ type: "reasoning.text", text: "Hm.", signature: "sig==", format: "maker-v1", index: 0 }],
        tool_calls: [{ id: "c1", type: "function", function: { name: "weather", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: "c1", content: "sunny" },
      { role: "user", content: [picture, { type: "text", text: "So?" }] },
    ]);
  });

  test("says the rest in this wire's words, and differs by the adapter's fields alone", () => {
    const { sampling } = requestOf({});
    const schema = { type: "object" };
    const wanted: Partial<NeutralRequest> = {
      tools: [{ kind: "function", name: "f", description: null, parameters: schema, strict: false, cacheMark: true }],
      toolChoice: { mode: "named", name: "f" },
      parallelToolCalls: false,
      format: { kind: "schema", schema, name: null, strict: null },
      sampling: { ...sampling, temperature: 0.5, seed: 7 },
      reasoning: { off: false, effort: null, budgetTokens: 5_000, exclude: false },
      stops: ["END"],
      choices: 2,
      user: "u",
      extra: { verbosity: "low" },
    };
    expect(
      sent(wanted, { stream: true, wire: { dropFields: ["seed"], maxTokensField: "max_completion_tokens" } }),
    ).toEqual({
      model: "vendor-model-1",
      messages: [{ role: "user", content: "Hi" }],
      tools: [{ type: "function", function: { name: "f", parameters: { type: "object", properties: {} } } }],
      tool_choice: { type: "function", function: { name: "f" } },
      parallel_tool_calls: false,
      response_format: { type: "json_schema", json_schema: { name: "answer", schema } },
      temperature: 0.5,
      reasoning_effort: "medium",
      stop: ["END"],
      n: 2,
      user: "u",
      verbosity: "low",
      max_completion_tokens: 4096,
      stream: true,
      stream_options: { include_usage: true },
    });
    expect(sent({})).toEqual({
      model: "vendor-model-1",
      messages: [{ role: "user", content: "Hi" }],
      max_tokens: 4096,
    });
  });

  test.each<[string, Partial<NeutralRequest>, RegExp]>([
    ["another wire's own", { foreign: [{ field: "container", reason: "containers have no place" }] }, /containers/],
    ["a server tool", { tools: [{ kind: "server", format: "m", type: "web_search", json: {} }] }, /type web_search/],
    [
      "a foreign part",
      { turns: [{ role: "user", blocks: [result([{ kind: "foreign", what: "a film" }])] }] },
      /^a film/,
    ],
    [
      "a vendor's own part",
      { turns: [{ role: "assistant", blocks: [{ kind: "native", format: "m", json: {} }] }] },
      /format m/,
    ],
    [
      "media of the assistant",
      { turns: [{ role: "assistant", blocks: [image] }] },
      /media in messages of role assistant/,
    ],
  ])("with %s is refused", (_, changes, reason) => {
    expect(chatCompletions.unsupported(requestOf(changes), context())).toMatch(reason);
  });
});

/** The events that a reader produces from these chunks. */
function read(...chunks: unknown[]) {
  const events: NeutralEvent[] = [];
  const said = {
    usage: null as TokenUsage | null,
    failure: null as AttemptFailure | null,
    empty: null as string | null,
    ended: false,
  };
  const out: EventOut = {
    event: (event) => events.push(event),
    usage: (usage) => {
      said.usage = usage;
    },
    upstreamCost() {},
    empty(message) {
      said.empty ??= message;
    },
    fail: (failure) => {
      said.failure ??= failure;
    },
    end: () => {
      said.ended = true;
    },
  };
  const reader = chatCompletions.reader(context({ stream: true }), out);
  for (const chunk of chunks) {
    const bytes = Buffer.from(typeof chunk === "string" ? chunk : JSON.stringify(chunk));
    reader.event(bytes, 0, bytes.length, null);
  }
  return { events, ...said };
}

const delta = (fields: object, finish_reason: string | null = null, index = 0) => ({
  choices: [{ index, delta: fields, finish_reason }],
});
const detail = (fields: object) =>
  delta({ reasoning_details: [{ type: "reasoning.text", format: "maker-v1", index: 0, ...fields }] });

describe("a stream", () => {
  test("says what it holds, choice by choice", () => {
    const url = "data:image/png;base64,AA==";
    const { events, usage, ended } = read(
      delta({ role: "assistant", reasoning_content: "Hm" }),
      detail({ text: "H" }),
      detail({ text: "m", signature: "sig==" }),
      delta({ content: "So" }),
      delta({ refusal: "No" }, null, 1),
      delta({ tool_calls: [{ index: 0, function: { name: "f", arguments: "" } }] }),
      delta({ tool_calls: [{ index: 0, function: { arguments: "{}" } }] }),
      delta({ images: [{ type: "image_url", image_url: { url } }] }),
      delta({}, "tool_calls"),
      delta({}, "length", 1),
      { choices: [], usage: { prompt_tokens: 3, completion_tokens: 2 } },
      "[DONE]",
    );
    expect(events).toEqual([
      { kind: "begin", choice: 0 },
      { kind: "reasoning", choice: 0, text: "Hm" },
      { kind: "thought", choice: 0, at: 0, thought: { ...seal, text: "Hm", signature: "sig==" } },
      { kind: "text", choice: 0, text: "So" },
      { kind: "begin", choice: 1 },
      { kind: "refusal", choice: 1, text: "No" },
      { kind: "tool-call", choice: 0, at: 0, id: "call_0123456789abcdef_0", name: "f", arguments: "" },
      { kind: "tool-arguments", choice: 0, at: 0, text: "{}" },
      { kind: "image", choice: 0, at: 0, url },
      { kind: "finish", choice: 0, reason: "tool_calls", native: "tool_calls" },
      { kind: "finish", choice: 1, reason: "length", native: "length" },
    ]);
    expect([usage?.outputTokens, ended]).toEqual([2, true]);
  });

  test.each([
    ["an error", [{ error: { message: "Overloaded", code: 529 } }], "provider_overloaded"],
    ["an error for a finish", [delta({ content: "a" }), delta({}, "error")], "provider_server_error"],
    ["a thought that is never signed", Array(3).fill(detail({ text: "x".repeat(500_000) })), "provider_malformed"],
  ])("of %s has failed", (_, chunks, kind) => {
    expect(read(...chunks).failure?.kind).toBe(kind);
  });

  test("of nothing says that it is empty", () => {
    const { failure, empty } = read(delta({ role: "assistant", content: "" }), delta({}, "stop"));
    expect(failure).toBeNull();
    expect(empty).toBe("the answer is empty");
  });
});

test("a whole answer says the same, its thoughts once", () => {
  const message = {
    content: "So",
    refusal: null,
    reasoning: "Hm",
    reasoning_details: [{ type: "reasoning.text", text: "Hm", signature: "sig==", format: "maker-v1", index: 0 }],
    tool_calls: [{ id: "c1", type: "function", function: { name: "f", arguments: "{}" } }],
  };
  const choices = [{ index: 0, message, finish_reason: "tool_calls" }];
  const json = { choices, usage: { prompt_tokens: 3, completion_tokens: 2 } };
  expect(gathered(chatCompletions, json, context()).answer()).toMatchObject({
    choices: [
      {
        index: 0,
        blocks: [
          { ...seal, text: "Hm", signature: "sig==" },
          { kind: "text", text: "So" },
          { kind: "tool-call", id: "c1", name: "f", arguments: "{}" },
        ],
        reason: "tool_calls",
      },
    ],
    usage: { inputTokens: 3, outputTokens: 2 },
  });
});

test("a tool that failed says so where the wire has a word for it", () => {
  const request = requestOf({ turns: [{ role: "user", blocks: [result("no such city", true)] }] });
  expect(messages.request(request, chatContext()).body.messages).toMatchObject([
    { content: [{ type: "tool_result", is_error: true, cache_control: { type: "ephemeral" } }] },
  ]);
  expect(generateContent.request(request, chatContext()).body.contents).toMatchObject([
    { parts: [{ functionResponse: { name: "weather", response: { error: "no such city" } } }] },
  ]);
});

test.each([
  ["no such city", "Error: no such city"],
  ["", "Error"],
  ["<tool_use_error>No such file</tool_use_error>", "<tool_use_error>No such file</tool_use_error>"],
  ["TypeError: x is not a function", "TypeError: x is not a function"],
])("and is said to have failed in words where it has none: %j", (told, said) => {
  const parts: NeutralBlock[] = [{ kind: "text", text: told, cacheMark: false }];
  const request = (content: string | readonly NeutralBlock[], failed: boolean) =>
    requestOf({ turns: [{ role: "user", blocks: [result(content, failed)] }] });
  for (const content of told === "" ? [told, []] : [told, parts]) {
    expect(sent(request(content, true)).messages).toMatchObject([{ role: "tool", content: said }]);
    const [item] = responses.request(request(content, true), chatContext()).body.input as { output: unknown }[];
    expect(item?.output).toEqual(
      typeof content === "string" || content.length === 0 ? said : [{ type: "input_text", text: said }],
    );
  }
  expect(sent(request(told, false)).messages).toMatchObject([{ role: "tool", content: told }]);
});

test("what only one vendor can read goes to that vendor alone", () => {
  const json = { type: "server_tool_use", id: "s1" };
  const request = requestOf({
    turns: [{ role: "assistant", blocks: [{ kind: "native", format: "messages", json }] }],
    tools: [{ kind: "server", format: "messages", type: "web_search", json: { type: "web_search", name: "search" } }],
  });
  expect(messages.unsupported(request, chatContext())).toBeNull();
  expect(messages.request(request, chatContext()).body).toMatchObject({
    messages: [{}, { content: [json] }],
    tools: [{ type: "web_search" }],
  });
  expect(generateContent.unsupported(request, chatContext())).toMatch(/web_search/);
  expect(generateContent.unsupported({ ...request, tools: [] }, chatContext())).toMatch(/format messages/);
});
