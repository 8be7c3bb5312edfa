// A stream in OpenAI's wire is parsed alike whether its events differ only in their text, as nearly all do, or in more.
import fc from "fast-check";
import { expect, test } from "vitest";
import type { NeutralEvent } from "../../../src/core/neutral.ts";
import { chatCompletionsEvents } from "../../../src/models/formats/chat-completions/vendor-events.ts";
import type { ChatContext, EventOut } from "../../../src/upstream/format-kit/dialect.ts";

const context: ChatContext = {
  upstreamModel: "theirs",
  servedSlug: "maker/model",
  completionId: "chatcmpl-1",
  createdS: 1,
  stream: true,
  mayBeEmpty: false,
  outputTokensMax: 10,
  spec: { dialect: "chat-completions", models: {} },
  wire: {},
};

/** The events that the chunks produce, each chunk with a distinct `created` where they are to differ. */
function told(chunks: readonly object[], isEachItsOwn: boolean): (NeutralEvent | string)[] {
  const heard: (NeutralEvent | string)[] = [];
  const out: EventOut = {
    event: (event) => void heard.push(event),
    usage: () => void heard.push("usage"),
    upstreamCost: () => void heard.push("cost"),
    empty: () => void heard.push("empty"),
    fail: ({ kind }) => void heard.push(kind),
    end: () => void heard.push("end"),
  };
  const reader = chatCompletionsEvents(context, out);
  for (const [at, chunk] of chunks.entries()) {
    const bytes = Buffer.from(`data: ${JSON.stringify({ id: "x", created: isEachItsOwn ? at : 1, ...chunk })}\n\n`);
    expect(reader.event(bytes, 6, bytes.length - 2, null)).toBe(true);
  }
  return heard;
}

const delta = (index: number, said: object, finish: string | null = null) => ({
  choices: [{ index, delta: said, finish_reason: finish }],
});
const text = fc.string({ unit: "binary", maxLength: 6 });
const json = fc.constantFrom("{", "}", "{}");
const index = fc.constantFrom(0, 0, 0, 1);
const call = (said: object) => ({ tool_calls: [{ index: 0, ...said }] });
const chunk = fc.oneof(
  fc.tuple(index, text).map(([at, content]) => delta(at, { content })),
  fc.tuple(index, text).map(([at, content]) => delta(at, { content })),
  fc.tuple(index, text).map(([at, thought]) => delta(at, { content: null, reasoning_content: thought })),
  fc.tuple(index, text).map(([at, content]) => delta(at, { content, reasoning: content })),
  fc
    .tuple(index, text)
    .map(([at, said]) => delta(at, call({ id: "call_1", function: { name: "f", arguments: said } }))),
  // Some vendors give every call the same index, or no id.
  fc
    .tuple(index, text)
    .map(([at, said]) => delta(at, call({ id: "call_2", function: { name: "g", arguments: said } }))),
  fc.tuple(index, json).map(([at, said]) => delta(at, call({ function: { name: "h", arguments: said } }))),
  fc.tuple(index, text).map(([at, said]) => delta(at, call({ function: { arguments: said } }))),
  fc.tuple(index, text).map(([at, content]) => delta(at, { content }, "stop")),
  fc.constant({ choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 } }),
);

test("events that are alike but for their text say what they would say one by one", () => {
  const many = fc.array(chunk, { maxLength: 12 });
  // The fast path is for several copies of the same chunk.
  const rows = fc
    .tuple(many, fc.integer({ min: 1, max: 3 }))
    .map(([all, times]) => all.flatMap((one) => Array.from({ length: times }, () => one)));
  fc.assert(
    fc.property(rows, (chunks) => {
      expect(told(chunks, false)).toEqual(told(chunks, true));
    }),
    { numRuns: 500 },
  );
});

test("what a choice says after its finish is told, however alike", () => {
  const word = delta(0, { content: "a" });
  const kinds = told([word, word, word, delta(0, {}, "stop"), word], false).map((event) =>
    typeof event === "string" ? event : event.kind,
  );
  expect(kinds).toEqual(["begin", "text", "text", "text", "finish", "text"]);
});

test("the arguments of a second call under the index of the first are its own", () => {
  const begin = (id: string) => delta(0, call({ id, function: { name: "f", arguments: "" } }));
  const fragment = (said: string) => delta(0, call({ function: { arguments: said } }));
  const first = [begin("call_1"), fragment('{"a":'), fragment("1}")];
  const heard = told([...first, begin("call_2"), fragment('{"b":'), fragment("2}"), delta(0, {}, "tool_calls")], false);
  const args = heard.flatMap((event) =>
    typeof event === "object" && event.kind === "tool-arguments" ? [[event.at, event.text]] : [],
  );
  expect(args).toEqual([
    [0, '{"a":'],
    [0, "1}"],
    [1, '{"b":'],
    [1, "2}"],
  ]);
});
