// The raw text of arguments survives parsing and serialization, and is never mixed up.
import { expect, it } from "vitest";
import { jsonText, parseRaw } from "../../src/core/raw-json.ts";

it("an edited copy has the texts of the arguments that it did not touch", () => {
  const [first, second] = ['{"id":9007199254740993,"b":1.0}', '{"id":9007199254740993,"b":2}'];
  const original = parseRaw(`[{"input":${first}},{"input":${second}}]`);
  const edited = parseRaw(JSON.stringify(original).replace('"b":2', '"b":3'));
  expect(jsonText(edited, original)).toBe(`[{"input":${first}},{"input":{"id":9007199254740992,"b":3}}]`);
});

it.each([
  ['{"input":{"a":9007199254740993}}', '{"input":{"a":9007199254740993}}'],
  ['{"input":{"a":1},"input":{"a":2.0}}', '{"input":{"a":2.0}}'],
  ['{"x":{"input":{"a":1}},"x":{"input":{"a":2.0}}}', '{"x":{"input":{"a":2.0}}}'],
  ['{"input":{"a":1.0},"input":"text"}', '{"input":"text"}'],
  ['{"input":{"a":1.0},"input":[{"a":2}]}', '{"input":[{"a":2}]}'],
])("of duplicate keys the last counts: %s", (text, written) => {
  expect(jsonText(parseRaw(text))).toBe(written);
});
