// A folder of long calls, listed in a small heap.
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { folderForTest } from "../../support/for-file.ts";
import { onlyAProcessShows } from "../../support/process-fact.ts";

onlyAProcessShows("a heap of 40 MB");

const lineOf = (sealed: string) =>
  `${JSON.stringify({ at: new Date(0).toISOString(), transactionId: "tx_1", requestId: "req_1", accountId: "a", sealed })}\n`;

it("lists many long calls in little memory", () => {
  const long = folderForTest("tollgate-long-");
  for (const owner of ["a", "b", "c"])
    writeFileSync(join(long, `2026-01-01.${owner}.jsonl`), lineOf("x".repeat(400_000)).repeat(60));
  const listing = `import { LogFolder } from ${JSON.stringify(new URL("../../../src/platform/observe/log-folder.ts", import.meta.url))};
    const folder = new LogFolder({ folder: ${JSON.stringify(long)} });
    process.stdout.write(String((await folder.newest({ accountId: null, bytesMax: Infinity }, 1000)).length));`;
  const args = [
    "--max-old-space-size=40",
    "--disable-warning=ExperimentalWarning",
    "--input-type=module",
    "-e",
    listing,
  ];
  expect(execFileSync(process.execPath, args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] })).toBe("180");
});
