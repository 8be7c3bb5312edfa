import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { sqliteLedger } from "../../src/ledger/sqlite-ledger.ts";
import { openLedgerThread } from "../ledger/store.ts";

const CHILD = fileURLToPath(new URL("../ledger/kill-child.ts", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "tollgate-io-"));
afterAll(() => rmSync(folder, { recursive: true }));

const possible = spawnSync("prlimit", ["--version"]).status === 0;
if (!possible) console.log("skipped: there is no prlimit here to make writes fail with");

test.skipIf(!possible)("after a failed write the store gives up, and what was acknowledged is there", async () => {
  const file = join(folder, "tollgate.db");
  const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", CHILD, file, "run"], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  let said = "";
  child.stderr.on("data", (text) => {
    said += text;
  });
  const acked: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    acked.push(line.split(" ")[0] ?? "");
    // A write beyond this size fails from now on, which SQLite cannot tell from a broken disk.
    if (acked.length === 200) spawnSync("prlimit", ["--pid", String(child.pid), "--fsize=65536"]);
  }
  expect(await ended).toBe(1);
  expect(said).toMatch(/the store broke:.*disk I\/O error/s);

  const ledger = sqliteLedger(await openLedgerThread(file, systemClock));
  for (const holdId of acked) expect(await ledger.transaction(null, holdId)).not.toBeNull();
  expect((await ledger.doctor({ file: true })).findings).toEqual([]);
  await ledger.close();
});
