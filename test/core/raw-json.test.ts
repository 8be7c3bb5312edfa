// The text of arguments survives parsing and writing, and is never another's.
import { expect, it } from "vitest";
import { jsonText, parseRaw } from "../../src/core/raw-json.ts";

it.each([
  ['{"input":{"a":9007199254740993}}', '{"input":{"a":9007199254740993}}'],
  ['{"input":{"a":1},"input":{"a":2.0}}', '{"input":{"a":2.0}}'],
  ['{"x":{"input":{"a":1}},"x":{"input":{"a":2.0}}}', '{"x":{"input":{"a":2.0}}}'],
  ['{"input":{"a":1.0},"input":"text"}', '{"input":"text"}'],
  ['{"input":{"a":1.0},"input":[{"a":2}]}', '{"input":[{"a":2}]}'],
])("of duplicate keys the last counts: %s", (text, written) => {
  expect(jsonText(parseRaw(text))).toBe(written);
});
