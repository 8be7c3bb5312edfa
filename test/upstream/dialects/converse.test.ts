// Translates OpenAI chat requests to the converse wire without loss of meaning, and its answers back to OpenAI's chat wire.
import { describe, expect, it } from "vitest";
import { converse } from "../../../src/models/formats/converse/vendor.ts";
import type { ChatContext } from "../../../src/upstream/dialects/dialect.ts";
import { answerOf, asked, chatContext, feed, RecordedStream } from "../../support/dialect-replay.ts";
import { HI, WEATHER } from "./messages-asking.ts";

// biome-ignore lint/suspicious/noExplicitAny: bodies of the wire, read field by field below.
type Loose = any;

const AMAZON: Partial<ChatContext> = {
  wire: {
    takes: {
      formats: "json_object",
      cachePoints: ["system", "messages"],
      effortField: "reasoningConfig",
      efforts: ["none", "low", "medium"],
    },
  },
};
const OPEN: Partial<ChatContext> = {
  wire: { takes: { effortField: "reasoning_effort", efforts: ["low", "medium", "high"] } },
};
const MARK = { cachePoint: { type: "default" } };
const marked = (text: string) => ({ type: "text", text, cache_control: { type: "ephemeral" } });

function sent(body: Record<string, unknown>, changes: Partial<ChatContext> = {}) {
  return converse.request(asked({ messages: [HI], ...body }), chatContext(changes)).body as Loose;
}

function refused(body: Record<string, unknown>, changes: Partial<ChatContext> = {}) {
  return converse.unsupported(asked({ messages: [HI], ...body }), chatContext(changes));
}

describe("how hard to think", () => {
  it.each([
    [{ reasoning_effort: "low" }, AMAZON, { reasoningConfig: { type: "enabled", maxReasoningEffort: "low" } }],
    // The highest effort that it accepts together with a bound on output.
    [{ reasoning_effort: "xhigh" }, AMAZON, { reasoningConfig: { type: "enabled", maxReasoningEffort: "medium" } }],
    [{ reasoning_effort: "none" }, AMAZON, { reasoningConfig: { type: "disabled" } }],
    [{ reasoning: { enabled: true } }, AMAZON, { reasoningConfig: { type: "enabled", maxReasoningEffort: "medium" } }],
    [{ reasoning: { max_tokens: 1_000 } }, OPEN, { reasoning_effort: "low" }],
    [{ reasoning_effort: "high" }, OPEN, { reasoning_effort: "high" }],
    [{ reasoning_effort: "none" }, OPEN, { reasoning_effort: "low" }],
    [{ reasoning_effort: "high" }, {}, undefined],
    [{}, AMAZON, undefined],
  ])("%j", (body, changes, fields) => {
    expect(sent(body, changes).additionalModelRequestFields).toEqual(fields);
  });
});

describe("marks of the cache", () => {
  const conversation = {
    messages: [
      { role: "system", content: [marked("Rules.")] },
      { role: "user", content: [marked("Hi"), { type: "text", text: "there" }] },
      { role: "assistant", content: null, tool_calls: [{ id: "a", type: "function", function: { name: "f" } }] },
      { role: "tool", tool_call_id: "a", content: [marked("sunny")] },
    ],
    tools: [{ ...WEATHER, cache_control: { type: "ephemeral" } }],
  };

  it("stand behind what they mark, and on tools and their results only where that is taken", () => {
    const body = sent(conversation, AMAZON);
    expect(body.system).toEqual([{ text: "Rules." }, MARK]);
    expect(body.messages).toMatchObject([
      { content: [{ text: "Hi" }, MARK, { text: "there" }] },
      { content: [{ toolUse: { toolUseId: "a" } }] },
      { content: [{ toolResult: { content: [{ text: "sunny" }] } }] },
    ]);
    expect(body.toolConfig.tools).toHaveLength(1);
  });

  it("of the whole prompt stands at its end", () => {
    const [message] = sent({ cache_control: { type: "ephemeral" } }, AMAZON).messages as Loose[];
    expect(message?.content).toEqual([{ text: "Hi" }, MARK]);
  });

  it("are left out where the model takes none", () => {
    expect(JSON.stringify(sent(conversation, OPEN))).not.toContain("cachePoint");
  });
});

describe("the form of an answer", () => {
  const schema = { type: "object", properties: { a: { type: "string", maxLength: 3 } }, required: ["a"] };
  const ask = { response_format: { type: "json_schema", json_schema: { name: "place", strict: true, schema } } };

  it("is the vendor's to guarantee, as text", () => {
    const { jsonSchema } = sent(ask, OPEN).outputConfig.textFormat.structure;
    expect(jsonSchema.name).toBe("place");
    expect(JSON.parse(jsonSchema.schema)).toEqual({
      type: "object",
      properties: { a: { type: "string", description: "maxLength: 3" } },
      required: ["a"],
      additionalProperties: false,
    });
    const open = { type: "json_schema", json_schema: { name: "x", schema: { type: "object" } } };
    expect(refused({ response_format: open }, OPEN)).toMatch(/free keys/);
    expect(refused({ response_format: open }, AMAZON)).toBe(null);
  });

  it("is said in words where it cannot", () => {
    const body = sent(ask, AMAZON);
    expect(body).not.toHaveProperty("outputConfig");
    expect(JSON.stringify(body.system)).toMatch(/fits this JSON Schema: .*maxLength/);
    expect(sent({ response_format: { type: "json_object" } }, OPEN).system).toHaveLength(1);
  });
});

describe("the conversation", () => {
  const file = (filename: string) => ({
    type: "file",
    file: { filename, file_data: `data:application/pdf;base64,${Buffer.from("%PDF").toString("base64")}` },
  });

  it("gives every document a name of its own, and some text beside it", () => {
    const messages = [
      { role: "user", content: [file("a.pdf"), file("a.pdf"), file("../日本")] },
      { role: "assistant", content: "Yes." },
      { role: "user", content: [file("a.pdf"), { type: "text", text: "And?" }] },
    ];
    const [first, , last] = sent({ messages }).messages as unknown as {
      content: Record<string, { name?: string }>[];
    }[];
    expect(first?.content.map((block) => block.document?.name ?? block.text)).toEqual([
      ".",
      "a pdf",
      "a pdf (2)",
      "document",
    ]);
    expect(last?.content.map((block) => block.document?.name ?? block.text)).toEqual(["a pdf (3)", "And?"]);
  });

  it("has no blank text, and ids of 64 characters at most that still meet", () => {
    const id = `call_${"x".repeat(90)}`;
    const messages = [
      { role: "system", content: "  " },
      {
        role: "user",
        content: [
          { type: "text", text: "Hi" },
          { type: "text", text: " \n" },
        ],
      },
      { role: "assistant", content: " ", tool_calls: [{ id, type: "function", function: { name: "f" } }] },
      { role: "tool", tool_call_id: id, content: "" },
    ];
    const body = sent({ messages, tools: [WEATHER] });
    expect(body).not.toHaveProperty("system");
    const [user, said, answered] = body.messages as unknown as { content: Record<string, Record<string, string>>[] }[];
    expect(user?.content).toEqual([{ text: "Hi" }]);
    const toolUseId = said?.content[0]?.toolUse?.toolUseId;
    expect(toolUseId).toMatch(/^[a-zA-Z0-9_-]{64}$/);
    expect(answered?.content).toEqual([{ toolResult: { toolUseId, content: [], status: "success" } }]);
  });

  it("takes no more of a name than the wire does", () => {
    const tool = { type: "function", function: { name: "x".repeat(65) } };
    const [sentTool] = (sent({ tools: [tool] }).toolConfig as { tools: { toolSpec: { name: string } }[] }).tools;
    expect(sentTool?.toolSpec.name).toMatch(/^x{55}_[0-9a-f]{8}$/);
  });
});

const events = (...told: readonly (readonly [string, object])[]) =>
  told.map(([name, data]) => ({ name, data: JSON.stringify(data) }));
const delta = (contentBlockIndex: number, one: object) =>
  ["contentBlockDelta", { contentBlockIndex, delta: one }] as const;
const STOP = ["messageStop", { stopReason: "end_turn" }] as const;

describe("a thought", () => {
  const stream = (...told: readonly (readonly [string, object])[]) => {
    const out = new RecordedStream();
    feed(converse, chatContext({ stream: true }), events(...told), out);
    return out;
  };

  it("is told in pieces, and once more whole with its signature, whichever way it ends", () => {
    const pieces = [
      delta(0, { reasoningContent: { text: "Let " } }),
      delta(0, { reasoningContent: { text: "me" } }),
      delta(0, { reasoningContent: { signature: "si" } }),
      delta(0, { reasoningContent: { signature: "g" } }),
    ];
    const answer = delta(1, { text: "Hello" });
    for (const told of [
      [...pieces, ["contentBlockStop", { contentBlockIndex: 0 }] as const, answer, STOP],
      [...pieces, answer, STOP],
    ]) {
      const out = stream(...told);
      expect(out.text("reasoning")).toBe("Let me");
      expect(out.list("reasoning_details")).toMatchObject([
        { type: "reasoning.text", text: "Let me", signature: "sig", format: "converse" },
      ]);
      expect(out.finishes).toEqual([{ index: 0, reason: "stop", native: "end_turn" }]);
    }
  });

  it("that grows without end ends the answer", () => {
    const out = stream(
      ...Array.from({ length: 20 }, () => delta(0, { reasoningContent: { text: "x".repeat(64 * 1024) } })),
    );
    expect(out.failure?.kind).toBe("provider_malformed");
  });

  it("goes back to its vendor with its signature, and to nobody else", () => {
    const content = [{ reasoningContent: { reasoningText: { text: "Hm.", signature: "sig" } } }, { text: "Yes." }];
    const json = { output: { message: { role: "assistant", content } }, stopReason: "end_turn" };
    const answer = answerOf(converse, json, chatContext());
    if (!("body" in answer)) throw new Error("no answer");
    const { message } = (answer.body as unknown as { choices: [{ message: Record<string, unknown> }] }).choices[0];
    const messages = [HI, message, HI];
    const [, back] = sent({ messages }).messages as Loose[];
    expect(back?.content).toEqual(content);
    const foreign = chatContext().spec;
    const [, other] = sent({ messages }, { spec: { ...foreign, reasoningFormat: "another" } }).messages as Loose[];
    expect(other?.content).toEqual([{ text: "Yes." }]);
  });
});

it("usage has a bucket for each price, and is none where nothing was counted", () => {
  const usage = { inputTokens: 7, cacheReadInputTokens: 50, cacheWriteInputTokens: 20, outputTokens: 3 };
  const read = (told: object) => {
    const json = { output: { message: { content: [{ text: "Hi" }] } }, stopReason: "end_turn", usage: told };
    const answer = answerOf(converse, json, chatContext());
    return "usage" in answer ? answer.usage : answer;
  };
  const buckets = { inputTokens: 7, cacheReadTokens: 50, cacheWriteTokens: 20, outputTokens: 3, reasoningTokens: 0 };
  expect(read(usage)).toEqual(buckets);
  expect(read({ inputTokens: -4, outputTokens: 0 })).toBe(null);
});
