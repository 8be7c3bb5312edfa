import fc from "fast-check";
import { expect, test } from "vitest";
import { filledTemplate, learnTemplate, matchesTemplate } from "../../../src/upstream/format-kit/event-template.ts";
import { runs } from "../../support/runs.ts";

const came = (said: string) => Buffer.from(`{"id":"theirs","delta":{"content":"${said}"},"n":0}`);
const sent = (said: string, twice: boolean) =>
  Buffer.from(`data: {"id":"ours","delta":{"content":"${said}"${twice ? `,"reasoning":"${said}"` : ""}},"n":0}\n\n`);

function isJsonText(said: string): boolean {
  try {
    return typeof JSON.parse(`"${said}"`) === "string" && said !== "";
  } catch {
    return false;
  }
}

/** JSON punctuation, complete and broken escapes, and characters of one to four bytes. */
const piece = fc.constantFrom(
  ...'\\ " \\" \\\\ \\n \\u00e9 \\u00 \\x / \' { } : é 字 😀 a b'.split(" "),
  ..." \n\t\u0000\u007f\u2028",
  '"},"n":0}',
);
const pieces = fc.array(piece, { maxLength: 8 }).map((all) => all.join(""));

test.each([false, true])(
  "an event matches where its text is a text of JSON, and is sent on with it; twice: %s",
  (twice) => {
    const template = learnTemplate(came("word"), sent("word", twice));
    if (template === null) throw new Error("nothing was learnt");
    fc.assert(
      fc.property(pieces, (said) => {
        const around = Buffer.concat([Buffer.from("data: "), came(said), Buffer.from("\n\n")]);
        const [start, end] = [6, around.length - 2];
        expect(matchesTemplate(template, around, start, end)).toBe(isJsonText(said));
        if (!isJsonText(said)) return;
        const filled = filledTemplate(template, around, start + template.head.length, end - template.tail.length);
        expect(filled.toString()).toBe(sent(said, twice).toString());
      }),
      { numRuns: runs(400, 2_000) },
    );
  },
);

test("an event with another head or tail, or nothing but them, does not match", () => {
  const template = learnTemplate(came("word"), sent("word", false));
  if (template === null) throw new Error("nothing was learnt");
  for (const other of [
    '{"id":"theirs","delta":{"content":"a"},"n":1}',
    '{"id":"others","delta":{"content":"a"},"n":0}',
    "{}",
    "",
  ]) {
    const bytes = Buffer.from(other);
    expect(matchesTemplate(template, bytes, 0, bytes.length)).toBe(false);
  }
  expect(matchesTemplate(template, came(""), 0, came("").length)).toBe(false);
});

test("two texts in an event, or one that is sent otherwise, are no template", () => {
  expect(learnTemplate(Buffer.from('{"content":"a","reasoning":"b"}'), sent("a", false))).toBe(null);
  expect(learnTemplate(came("a"), sent("b", false))).toBe(null);
});
