// Translates OpenAI chat requests to the converse wire without loss of meaning, and its answers back to OpenAI's chat wire.
import { describe, expect, it } from "vitest";
import { converse } from "../../../src/models/formats/converse/vendor.ts";
import { ConverseTurns } from "../../../src/models/formats/converse/vendor-turns.ts";
import type { ChatContext } from "../../../src/upstream/format-kit/dialect.ts";
import { answerOf, asked, chatContext, feed, RecordedStream } from "../../support/dialect-replay.ts";

// biome-ignore lint/suspicious/noExplicitAny: bodies of the wire, read field by field below.
type Loose = any;

function sent(body: Record<string, unknown>, changes: Partial<ChatContext> = {}) {
  return converse.request(asked({ ...body }), chatContext(changes)).body as Loose;
}

const events = (...told: readonly (readonly [string, object])[]) =>
  told.map(([name, data]) => ({ name, data: JSON.stringify(data) }));
const delta = (contentBlockIndex: number, one: object) =>
  ["contentBlockDelta", { contentBlockIndex, delta: one }] as const;

describe("a thought", () => {
  const stream = (...told: readonly (readonly [string, object])[]) => {
    const out = new RecordedStream();
    feed(converse, chatContext({ stream: true }), events(...told), out);
    return out;
  };

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
    const hi = { role: "user", content: "Hi" };
    const messages = [hi, message, hi];
    const [, back] = sent({ messages }).messages as Loose[];
    expect(back?.content).toEqual(content);
    const foreign = chatContext().spec;
    const [, other] = sent({ messages }, { spec: { ...foreign, reasoningFormat: "another" } }).messages as Loose[];
    expect(other?.content).toEqual([{ text: "Yes." }]);
  });
});

it("names thousands of documents of one title apart, in linear time", () => {
  const turns = new ConverseTurns([]);
  const source = { type: "text", media_type: "text/plain", data: "x" };
  const content = Array.from({ length: 30_000 }, () => ({ type: "document", title: "Report", source }));
  const [sent] = turns.messages([{ role: "user", content }], false) as Loose[];
  const names = sent.content.slice(1).map(({ document }: Loose) => document.name);
  expect([names[0], names[1], names.at(-1)]).toEqual(["Report", "Report (2)", "Report (30000)"]);
  expect(new Set(names).size).toBe(30_000);
});

it("does not take calls without the tools they name: the vendor refuses them", () => {
  const call = { id: "c1", type: "function", function: { name: "now", arguments: "{}" } };
  const messages = [
    { role: "user", content: "Hi" },
    { role: "assistant", content: null, tool_calls: [call] },
    { role: "tool", tool_call_id: "c1", content: "noon" },
  ];
  const tools = [{ type: "function", function: { name: "now", parameters: { type: "object", properties: {} } } }];
  expect(converse.unsupported(asked({ messages }), chatContext())).toMatch(/^calls without tools/);
  expect(converse.unsupported(asked({ messages, tools }), chatContext())).toBeNull();
});
