import { spawnSync } from "node:child_process";
import { closeSync, existsSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test, vi } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { LEDGER_UNIT, sqliteLedger } from "../../src/money/ledger/sqlite/ledger.ts";
import { keepLeases } from "../../src/money/ledger/sweep.ts";
import { openSqliteThread } from "../../src/platform/storage/sqlite-thread.ts";
import type { SqliteThread } from "../../src/platform/storage/thread-client.ts";
import { CENT, holdRequest, newAccount, postRequest } from "../money/ledger/requests.ts";
import { removeFolder } from "../support/remove-folder.ts";

const BALLAST_BYTES = 2 * 1024 * 1024;
const RUNNING = 2_000;
const HALF = RUNNING / 2;
const folder = mkdtempSync(join(tmpdir(), "tollgate-full-"));
const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=10m", "tmpfs", folder]).status === 0;
if (!mounted) console.log("skipped: a small file system cannot be mounted here (that takes root and CAP_SYS_ADMIN)");
afterAll(() => {
  if (mounted) spawnSync("umount", ["-l", folder]);
  removeFolder(folder);
});

const broken: Error[] = [];
const open = (): Promise<SqliteThread> =>
  openSqliteThread({
    file: join(folder, "tollgate.db"),
    units: { ledger: LEDGER_UNIT },
    sharing: "readers",
    clock: systemClock,
    disk: { freeBytesMin: 0, ballastBytes: BALLAST_BYTES },
    onFatal: (error) => broken.push(error),
  });

/** Fills the disk. */
function fill(path: string): void {
  const handle = openSync(path, "w");
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
  "a full disk: running calls end on the ballast, nothing acknowledged is lost, and room heals it",
  async () => {
    const ledger = sqliteLedger(await open());
    const [ballast, filler] = [join(folder, "ballast"), join(folder, "filler")];
    expect(existsSync(ballast)).toBe(true);
    const hold = (holdId: string, cents: number) => ({ accountId: "a", holdId, cents, nowMs: Date.now() });
    await ledger.openAccount(newAccount("a", 1_000_000));
    const running = Array.from({ length: RUNNING }, (_, at) => hold(`running-${at}`, 2));
    await Promise.all(running.map((hold) => ledger.reserve(holdRequest(hold))));
    const refused = [hold("refused", 3), hold("refused-with-a-row", 5)] as const;
    for (const [at, one] of refused.entries()) await ledger.reserve(holdRequest(one, { unwritten: at === 0 }));
    const decided = { unwritten: true, isNew: true };
    await ledger.reserve(holdRequest(hold("loads the account", 0), decided));
    fill(filler);

    const post = (hold: { accountId: string; holdId: string; cents: number }) =>
      ledger.post(postRequest({ ...hold, cents: 1 })).then(({ outcome }) => outcome);
    for (const hold of running.slice(0, HALF)) expect(await post(hold)).toBe("posted");
    expect(existsSync(ballast)).toBe(false);

    fill(`${filler}-2`);
    const acked: string[] = [];
    let refusal: unknown = null;
    for (const hold of running.slice(HALF)) {
      await post(hold).then(
        () => acked.push(hold.holdId),
        (error: unknown) => {
          refusal = error;
        },
      );
      if (refusal !== null) break;
    }
    expect(refusal).toMatchObject({ code: "ledger_unavailable" });
    const together = await Promise.allSettled(running.slice(-100).map(post));
    expect(together.every(({ status }) => status === "rejected")).toBe(true);

    // It is decided in this process, and reaches the storage thread in a batch that cannot be written.
    const admitted = () => ledger.reserve(holdRequest(hold("admitted", 1), decided)).catch(() => null);
    await vi.waitFor(async () => expect(await admitted()).toEqual({ outcome: "held" }), { timeout: 30_000 });
    await expect(post(hold("admitted", 1))).rejects.toMatchObject({ code: "ledger_unavailable" });

    const heldCents = async () => ((await ledger.account("a"))?.heldNano ?? 0) / CENT;
    const held = await heldCents();
    const leases = keepLeases({ ledger, clock: systemClock, owner: "p", leaseMs: 60_000, onBroken() {} });
    for (const one of refused) {
      await expect(post(one)).rejects.toMatchObject({ code: "ledger_unavailable" });
      leases.abandon(one);
    }
    await vi.waitFor(async () => expect(await heldCents()).toBe(held - 3), { timeout: 30_000 });

    rmSync(filler);
    rmSync(`${filler}-2`);
    await vi.waitFor(async () => expect(await heldCents()).toBe(held - 8), { timeout: 30_000 });
    await leases.stop();
    for (const one of refused) expect(await post(one)).toMatch(/missing|expired/);
    for (const one of [...running, hold("admitted", 1)]) expect(await post(one)).toBe("posted");
    await ledger.close();
    const again = sqliteLedger(await open());
    for (const holdId of acked) expect(await again.transaction("a", holdId)).not.toBeNull();
    expect(await again.account("a")).toMatchObject({ spentNano: (RUNNING + 1) * CENT, heldNano: 0 });
    expect((await again.doctor({ file: true })).findings).toEqual([]);
    await again.close();
    expect(broken).toEqual([]);
  },
);
