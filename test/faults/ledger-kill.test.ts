// A process that uses a file ledger is killed repeatedly: on a fast disk, on slow ones, and with power loss.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { killLoop } from "../money/ledger/sqlite/kill-loop.ts";
import { INSTALLED_MS_MAX } from "../support/apt-install.ts";
import { folderForTest } from "../support/for-file.ts";
import { type FrailDisk, frailDisk } from "../support/frail-disk.ts";

async function diskOf(syncMs: number, loses = false): Promise<FrailDisk> {
  const disk = await frailDisk(syncMs, loses);
  onTestFinished(disk.dispose);
  return disk;
}

beforeAll(async () => {
  (await frailDisk(0)).dispose();
}, INSTALLED_MS_MAX);

test("a process killed 40 times under load loses no acknowledged charge and leaves no hold", async () => {
  let acknowledged = 0;
  // Each kill checks all books: with one ledger for all forty runs, that took most of the time.
  for (let ledgers = 0; ledgers < 4; ledgers++) acknowledged += await killLoop(10, 8_000);
  console.log(`${acknowledged} acknowledged charges, none lost`);
  expect(acknowledged).toBeGreaterThan(40);
});

test.each([
  { syncMs: 2, kills: 10, chargesMax: 2_000 },
  { syncMs: 400, kills: 4, chargesMax: 200 },
])("syncs that take $syncMs ms longer: no acknowledged charge is lost", async ({ syncMs, kills, chargesMax }) => {
  const acknowledged = await killLoop(kills, chargesMax, { disk: await diskOf(syncMs) });
  console.log(`${acknowledged} acknowledged charges, none lost`);
  expect(acknowledged).toBeGreaterThan(kills);
});

test("the machine loses its power: what was not synced is gone, and no acknowledged charge is among it", async () => {
  const disk = await diskOf(2, true);
  let writes = 0;
  const afterKill = (folder: string) => {
    // Some unsynced writes may have reached the disk all the same.
    writes += disk.losePower(folder, Math.random() < 0.5 ? 1 : Math.random());
  };
  let acknowledged = 0;
  for (let ledgers = 0; ledgers < 2; ledgers++) acknowledged += await killLoop(10, 5_000, { disk, afterKill });
  console.log(`${acknowledged} acknowledged charges, none lost; ${writes} writes were`);
  expect(writes).toBeGreaterThan(0);
});

test("the disk that these tests use does lose what was not synced, and nothing else", async () => {
  const disk = await diskOf(0, true);
  const folder = folderForTest("tollgate-frail-");
  const file = join(folder, "some.db");
  const program = `
    const fs = require("node:fs");
    const file = fs.openSync(${JSON.stringify(file)}, "w+");
    fs.writeSync(file, "synced and kept");
    fs.fdatasyncSync(file);
    fs.writeSync(file, "gone", 0);
    fs.writeSync(file, " and this too", 15);
    fs.ftruncateSync(file, 3);
    process.kill(process.pid, "SIGKILL");`;
  spawnSync(process.execPath, ["-e", program], { env: { ...process.env, ...disk.environment } });
  expect(readFileSync(file, "utf8")).toBe("gon");
  expect(disk.losePower(folder)).toBe(3);
  expect(readFileSync(file, "utf8")).toBe("synced and kept");
  expect(existsSync(`${file}.undo`)).toBe(false);
});
