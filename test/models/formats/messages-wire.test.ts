// Errors of other implementations in the messages wire, case by case, from their users' reports.
import { describe, expect, it } from "vitest";
import type { NeutralEvent, ReasoningBlock } from "../../../src/core/neutral.ts";
import { chatCompletions } from "../../../src/models/formats/chat-completions/vendor.ts";
import { messagesAnswers } from "../../../src/models/formats/messages/answers.ts";
import type { ThoughtsShown } from "../../../src/models/formats/messages/blocks.ts";
import type { MessagesBody } from "../../../src/models/formats/messages/fields.ts";
import { messagesRequest } from "../../../src/models/formats/messages/request.ts";
import { chatContext } from "../../support/dialect-replay.ts";
import { readEvents } from "../../support/messages-call.ts";

type Kind<K extends NeutralEvent["kind"]> = Extract<NeutralEvent, { kind: K }>;

const text = (said: string): NeutralEvent => ({ kind: "text", choice: 0, text: said });
const reasoning = (said: string): NeutralEvent => ({ kind: "reasoning", choice: 0, text: said });
const call = (at: number, name: string, json = ""): Kind<"tool-call"> => {
  return { kind: "tool-call", choice: 0, at, id: `call_${at}`, name, arguments: json };
};
const more = (at: number, json: string): NeutralEvent => ({ kind: "tool-arguments", choice: 0, at, text: json });
const finish = (reason: Kind<"finish">["reason"], native = reason as string): NeutralEvent => {
  return { kind: "finish", choice: 0, reason, native };
};
const sealed = (told: Partial<ReasoningBlock>): NeutralEvent => {
  const thought = {
    kind: "reasoning",
    text: "",
    format: null,
    signature: null,
    sealed: "tgs1_x",
    callId: null,
    ...told,
  } as const;
  return { kind: "thought", choice: 0, at: 0, thought };
};

const HEAD = { id: "msg_1", createdS: 1, model: "maker/m" };

/** The message that a client assembles from these events. */
function written(events: readonly NeutralEvent[], shown: ThoughtsShown = "all") {
  const encoder = messagesAnswers({ head: HEAD, promptTokens: 9, stops: [], shown }).encoder();
  const bytes = events.map((event) => encoder.encode(event).toString());
  const reader = readEvents(
    `${bytes.join("")}"output_tokens":1}}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n`,
  );
  return { message: reader.message, types: reader.events, pieces: bytes };
}

function contentOf(events: readonly NeutralEvent[], shown?: ThoughtsShown): unknown {
  return written(events, shown).message?.content;
}

describe("a stream", () => {
  it("BerriAI/litellm#33224, #32357: thoughts have a block of their own, and the message begins once", () => {
    const { message, types } = written([reasoning("hm"), reasoning("m"), text("so"), finish("stop")]);
    expect(message?.content).toEqual([
      { type: "thinking", thinking: "hmm", signature: "tgs0_" },
      { type: "text", text: "so" },
    ]);
    expect(types.filter((type) => type === "message_start")).toHaveLength(1);
  });

  it("router-for-me/CLIProxyAPI#561: the message begins before a call that comes first", () => {
    const { types, message } = written([call(0, "f", "{}"), finish("tool_calls")]);
    expect(types[0]).toBe("message_start");
    expect(message).toMatchObject({ stop_reason: "tool_use", content: [{ type: "tool_use", name: "f", input: {} }] });
  });

  it("BerriAI/litellm#25321: the arguments that come with a call's beginning are kept", () => {
    expect(contentOf([text("a"), call(0, "f", '{"a":'), more(0, "1}"), finish("tool_calls")])).toMatchObject([
      { type: "text" },
      { type: "tool_use", input: { a: 1 } },
    ]);
  });

  it("BerriAI/litellm#13373: calls that are written side by side come one after another", () => {
    const mixed = [call(0, "f"), call(1, "g"), more(0, '{"a":'), more(1, '{"b":'), more(0, "1}"), more(1, "2}")];
    expect(contentOf([...mixed, finish("tool_calls")])).toMatchObject([
      { name: "f", input: { a: 1 } },
      { name: "g", input: { b: 2 } },
    ]);
    const late = [call(0, "f"), call(1, "g", '{"b":2}'), text("so"), more(0, '{"a":1}')];
    expect(contentOf([...late, finish("tool_calls")])).toMatchObject([
      { name: "f", input: { a: 1 } },
      { name: "g", input: { b: 2 } },
      { type: "text", text: "so" },
    ]);
  });

  it("bounds what waits for a call to be whole", () => {
    const encoder = messagesAnswers({ head: HEAD, promptTokens: 9, stops: [], shown: "all" }).encoder();
    encoder.encode(call(0, "f"));
    const flood = () => {
      for (let at = 1; at < 20_000; at++) encoder.encode(call(at, "g", "{".repeat(100)));
    };
    expect(flood).toThrow(/side by side/);
  });

  it("maximhq/bifrost#2048: the input of a call flows as it comes", () => {
    const { pieces } = written([call(0, "f"), more(0, '{"a":'), more(0, '"b"'), more(0, "}"), finish("tool_calls")]);
    expect(pieces.slice(1, 4).map((piece) => piece.includes("input_json_delta"))).toEqual([true, true, true]);
  });

  it("maximhq/bifrost#1354: a call without arguments has an empty input", () => {
    expect(contentOf([call(0, "f"), finish("tool_calls")])).toMatchObject([{ input: {} }]);
    expect(contentOf([call(0, "f"), call(1, "g", "{}"), finish("tool_calls")])).toMatchObject([
      { name: "f" },
      { name: "g" },
    ]);
  });

  it("anthropics/claude-code#16785: an answer with a call ended for it, whatever its vendor says", () => {
    expect(written([call(0, "f", "{}"), finish("stop")]).message?.stop_reason).toBe("tool_use");
    // A call that the token limit cut off cannot be run.
    expect(written([call(0, "f", '{"a":1}'), finish("length")]).message?.stop_reason).toBe("max_tokens");
  });

  it.each([
    [finish("stop"), "end_turn"],
    [finish("stop", "stop_sequence"), "stop_sequence"],
    [finish("length"), "max_tokens"],
    [finish("content_filter"), "refusal"],
    [finish("tool_calls"), "end_turn"],
  ])("ends in the wire's words: %o", (end, reason) => {
    expect(written([text("a"), end]).message?.stop_reason).toBe(reason);
  });

  it("BerriAI/litellm#25848: an answer that is empty is a message all the same", () => {
    expect(written([finish("stop")]).message).toMatchObject({ content: [], stop_reason: "end_turn" });
  });

  it("hands sealed thoughts on, before the call that they belong to", () => {
    expect(
      contentOf([reasoning("hm"), sealed({ text: "hm" }), call(0, "f", "{}"), finish("tool_calls")]),
    ).toMatchObject([{ type: "thinking", thinking: "hm", signature: "tgs1_x" }, { type: "tool_use" }]);
    expect(contentOf([sealed({}), call(0, "f", "{}"), finish("tool_calls")])).toMatchObject([
      { type: "redacted_thinking", data: "tgs1_x" },
      { type: "tool_use" },
    ]);
  });

  it("shows no thought that was not asked for, and keeps one that may not be read", () => {
    const thought = [reasoning("hm"), sealed({ text: "hm" }), text("so"), finish("stop")];
    expect(contentOf(thought, "none")).toEqual([{ type: "text", text: "so" }]);
    expect(contentOf(thought, "sealed")).toEqual([
      { type: "thinking", thinking: "", signature: "tgs1_x" },
      { type: "text", text: "so" },
    ]);
  });

  it("says nothing after its end", () => {
    const encoder = messagesAnswers({ head: HEAD, promptTokens: 9, stops: [], shown: "all" }).encoder();
    for (const event of [text("a"), finish("stop")]) encoder.encode(event);
    expect(encoder.encode(text("b"))).toHaveLength(0);
  });
});

/** The body that a vendor of OpenAI's wire receives. */
function sentTo(body: Omit<MessagesBody, "messages"> & { readonly messages: readonly unknown[] }) {
  const context = chatContext({ stream: false, spec: { dialect: "chat-completions", models: {} } });
  const asked = messagesRequest(body as MessagesBody);
  expect(chatCompletions.unsupported(asked.neutral(), context)).toBeNull();
  return chatCompletions.request(asked.neutral(), context).body as { messages: Record<string, unknown>[] } & Record<
    string,
    unknown
  >;
}

const user = (content: unknown) => ({ role: "user", content });
const assistant = (...content: unknown[]) => ({ role: "assistant", content });
const use = (id: string) => ({ type: "tool_use", id, name: "f", input: { a: 1 } });
const result = (id: string, content: unknown) => ({ type: "tool_result", tool_use_id: id, content });

describe("a request to another wire", () => {
  it("BerriAI/litellm#22997: a thought of before is never said aloud", () => {
    const thoughts = [
      { type: "thinking", thinking: "secret plan", signature: "c2ln" },
      { type: "redacted_thinking", data: "c2VjcmV0" },
    ];
    const sent = sentTo({ messages: [user("a"), assistant(...thoughts, { type: "text", text: "b" }), user("c")] });
    expect(JSON.stringify(sent)).not.toMatch(/secret|c2ln|c2Vj/);
    expect(sent.messages.map(({ content }) => content)).toEqual(["a", "b", "c"]);
  });

  it("QwenLM/Qwen#2244: what the system says on the way keeps its place", () => {
    const sent = sentTo({
      system: "one",
      messages: [user("a"), { role: "system", content: [{ type: "text", text: "two" }] }],
    });
    expect(sent.messages.map(({ role }) => role)).toEqual(["system", "user", "system"]);
  });

  it("results of parallel calls come right behind the calls, before all else that the user says", () => {
    const said = [{ type: "text", text: "go on" }, result("c1", "one"), result("c2", [{ type: "text", text: "two" }])];
    const sent = sentTo({ messages: [user("a"), assistant(use("c1"), use("c2")), user(said)] });
    expect(sent.messages.slice(1)).toEqual([
      { role: "assistant", content: null, tool_calls: expect.arrayContaining([expect.objectContaining({ id: "c1" })]) },
      { role: "tool", tool_call_id: "c1", content: "one" },
      { role: "tool", tool_call_id: "c2", content: "two" },
      { role: "user", content: "go on" },
    ]);
  });

  it("pictures in the result of a tool are shown by the user", () => {
    const source = { type: "base64", media_type: "image/png", data: "AAAA" };
    const sent = sentTo({
      messages: [user("a"), assistant(use("c1")), user([result("c1", [{ type: "image", source }])])],
    });
    expect(sent.messages.slice(2)).toMatchObject([
      { role: "tool", tool_call_id: "c1" },
      { role: "user", content: [{ type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }] },
    ]);
  });

  it("the vendor's own books are left out of the system's words, as are tools that a vendor ran", () => {
    const system = [
      { type: "text", text: "x-acme-billing-header: v=1" },
      { type: "text", text: "be kind" },
    ];
    const ran = [
      { type: "server_tool_use", id: "s", name: "web_search", input: {} },
      { type: "web_search_tool_result", tool_use_id: "s", content: [] },
    ];
    const sent = sentTo({ system, messages: [user("a"), assistant(...ran, { type: "text", text: "b" })] });
    expect(sent.messages).toEqual([
      { role: "system", content: "be kind" },
      { role: "user", content: "a" },
      { role: "assistant", content: "b" },
    ]);
  });

  it("choices, stops and formats are said in the other's words", () => {
    const schema = { type: "object", properties: {} };
    const sent = sentTo({
      messages: [user("a")],
      stop_sequences: ["x"],
      tools: [{ name: "f", input_schema: schema }],
      tool_choice: { type: "any", disable_parallel_tool_use: true },
      output_config: { effort: "high", format: { type: "json_schema", schema } },
      metadata: { user_id: "u" },
    });
    expect(sent).toMatchObject({
      stop: ["x"],
      tool_choice: "required",
      parallel_tool_calls: false,
      reasoning_effort: "high",
      response_format: { type: "json_schema", json_schema: { schema, strict: true } },
    });
    expect(sent.user).toBeUndefined();
  });
});
