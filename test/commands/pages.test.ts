// The form of commands in README and docs, and that each page with commands has a test file here.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { blocksOf, isCode, isShell, PAGES, ROOT, reasonOf, runsOf } from "./blocks.ts";

const REASON_CHARS_MIN = 25;
/** How a shell line begins, to find commands outside of shell blocks. */
const COMMAND =
  /^(\$ )?([A-Z][A-Z0-9_]*=\S+ )*(npm|npx|node|curl|kill|docker|redis-cli|redis-server|kubectl|git|sudo|export|python3?) [\w\-./"'$<{]/;

/** The test file that runs a page's commands. */
const fileOf = (page: string) =>
  `${page
    .replace(/^docs\/(\w+\/)?|\.md$/g, "")
    .replace("/", "-")
    .toLowerCase()}.test.ts`;

test("each page with commands has a file that runs them", () => {
  const pages = PAGES.filter((page) => runsOf(page).length > 0);
  const files = readdirSync(import.meta.dirname).filter(
    (name) => name.endsWith(".test.ts") && name !== "pages.test.ts",
  );
  expect(files.toSorted()).toEqual(pages.map(fileOf).toSorted());
  for (const page of pages)
    expect(readFileSync(join(import.meta.dirname, fileOf(page)), "utf8")).toContain(`runCommandsOf("${page}");`);
});

test.each(PAGES)("commands of %s stand in blocks of shell, and those that are not run say why", (path) => {
  const page = readFileSync(join(ROOT, path), "utf8");
  const shell = blocksOf(path).filter(isShell);
  const outside = page.replace(/^```(\w*)\n[\s\S]*?\n```$/gm, "");
  expect(outside.split("\n").filter((line) => COMMAND.test(line.trim()))).toEqual([]);
  const others = blocksOf(path).filter((block) => !isShell(block) && !isCode(block));
  expect(others.filter(({ text }) => text.split("\n").some((line) => COMMAND.test(line)))).toEqual([]);
  const reasons = shell.map(reasonOf).filter((reason) => reason !== null);
  expect(reasons.filter((reason) => reason.length < REASON_CHARS_MIN)).toEqual([]);
  // If a reason names the test that runs the command, that test must exist.
  const tests = reasons.flatMap((reason) => reason.match(/test\/[\w/.-]+\.ts/g) ?? []);
  for (const file of tests) expect(readFileSync(join(ROOT, file), "utf8")).not.toBe("");
});

test("most commands are run", () => {
  const all = PAGES.flatMap((path) => blocksOf(path).filter(isShell));
  const run = all.filter((block) => reasonOf(block) === null);
  expect(run.length).toBeGreaterThan(12);
  expect(run.length).toBeGreaterThan(all.length * 0.4);
});
