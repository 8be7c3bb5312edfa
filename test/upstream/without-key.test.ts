// A vendor's error text, as others see it: it contains the key in no encoding, however long key and text are.
import { expect, it } from "vitest";
import { failureOfKind, readableFailure } from "../../src/upstream/vendor-failure.ts";

const KEY = "sk-a/b+c.0123456789";

function read(message: string, key = KEY): string {
  return readableFailure({ ...failureOfKind("caller_invalid", message), mayHaveRun: false }, key).message;
}

it.each([
  ["as it is", `no such key ${KEY}!`],
  ["in JSON", `no such key ${KEY.replaceAll("/", "\\/")}!`],
  ["in JSON within JSON", `no such key ${KEY.replaceAll("/", "\\\\\\/")}!`],
  ["in an address", `no such key ${encodeURIComponent(KEY)}!`],
  ["as user and password", `no such key ${Buffer.from(KEY).toString("base64")}!`],
])("a key %s is masked", (_, said) => {
  expect(read(said)).toBe("no such key [key]!");
});

it("each place of it is, and the backslashes of other words stay", () => {
  expect(read(`a\\b ${KEY} c\\d ${KEY}\\e`)).toBe("a\\b [key] c\\d [key]\\e");
});

it("a key of any length in a text of any length ends in no error", () => {
  const long = "k.".repeat(4_000);
  expect(read(`\\${long}`.repeat(20), long)).toContain("[key]");
});
