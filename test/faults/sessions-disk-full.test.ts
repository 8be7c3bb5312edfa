// Sessions on a disk that fills up while they run, and one that closes meanwhile: once there is room, each continues or has ended, every
// minute is charged once, and no machine is left behind.
import { spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { MINUTE_MS, moneyOf, sessionStage } from "../actions/sessions/stage.ts";
import { removeFolder } from "../support/remove-folder.ts";

const BALLAST_BYTES = 1024 * 1024;
const folder = mkdtempSync(join(tmpdir(), "tollgate-sessions-full-"));
const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=8m", "tmpfs", folder]).status === 0;
if (!mounted) console.log("skipped: a small file system cannot be mounted here (that takes root and CAP_SYS_ADMIN)");
afterAll(() => {
  if (mounted) spawnSync("umount", ["-l", folder]);
  removeFolder(folder);
});

/** Fills the disk. */
function fill(path: string): void {
  const handle = openSync(path, "a");
  const block = Buffer.alloc(4096, 1);
  try {
    for (;;) writeSync(handle, block);
  } catch (error) {
    if ((error as { code?: string }).code !== "ENOSPC") throw error;
  } finally {
    closeSync(handle);
  }
}

test.skipIf(!mounted)(
  "a full disk while sessions run: no new one begins, none is lost, every minute is paid once",
  async () => {
    const bounds = { freeBytesMin: 512 * 1024, ballastBytes: BALLAST_BYTES };
    const stage = await sessionStage({}, undefined, { folder, bounds });
    const process = await stage.process();
    const payer = await stage.account("ada", 10_000);
    const ids: string[] = [];
    for (let at = 0; at < 3; at++) {
      const id = await process.create({}, null, payer);
      if (typeof id !== "string") throw id;
      ids.push(id);
    }
    const [first = "", second = "", third = ""] = ids;
    await stage.minutes(55);
    /** Lets minutes pass while the store may fail some renewals: a failed one is retried a second later. */
    const pass = async (count: number, isFull: boolean) => {
      for (let minute = 0; minute < count; minute++) {
        stage.clock.advance(MINUTE_MS);
        if (isFull) fill(filler);
        await Promise.race([stage.minutes(1, 0).catch(() => {}), sleep(1_200)]);
      }
    };
    const filler = join(folder, "filler");
    fill(filler);
    await expect(process.create({}, null, payer)).rejects.toThrow();
    // Beyond the hour, when one hold follows another.
    await pass(8, true);
    const closed = await process.call("close", { session_id: first }, payer).catch((error: unknown) => error);
    await pass(4, true);
    rmSync(filler);
    await pass(3, false);
    await stage.minutes(10);
    if (closed instanceof Error) await process.call("close", { session_id: first }, payer);
    await process.call("close", { session_id: second }, payer);
    await process.call("close", { session_id: third }, payer);
    const minutes: number[] = [];
    for (const id of ids) {
      const job = await stage.over(process, id, payer);
      const result = job.end?.result as { minutes: number };
      expect(job.chargedCents).toBe(result.minutes);
      minutes.push(result.minutes);
    }
    const sum = minutes.reduce((all, one) => all + one, 0);
    expect(await moneyOf(stage, payer)).toEqual({ spent: sum, held: 0 });
    expect(minutes.slice(1)).toEqual([80, 80]);
    expect(minutes[0]).toBeGreaterThanOrEqual(63);
    expect(stage.vendor.boxes.size).toBe(0);
    expect((await stage.ledger.doctor()).findings).toEqual([]);
    await stage.dispose();
  },
  120_000,
);
