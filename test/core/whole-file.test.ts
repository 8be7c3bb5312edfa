// What remains of a file whose writing process was killed.
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { writeWhole } from "../../src/core/whole-file.ts";
import { folderForTest } from "../support/for-file.ts";
import { onlyAProcessShows } from "../support/process-fact.ts";

onlyAProcessShows("a killed writer of a file");

const MODULE = new URL("../../src/core/whole-file.ts", import.meta.url);

function temporary(): string {
  const folder = folderForTest("tollgate-whole-");
  return folder;
}

const fill = (text: string) => async (part: string) => writeFileSync(part, text);

test("a file whose writer is killed half way is not there under its name, and the next writer is not in its way", async () => {
  const folder = temporary();
  const path = join(folder, "copy");
  const script = `
    import { writeWhole } from ${JSON.stringify(MODULE.href)};
    import { writeFileSync } from "node:fs";
    await writeWhole(${JSON.stringify(path)}, async (part) => {
      writeFileSync(part, "half of a long copy");
      process.kill(process.pid, "SIGKILL");
      await new Promise(() => {});
    });`;
  const words = ["--disable-warning=ExperimentalWarning", "--input-type=module", "--eval", script];
  expect(spawnSync(process.execPath, words, { encoding: "utf8" })).toMatchObject({ signal: "SIGKILL", stderr: "" });
  expect(readdirSync(folder)).toEqual(["copy.part"]);
  await writeWhole(path, fill("whole"));
  expect(readdirSync(folder)).toEqual(["copy"]);
  expect(readFileSync(path, "utf8")).toBe("whole");
});

test("nothing is overwritten, and nothing is left of what failed", async () => {
  const folder = temporary();
  const path = join(folder, "copy");
  const fails = async (part: string) => {
    writeFileSync(part, "half");
    throw new Error("no more room");
  };
  await expect(writeWhole(path, fails)).rejects.toThrow("no more room");
  expect(readdirSync(folder)).toEqual([]);
  await writeWhole(path, fill("first"));
  await expect(writeWhole(path, fill("second"))).rejects.toThrow(`${path} is there already`);
  expect(readFileSync(path, "utf8")).toBe("first");
});
