// Translates OpenAI chat requests to the converse wire without loss of meaning, and its answers back to OpenAI's chat wire.
import { describe, expect, it } from "vitest";
import { converse } from "../../../src/models/formats/converse/vendor.ts";
import type { ChatContext } from "../../../src/upstream/dialects/dialect.ts";
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
    const hi = { role: "user", content: "Hi" };
    const messages = [hi, message, hi];
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
