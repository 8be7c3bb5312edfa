// The translating dialects never throw, whatever a client or a vendor sends.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chatAnswers } from "../../../src/models/formats/chat-completions/answers.ts";
import type { ChatBody } from "../../../src/models/formats/chat-completions/fields.ts";
import { chatCompletions } from "../../../src/models/formats/chat-completions/vendor.ts";
import { generateContent } from "../../../src/models/formats/generate-content/vendor.ts";
import { messages } from "../../../src/models/formats/messages/vendor.ts";
import { responses } from "../../../src/models/formats/responses/vendor.ts";
import type { ChatContext, Dialect } from "../../../src/upstream/format-kit/dialect.ts";
import { gathered } from "../../../src/upstream/whole-stream.ts";
import { ANSWERS } from "../../models/formats/golden-cases.ts";
import { asked, chatContext, eventsOf, feed, RecordedStream } from "../../support/dialect-replay.ts";
import { runs } from "../../support/runs.ts";

const DIALECTS: [string, Dialect][] = [
  ["chat-completions", chatCompletions],
  ["messages", messages],
  ["responses", responses],
  ["generate-content", generateContent],
];

/** Building the caller's answer from a whole answer must not throw either. */
const WHOLE = chatAnswers({ id: "c", createdS: 1, model: "m" });

const json = fc.jsonValue({ maxDepth: 4 });

/** Objects with keys that a dialect reads, and with unexpected values. */
function objectOf(keys: readonly string[], value: fc.Arbitrary<unknown> = json): fc.Arbitrary<Record<string, unknown>> {
  return fc.dictionary(fc.constantFrom(...keys), value, { maxKeys: 8 });
}

const PART_KEYS = ["type", "text", "image_url", "input_audio", "file", "refusal", "cache_control"];
const TYPES = fc.constantFrom("text", "image_url", "input_audio", "file", "refusal", "function", "x");
const part = fc.oneof(
  json,
  fc.tuple(objectOf(PART_KEYS), TYPES).map(([keys, type]) => ({ ...keys, type })),
);
const call = fc.oneof(json, objectOf(["id", "type", "function"], fc.oneof(json, objectOf(["name", "arguments"]))));
const detail = objectOf(
  ["type", "text", "signature", "data", "id", "format", "index"],
  fc.oneof(json, fc.constantFrom("reasoning.text", "messages")),
);
const message = fc.oneof(
  json,
  fc.record(
    {
      role: fc.oneof(fc.constantFrom("system", "user", "assistant", "tool", "developer"), json),
      content: fc.oneof(json, fc.array(part, { maxLength: 3 })),
      tool_calls: fc.oneof(json, fc.array(call, { maxLength: 3 })),
      tool_call_id: json,
      reasoning_details: fc.oneof(json, fc.array(detail, { maxLength: 4 })),
    },
    { requiredKeys: [] },
  ),
);
const FIELDS = [
  "tools",
  "tool_choice",
  "parallel_tool_calls",
  "stop",
  "temperature",
  "top_p",
  "n",
  "response_format",
  "reasoning",
];
const MORE = [
  "reasoning_effort",
  "thinking",
  "output_config",
  "metadata",
  "user",
  "logit_bias",
  "seed",
  "functions",
  "modalities",
  "cache_control",
];
const body = fc
  .tuple(
    objectOf([...FIELDS, ...MORE], fc.oneof(json, fc.array(call, { maxLength: 2 }))),
    fc.oneof(json, fc.array(message, { maxLength: 6 })),
  )
  .map(([fields, list]) => ({ ...fields, messages: list }) as unknown as ChatBody);

const context = fc
  .record({
    stream: fc.boolean(),
    outputTokensMax: fc.integer({ min: 1, max: 20_000 }),
    reasoning: fc.constantFrom("none", "budget", "budget-always", "effort", "effort-always"),
  })
  .map(({ reasoning, ...rest }): ChatContext => chatContext({ ...rest, wire: { reasoning } as const }));

describe.each(DIALECTS)("%s", (name, dialect) => {
  it("puts any request into the wire, with the bound on output, or says why not", () => {
    fc.assert(
      fc.property(body, context, (wanted, told) => {
        const sent = dialect.request(asked(wanted), told).body;
        const bound =
          name === "generate-content"
            ? (sent.generationConfig as Record<string, unknown>).maxOutputTokens
            : (sent.max_output_tokens ?? sent.max_tokens);
        expect(bound).toBe(told.outputTokensMax);
        expect(typeof JSON.stringify(sent)).toBe("string");
        const reason = dialect.unsupported(asked(wanted), told);
        expect(reason === null || reason.length > 0).toBe(true);
      }),
      { numRuns: runs(300, 1_500) },
    );
  });

  it("does not change the request it is given", () => {
    fc.assert(
      fc.property(body, context, (wanted, told) => {
        const before = JSON.stringify(wanted);
        dialect.request(asked(wanted), told);
        expect(JSON.stringify(wanted)).toBe(before);
      }),
      { numRuns: runs(60, 300) },
    );
  });

  it("reads any answer and any error", () => {
    const keys = [
      "type",
      "content",
      "stop_reason",
      "usage",
      "error",
      "candidates",
      "promptFeedback",
      "usageMetadata",
      "finishReason",
      "choices",
      "message",
    ];
    const inner = [
      "type",
      "text",
      "thinking",
      "input",
      "id",
      "parts",
      "functionCall",
      "inlineData",
      "code",
      "message",
      "details",
      "tool_calls",
      "function",
      "reasoning_details",
      "images",
      "finish_reason",
    ];
    const anything = fc.oneof(
      json,
      objectOf(keys, fc.oneof(json, objectOf(inner), fc.array(objectOf([...keys, ...inner]), { maxLength: 3 }))),
    );
    fc.assert(
      fc.property(anything, (answer) => {
        const read = gathered(dialect, answer, chatContext());
        expect(typeof (read.failure?.message ?? JSON.stringify(WHOLE.whole(read.answer())))).toBe("string");
        expect(typeof dialect.error(answer).message).toBe("string");
      }),
      { numRuns: runs(300, 1_500) },
    );
  });

  it("reads events that are cut, doubled, out of order or changed", () => {
    const streams = ANSWERS.filter((one) => one.dialect === name && one.streamed);
    const recorded = streams.flatMap(({ vendor }) => eventsOf(vendor));
    const event = fc.tuple(fc.constantFrom(...recorded), fc.double({ min: 0, max: 2, noNaN: true }), json);
    fc.assert(
      fc.property(fc.array(event, { maxLength: 12 }), (events) => {
        const changed = events.map(([{ name: label, data }, kept, value]) => {
          if (kept < 0.5) return { name: label, data: data.slice(0, Math.floor(data.length * kept * 2)) };
          if (kept < 1) return { name: label, data: data.replace(/"[^"]*"(?=[,}])/, () => JSON.stringify(value)) };
          return { name: label, data };
        });
        feed(dialect, chatContext({ stream: true }), changed, new RecordedStream());
      }),
      { numRuns: runs(200, 1_000) },
    );
  });
});
