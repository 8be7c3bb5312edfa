// Streams and whole answers of other vendors, as OpenAI's clients see them: one row per fact, in test/fixtures/vendor-answers.
import { describe, expect, it } from "vitest";
import { converse } from "../../../src/models/formats/converse/vendor.ts";
import { generateContent } from "../../../src/models/formats/generate-content/vendor.ts";
import { messages } from "../../../src/models/formats/messages/vendor.ts";
import { messagesPassing } from "../../../src/models/formats/messages/vendor-passing.ts";
import { responses } from "../../../src/models/formats/responses/vendor.ts";
import { classify } from "../../../src/upstream/classify.ts";
import type { ChatContext } from "../../../src/upstream/format-kit/dialect.ts";
import { HeldStream } from "../../../src/upstream/held-stream.ts";
import {
  answerOf,
  asked,
  chatContext,
  eventsOf,
  feed,
  fixture,
  RecordedStream,
  replay,
} from "../../support/dialect-replay.ts";
import { foldedJson } from "../../support/folded-json.ts";

interface Row {
  readonly why: string;
  readonly context?: Partial<ChatContext>;
  /** A whole answer, and what a caller gets. */
  readonly json?: unknown;
  readonly answer?: unknown;
  /** A stream: the file of test/fixtures that it was recorded in, or the data of its events, some with a name. */
  readonly recorded?: string;
  readonly events?: readonly (string | readonly [name: string, data: string])[];
  /** What was read of it; what is not here is empty. */
  readonly out?: object;
  /** The body of an error with its status, and the kind of failure that it is. */
  readonly status?: number;
  readonly error?: unknown;
  readonly kind?: string;
}

const NOTHING = { deltas: [], finishes: [], usages: [], failure: null, emptiness: null, ended: false, skipped: 0 };

function eventsIn({ recorded, events = [] }: Row) {
  if (recorded !== undefined) return eventsOf(fixture(recorded));
  return events.map((event) =>
    typeof event === "string" ? { name: null, data: event } : { name: event[0], data: event[1] },
  );
}

describe.each([
  ["messages", messages],
  ["generate-content", generateContent],
  ["converse", converse],
  ["responses", responses],
] as const)("the %s wire", (name, dialect) => {
  const rows = foldedJson<readonly Row[]>(`vendor-answers/${name}.json`).map((row) => {
    const about = row.recorded ?? JSON.stringify(row.json ?? row.events ?? row.error ?? null).slice(0, 120);
    return [row.why, about, row] as const;
  });
  it.each(rows.filter(([, , { answer }]) => answer !== undefined))("%s: %s", (_why, _about, row) => {
    expect(answerOf(dialect, row.json, chatContext(row.context))).toEqual(row.answer);
  });
  it.each(rows.filter(([, , { out }]) => out !== undefined))("%s: %s", (_why, _about, row) => {
    const out = new RecordedStream();
    const skipped = feed(dialect, chatContext({ stream: true, ...row.context }), eventsIn(row), out);
    const { deltas, finishes, usages, failure, emptiness, ended } = out;
    const seen = { deltas, finishes, usages, failure, emptiness, ended, skipped };
    expect(seen).toEqual({ ...NOTHING, ...row.out });
  });
  it.each(rows.filter(([, , { kind }]) => kind !== undefined))(
    "%s: %s",
    (_why, _about, { status = 0, error, kind }) => {
      expect(classify(status, dialect.error(error), null).kind).toBe(kind);
    },
  );
});

const context = chatContext({ stream: true });

describe("OpenAI's client reads our stream", () => {
  it.each([
    ["messages/text.sse", messages, "stop", 'Good day, 世界 "and" all\n', []],
    ["messages/tools.sse", messages, "tool_calls", "Let me look.", [{ city: "Paris" }, {}]],
    ["generate-content/text.sse", generateContent, "stop", "Good day, 世界.", []],
    ["generate-content/thoughts-and-calls.sse", generateContent, "tool_calls", null, [{ city: "Paris" }, {}]],
    ["responses/tools.sse", responses, "tool_calls", null, [{ city: "Paris" }, {}]],
  ])("of %s", async (name, dialect, reason, content, calls) => {
    const out = replay(dialect, name);
    const [choice] = (await out.completion(context)).choices;
    expect([choice?.finish_reason, choice?.message.content || null]).toEqual([reason, content]);
    const args = (choice?.message.tool_calls ?? []).map((call) => "function" in call && call.function.arguments);
    expect(args.map((text) => JSON.parse(String(text)))).toEqual(calls);
  });
});

describe("thoughts go back to their vendor with their signatures", () => {
  it("in the messages wire", () => {
    const reasoning_details = replay(messages, "messages/thinking.sse").list("reasoning_details");
    const next = messages.request(
      asked({ messages: [{ role: "assistant", content: "4", reasoning_details }] }),
      context,
    );
    const thinking = { type: "thinking", thinking: "Two and two are four.", signature: "EqQBsignature==" };
    const content = [thinking, { type: "redacted_thinking", data: "EmwKsealed==" }, { type: "text" }];
    expect(next.body.messages).toMatchObject([{}, { content }]);
  });

  it("in the generate-content wire, with the calls", async () => {
    const out = replay(generateContent, "generate-content/thoughts-and-calls.sse");
    const { tool_calls } = (await out.completion(context)).choices[0]?.message ?? {};
    const message = { role: "assistant", tool_calls, reasoning_details: out.list("reasoning_details") };
    const next = generateContent.request(asked({ messages: [message] }), context);
    const call = { functionCall: { id: "fc9x", args: { city: "Paris" } }, thoughtSignature: "CpYBsig==" };
    expect(next.body.contents).toMatchObject([{}, { parts: [call, { functionCall: { name: "get_time" } }] }]);
  });
});

it("a quota error of generate-content says how long to wait; a header counts more", () => {
  const retry = { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34.07s" };
  const error = {
    code: 429,
    status: "RESOURCE_EXHAUSTED",
    message: "You exceeded your current quota.",
    details: [retry],
  };
  const told = generateContent.error({ error });
  expect(classify(429, told, null).retryAfterMs).toBe(34_070);
  expect(classify(429, told, 1000).retryAfterMs).toBe(1000);
  const endless = generateContent.error({
    error: { ...error, details: [{ ...retry, retryDelay: `${"9".repeat(400)}s` }] },
  });
  expect(classify(429, endless, null).retryAfterMs).toBe(86_400_000);
});

it.each([-5, 1.5, "12", Number.NaN, null, undefined, {}])(
  "a whole answer of messages counts %s tokens safely",
  (count) => {
    const usage = { input_tokens: count, output_tokens: 3 };
    const answer = answerOf(
      messages,
      { content: [{ type: "text", text: "." }], stop_reason: "end_turn", usage },
      chatContext(),
    );
    if ("kind" in answer) throw new Error("no answer");
    expect(answer.usage?.inputTokens).toBe(count === 1.5 ? 2 : 0);
  },
);

describe("an answer of nothing, in the messages wire", () => {
  it("that refuses is an answer, with its usage and the vendor's reason", () => {
    const refused = { content: [], stop_reason: "refusal", stop_details: { explanation: "Harmful." } };
    expect(answerOf(messages, { ...refused, usage: { input_tokens: 5 } }, chatContext())).toMatchObject({
      body: { choices: [{ finish_reason: "content_filter", message: { refusal: "Harmful." } }] },
      usage: { inputTokens: 5 },
    });
  });

  it("an empty answer says so, and keeps its usage", () => {
    const out = new RecordedStream();
    feed(messages, context, eventsOf(fixture("messages/refusal-at-once.sse").replace('"refusal"', '"end_turn"')), out);
    expect([out.failure, out.emptiness]).toEqual([null, "the answer is empty (end_turn)"]);
    expect(out.usages.length).toBeGreaterThan(0);
  });
});

it("an event of messages whose data came over several lines is passed on as one", () => {
  const sent: Buffer[] = [];
  const held = new HeldStream({ content: (bytes) => sent.push(Buffer.from(bytes)), done() {}, failed() {} });
  const reader = messagesPassing.reader(chatContext({ stream: true }), held);
  const event = { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hi" } };
  const bytes = Buffer.from(JSON.stringify(event, null, 1));
  reader.event(bytes, 0, bytes.length, null);
  held.flush();
  expect(Buffer.concat(sent).toString()).toBe(`event: content_block_delta\ndata: ${JSON.stringify(event)}\n\n`);
});
