// By construction nothing goes upstream uncounted: the counted text contains everything that a dialect sends of a body.
import fc from "fast-check";
import { get_encoding } from "tiktoken";
import { afterAll, describe, expect, it } from "vitest";
import { GatewayError, refusalIn } from "../../../src/core/errors.ts";
import { CHAT_FIELDS } from "../../../src/models/formats/chat-completions/fields.ts";
import { readChatBody } from "../../../src/models/formats/chat-completions/read-body.ts";
import { chatCompletions } from "../../../src/models/formats/chat-completions/vendor.ts";
import type { Field } from "../../../src/models/formats/field-table.ts";
import { generateContent } from "../../../src/models/formats/generate-content/vendor.ts";
import { messages } from "../../../src/models/formats/messages/vendor.ts";
import type { ModelRequest } from "../../../src/models/formats/model-request.ts";
import { readText, sentText } from "../../../src/models/formats/prompt-text.ts";
import { responses } from "../../../src/models/formats/responses/vendor.ts";
import { asked, chatContext } from "../../support/dialect-replay.ts";
import { runs } from "../../support/runs.ts";

function readOrRefuse(body: object): ModelRequest | GatewayError {
  try {
    return readChatBody(Buffer.from(JSON.stringify(body)));
  } catch (error) {
    return refusalIn(error);
  }
}

type Json = Record<string, unknown>;

const WORDS = "river stone ";
const LONG = WORDS.repeat(10_000 / WORDS.length);
const encoding = get_encoding("o200k_base");

afterAll(() => encoding.free());

function tokens(text: string): number {
  return encoding.encode_ordinary(text).length;
}

/** A body with most of the possible fields, so that a mark can go anywhere. */
function rich(): Json {
  return {
    model: "sandbox/ok",
    messages: [
      { role: "system", content: "s", name: "n" },
      {
        role: "user",
        content: [
          { type: "text", text: "t", cache_control: { type: "ephemeral" } },
          { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=", detail: "low" } },
          { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,JVBERi0=" } },
          { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } },
        ],
      },
      {
        role: "assistant",
        content: [{ type: "refusal", refusal: "r" }],
        reasoning_content: "r",
        reasoning_details: [{ type: "reasoning.text", text: "x", signature: "y", format: "messages", index: 0 }],
        tool_calls: [{ id: "c1", type: "function", function: { name: "f", arguments: '{"a":"b"}' } }],
      },
      { role: "tool", tool_call_id: "c1", content: '{"a":1}' },
      { role: "user", content: "go" },
    ],
    tools: [
      {
        type: "function",
        function: { name: "f", description: "d", parameters: { type: "object", properties: { a: { enum: ["x"] } } } },
        cache_control: { type: "ephemeral" },
      },
    ],
    tool_choice: { type: "function", function: { name: "f" } },
    response_format: { type: "json_schema", json_schema: { name: "x", schema: { type: "object", title: "t" } } },
    reasoning: { effort: "low" },
    thinking: { type: "adaptive" },
    output_config: { effort: "low" },
    stop: ["END"],
    metadata: { user_id: "u" },
    safetySettings: [{ category: "c" }],
    user: "u",
  };
}

type Holder = Record<string, unknown> | unknown[];

function holders(value: unknown): Holder[] {
  if (typeof value !== "object" || value === null) return [];
  return [value as Holder, ...Object.values(value).flatMap(holders)];
}

/** Every name in the allow-list, and some that are not in it. */
function namesOf(place: Field): string[] {
  const below = [
    ...(place.fields?.values() ?? []),
    ...(place.by?.cases.values() ?? []),
    ...(place.items === null ? [] : [place.items]),
  ];
  return [...(place.fields?.keys() ?? []), ...below.flatMap(namesOf)];
}
const NAMES = [...new Set([...namesOf(CHAT_FIELDS), "foo", "__proto__", "constructor", "system", "input", "caption"])];

const mark = fc.constantFrom<(text: string) => unknown>(
  (text) => text,
  (text) => [text],
  (text) => ({ type: "text", text }),
  (text) => ({ [text]: 1 }),
  (text) => ({ url: text, data: text, name: text, file_data: text }),
  (text) => [{ role: "user", content: text, name: text }],
  (text) => `data:image/png;base64,${text}`,
);

/** The sent body without encoded media, which is bounded per part. */
function withoutMedia(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(withoutMedia);
  const kept = Object.entries(value).filter(([key]) => !["url", "image_url", "file_data", "data"].includes(key));
  return Object.fromEntries(kept.map(([key, inner]) => [key, withoutMedia(inner)]));
}

describe("whatever a dialect sends", () => {
  it.each([
    ["chat-completions", chatCompletions],
    ["messages", messages],
    ["generate-content", generateContent],
    ["responses", responses],
  ] as const)("in the %s wire is in the counted text", (_, dialect) => {
    let sentCount = 0;
    const anywhere = fc.record({
      where: fc.nat(),
      at: fc.nat(),
      name: fc.constantFrom(...NAMES),
      make: mark,
      replace: fc.boolean(),
    });
    fc.assert(
      fc.property(anywhere, ({ where, at, name, make, replace }) => {
        const body = rich();
        const all = holders(body);
        const holder = all[where % all.length] ?? body;
        const keys = Object.keys(holder);
        const key = replace ? (keys[at % Math.max(keys.length, 1)] ?? name) : name;
        const value = make("riverstone");
        if (Array.isArray(holder) && !replace) holder.push(value);
        else Object.defineProperty(holder, key, { value, enumerable: true, configurable: true, writable: true });
        const chat = readOrRefuse(body);
        if (chat instanceof GatewayError || chat.unknownPart !== null) return;
        const translated = dialect.request(asked(chat.asked.body), chatContext()).body;
        const passed = dialect.passing?.request(chat.asked.body, chatContext()).body ?? translated;
        for (const going of [translated, passed]) {
          const sent = JSON.stringify(withoutMedia(going));
          if (!sent.includes("riverstone")) continue;
          sentCount++;
          expect(sentText(chat.asked.body, CHAT_FIELDS).includes("riverstone"), sent).toBe(true);
        }
      }),
      { numRuns: runs(600, 3_000) },
    );
    expect(sentCount).toBeGreaterThan(20);
  });
});

/** The location of each string in a value. */
function strings(value: unknown, path = ""): { path: string; holder: Holder; key: string }[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    typeof inner === "string"
      ? [{ path: `${path}${key}`, holder: value as Holder, key }]
      : strings(inner, `${path}${key}.`),
  );
}

describe("a string of ten thousand characters", () => {
  const before = readChatBody(Buffer.from(JSON.stringify(rich()))) as ModelRequest;
  const counted = tokens(sentText(before.asked.body, CHAT_FIELDS));
  const ENCODED = ["input_audio.data"];

  it.each(strings(rich()).map(({ path }, at) => [path, at] as const))(
    "at %s raises the bound, or is refused",
    (path, at) => {
      const body = rich();
      const { holder, key } = strings(body)[at] ?? { holder: body, key: "" };
      Object.assign(holder, { [key]: LONG });
      const chat = readOrRefuse(body);
      if (chat instanceof GatewayError || chat.unknownPart !== null) return;
      if (ENCODED.some((encoded) => path.endsWith(encoded))) return expect(chat.shape.parts.audio).toBe(1);
      const grown = tokens(sentText(chat.asked.body, CHAT_FIELDS)) - counted;
      expect(grown).toBeGreaterThan(tokens(LONG) * 0.95);
    },
  );
});

it("an estimate is made of what the model reads, and of nothing that only steers the call", () => {
  const chat = readChatBody(Buffer.from(JSON.stringify({ ...rich(), user: LONG, metadata: { a: LONG }, seed: 7 })));
  const text = readText((chat as ModelRequest).asked.body, CHAT_FIELDS);
  expect(text).not.toContain(LONG);
  expect(text.split("\n")).toEqual(
    expect.arrayContaining([
      "s",
      "t",
      "go",
      "r",
      expect.stringContaining("arguments"),
      expect.stringContaining("enum"),
    ]),
  );
});
