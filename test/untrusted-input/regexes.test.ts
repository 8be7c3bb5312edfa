// The check finds all regular expressions, and recognises those that a text can make slow.
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { removeFolder } from "../support/remove-folder.ts";
import { regexesIn } from "./regexes.ts";

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "tollgate-regexes-"));
});

afterAll(() => removeFolder(folder));

function written(code: string) {
  const file = join(folder, "code.ts");
  writeFileSync(file, code);
  return regexesIn([file]);
}

describe("what is found", () => {
  it("is every regular expression that is written as such", () => {
    const { found } = written(
      "const a: string = x as string;\nconst one = /a+\\/b/giu, two = a.replace(/[/]c/, /d/.source);",
    );
    expect(found.map(({ line, source, flags }) => `${line} ${source} ${flags}`).sort()).toEqual([
      "2 [/]c ",
      "2 a+\\/b giu",
      "2 d ",
    ]);
  });

  it("is every one that is put together", () => {
    const { made } = written('const a = new RegExp(`^` + b);\nconst c = RegExp("x", "g");');
    expect(made.map(({ line, code }) => `${line} ${code}`).sort()).toEqual([
      "1 new RegExp(`^` + b)",
      '2 RegExp("x", "g")',
    ]);
  });

  it("is nothing that only looks like one", () => {
    expect(written('const a = b / c / d; // no /e+/\nconst f = "/g+/";')).toEqual({ found: [], made: [] });
  });
});

describe("the package that judges them", () => {
  it.each([
    ["(a+)+$", "vulnerable"],
    ["\\s*;\\s*q=", "vulnerable"],
    ["(?<!\\/)\\/+$", "safe"],
    ["<[^<>]*>", "safe"],
  ])("calls /%s/ %s", async (source, status) => {
    process.env.RECHECK_BACKEND = "pure";
    const { checkSync } = await import("recheck");
    // The checker limits its own time: on a busy machine a slow check would count as vulnerable, or get no verdict.
    const times = { incubationTimeout: 20_000, attackTimeout: 20_000, recallTimeout: 20_000 };
    const patient = { timeout: 120_000, ...(status === "safe" ? times : {}) };
    // It searches at random, and on Node 24 a search sometimes ends without a verdict.
    let verdict = "unknown";
    for (let n = 0; n < 5 && verdict === "unknown"; n++) verdict = checkSync(source, "", patient).status;
    expect(verdict).toBe(status);
  });
});
