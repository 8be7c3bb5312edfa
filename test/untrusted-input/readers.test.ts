// Every parser declares its input: it is measured, or it has a reason not to be.
import { existsSync } from "node:fs";
import { expect, it } from "vitest";
import { NOT_STRANGERS } from "./not-strangers.ts";
import { PARSERS } from "./parsers.ts";
import { readersIn } from "./readers.ts";
import { sourcesBelow } from "./regexes.ts";

const readers = readersIn(sourcesBelow("src", "adapters"));
const measured = new Set(PARSERS.map(({ file }) => file));

it("every file that takes text apart is measured, or says why it need not be", () => {
  const missing = readers.filter((file) => !measured.has(file) && NOT_STRANGERS[file] === undefined);
  expect(missing.map((file) => `${file}: give it an entry in test/untrusted-input/parsers.ts`)).toEqual([]);
});

it("no file has both, or a reason that it needs no more", () => {
  const both = Object.keys(NOT_STRANGERS).filter((file) => measured.has(file));
  const gone = Object.keys(NOT_STRANGERS).filter((file) => !readers.includes(file));
  expect([...both, ...gone]).toEqual([]);
  expect([...measured].filter((file) => !existsSync(file))).toEqual([]);
});

it("a file of loops, decoders or parsing packages is seen, and one without is not", () => {
  expect(
    readersIn(["src/core/json-bytes.ts", "src/platform/uploads/spooled-upload.ts", "src/upstream/sse-scanner.ts"]),
  ).toHaveLength(3);
  expect(readersIn(["src/core/errors.ts", "src/core/plan.ts"])).toEqual([]);
});
