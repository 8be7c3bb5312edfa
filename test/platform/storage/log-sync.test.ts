// Who syncs the log: the committing thread where syncs are quick, another thread where they are not.
import fs, { writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { LogSync } from "../../../src/platform/storage/log-sync.ts";
import { folderForTest } from "../../support/for-file.ts";
import { manualClock } from "../../support/manual-clock.ts";

let folder: string;
beforeEach(() => {
  folder = folderForTest("tollgate-log-sync-");
});

function openLog() {
  const file = join(folder, "log");
  writeFileSync(file, "rows");
  const clock = manualClock(0);
  const disk = { tookMs: 0, isBroken: false };
  const { fdatasyncSync } = fs;
  const syncing = vi.spyOn(fs, "fdatasyncSync").mockImplementation((descriptor) => {
    if (disk.isBroken) throw new Error("EIO");
    clock.advance(disk.tookMs);
    fdatasyncSync(descriptor);
  });
  syncBuiltinESMExports();
  const failed: string[] = [];
  let told = Promise.withResolvers<number>();
  const synced = (commit: number) => told.resolve(commit);
  const log = new LogSync(file, { synced, failed: ({ message }) => failed.push(message) }, clock);
  onTestFinished(() => {
    log.close();
    syncing.mockRestore();
    syncBuiltinESMExports();
  });
  /** Commits, and says who synced it. */
  const commit = async (): Promise<"own" | "other"> => {
    told = Promise.withResolvers();
    log.committed();
    if (log.pending === 0) return "own";
    await told.promise;
    return "other";
  };
  return { disk, log, commit, failed };
}

test("after some quick syncs the committing thread makes them, until one is slow", async () => {
  const { disk, commit } = openLog();
  expect([await commit(), await commit(), await commit(), await commit(), await commit()]).toEqual([
    ...["other", "other", "other", "other", "own"],
  ]);
  disk.tookMs = 5;
  expect(await commit()).toBe("own");
  expect(await commit()).toBe("other");
});

test("after a failed sync on the thread nothing is on disk", async () => {
  const { disk, log, commit, failed } = openLog();
  while ((await commit()) === "other");
  disk.isBroken = true;
  log.committed();
  expect(failed).toEqual(["EIO"]);
  expect(log.pending).toBeGreaterThan(0);
});
