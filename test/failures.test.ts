// The table of failures promises a test for each row: checks that every named test exists, under its title.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "..");
const ROW = /^\| (?!Failure \|)(.+) \|$/;
const NAMED = /^\[(test\/[\w./-]+\.ts)\]\([^)]+\): "(.+)"$/;

interface Row {
  readonly failure: string;
  readonly tests: readonly string[];
}

const PAGE = readFileSync(join(ROOT, "docs/internals/failures.md"), "utf8").split("\n");
const rows: Row[] = PAGE.flatMap((line) => {
  const [failure, , tests, ...more] = ROW.exec(line)?.[1]?.split(" | ") ?? [];
  return failure === undefined || tests === undefined || more.length > 0
    ? []
    : [{ failure, tests: tests.split("<br>") }];
});

/** Whether a file has a test with exactly this title that runs. */
function has(file: string, title: string): boolean {
  const escaped = title.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const text = readFileSync(join(ROOT, file), "utf8");
  const call = String.raw`\b(?:it|test)(\.[\w.]+(?:\([^;]*?\))?)?\(\s*`;
  const found = new RegExp(`${call}["'\`]${escaped}["'\`]`).exec(text);
  return found !== null && !/^\.(?:skip|todo)\b/.test(found[1] ?? "");
}

/** A suite that is not itself a test file runs where a test file imports it. */
function runs(file: string): boolean {
  return (
    file.endsWith(".test.ts") ||
    ["test/money/ledger/contract/ledger.ts", "test/actions/jobs/jobs-contract.ts"].includes(file)
  );
}

test.each(rows)("$failure: its tests are there", ({ tests }) => {
  expect(tests.length).toBeGreaterThan(0);
  for (const named of tests) {
    const [, file = "", title = ""] = NAMED.exec(named) ?? [];
    expect(file, `${named} is no file and title`).not.toBe("");
    expect(existsSync(join(ROOT, file)) && runs(file), `${file} is no test`).toBe(true);
    expect(has(file, title), `${file} has no test "${title}"`).toBe(true);
  }
});

test("the table was read whole", () => {
  const lines = PAGE.filter((line) => line.startsWith("| ") && !line.startsWith("| Failure |"));
  expect(rows).toHaveLength(lines.length);
  expect(rows.length).toBeGreaterThan(20);
});
