import fc from "fast-check";
import { expect, test } from "vitest";
import { isPlainChat } from "../../../src/models/formats/chat-completions/plain-body.ts";
import { chatBody } from "../../../src/models/formats/chat-completions/read-body.ts";
import { runs } from "../../support/runs.ts";

const call = { id: "call_1", type: "function", function: { name: "look", arguments: "{}" } };
const AGENT = {
  ...{ model: "core/cheap", stream: true, stream_options: { include_usage: true }, max_tokens: 20, n: 1 },
  ...{ max_completion_tokens: null, temperature: 0.2, top_p: 1, frequency_penalty: 0, presence_penalty: 0, seed: 7 },
  ...{ stop: "end", parallel_tool_calls: false, user: "u" },
  messages: [
    { role: "system", content: "Be brief.", name: "boss" },
    { role: "user", content: [{ type: "text", text: "Look." }] },
    { role: "assistant", content: null, tool_calls: [call] },
    { role: "tool", tool_call_id: "call_1", content: "A lighthouse." },
  ],
  tools: [{ type: "function", function: { name: "look", parameters: { type: "object" } } }],
};

test("what clients and agents send is plain", () => {
  expect(isPlainChat(AGENT)).toBe(true);
  expect(isPlainChat({ model: "m", messages: [{ role: "user", content: "hello" }] })).toBe(true);
});

test("what is not so plain is left to the schema", () => {
  const image = [{ type: "image_url", image_url: { url: "https://example.com/a.png" } }];
  for (const more of [{ models: ["a"] }, { metadata: { a: "b" } }, { messages: [{ role: "user", content: image }] }]) {
    expect(chatBody.safeParse({ ...AGENT, ...more }).success).toBe(true);
    expect(isPlainChat({ ...AGENT, ...more })).toBe(false);
  }
});

/** Every place in a body, as a path of fields and positions. */
function pathsIn(value: unknown, at: readonly string[] = []): readonly (readonly string[])[] {
  const inner = typeof value === "object" && value !== null ? Object.entries(value) : [];
  return [at, ...inner.flatMap(([name, one]) => pathsIn(one, [...at, name]))];
}

function withValue(value: unknown, [name, ...rest]: readonly string[], put: unknown): unknown {
  if (name === undefined) return put;
  if (Array.isArray(value)) return value.map((one, at) => (String(at) === name ? withValue(one, rest, put) : one));
  const object = value as Record<string, unknown>;
  return { ...object, [name]: withValue(object[name], rest, put) };
}

const FIELDS = Object.keys(chatBody.shape).map((field) => [field]);
const OF_MESSAGES = ["role", "content", "tool_calls", "tool_call_id", "name", "cache_control"];
const PLACES = [...pathsIn(AGENT).slice(1), ...FIELDS, ...OF_MESSAGES.map((field) => ["messages", "0", field])];
const anything = fc.oneof(
  fc.constantFrom<unknown[]>(null, undefined, "", "x", "x".repeat(201), "system", true, false, [], {}, [[]], [null]),
  fc.constantFrom<unknown[]>(0, 1, -1, 2, 3, 9, 1.5, -0, 1e7, 1e7 + 1, 2 ** 53, 1e308, Number.POSITIVE_INFINITY),
  fc.constantFrom<unknown[]>(
    [{ type: "text" }],
    [{ type: 1 }],
    { name: "f" },
    { name: 1 },
    { ttl: "1h" },
    { ttl: "5m" },
  ),
  fc.jsonValue({ maxDepth: 2 }),
);

test("no body is plain that the schema would refuse, whatever stands wherever in it", () => {
  const change = fc.tuple(fc.constantFrom(...PLACES), anything);
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 2 }), (changes) => {
      let body: unknown = AGENT;
      for (const [path, put] of changes) {
        try {
          body = withValue(body, path, put);
        } catch {
          // The first change has taken away what the second would change.
        }
      }
      if (isPlainChat(body as Record<string, unknown>)) expect(chatBody.safeParse(body).error).toBeUndefined();
    }),
    { numRuns: runs(800, 4_000) },
  );
});
