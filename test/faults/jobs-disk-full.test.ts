// Jobs on a disk that fills up while they launch and run: launches are refused, and once there is room every job ends.
import { spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { findJob } from "../../src/actions/jobs/job-record.ts";
import { systemClock } from "../../src/core/clock.ts";
import { LEDGER_UNIT, sqliteLedger } from "../../src/money/ledger/sqlite/ledger.ts";
import { RECORDS_UNIT, sqliteRecords } from "../../src/platform/records/sqlite-records.ts";
import { openSqliteThread } from "../../src/platform/storage/sqlite-thread.ts";
import { launchThroughKernel } from "../actions/jobs/kernel-launch.ts";
import { ACCOUNT, moneyOf, openJobs, stepping } from "../actions/jobs/stage.ts";
import { CENT, newAccount } from "../money/ledger/requests.ts";
import { eventually } from "../support/gateway.ts";
import { removeFolder } from "../support/remove-folder.ts";

const STEPS = 3;
const LANES = 8;
const RUNNING_FIRST = 100;
const REFUSED_MIN = 40;
/** The least number of times that the store must fail running jobs. */
const FAILED_MIN = 10;
const BALLAST_BYTES = 2 * 1024 * 1024;
const folder = mkdtempSync(join(tmpdir(), "tollgate-jobs-full-"));
const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=12m", "tmpfs", folder]).status === 0;
if (!mounted) console.log("skipped: a small file system cannot be mounted here (that takes root and CAP_SYS_ADMIN)");
afterAll(() => {
  if (mounted) spawnSync("umount", ["-l", folder]);
  removeFolder(folder);
});

const fatal: Error[] = [];
async function open() {
  const thread = await openSqliteThread({
    file: join(folder, "tollgate.db"),
    units: { ledger: LEDGER_UNIT, records: RECORDS_UNIT },
    sharing: "readers",
    clock: systemClock,
    disk: { freeBytesMin: 0, ballastBytes: BALLAST_BYTES },
    onFatal: (error) => fatal.push(error),
  });
  return { ledger: sqliteLedger(thread), records: sqliteRecords(thread), shared: false, close: () => thread.close() };
}

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
  "a full disk: launches are refused, and with room every job that was told of ends and is charged once",
  async () => {
    const stores = await open();
    await stores.ledger.openAccount(newAccount(ACCOUNT, 1_000_000));
    const kind = stepping(STEPS, () => sleep(Math.random() * 500));
    const broken: unknown[] = [];
    const { jobs } = openJobs(stores, "one", [kind], { broken });
    await jobs.start();

    const told: string[] = [];
    const refused: string[] = [];
    let hasRoom = false;
    const lane = async (number: number) => {
      for (let at = 0; !hasRoom; at++) {
        const { told: isTold, jobId, ended } = await launchThroughKernel(stores, jobs, `l${number}x${at}`, { broken });
        if (isTold) told.push(jobId);
        else refused.push(ended.error?.code ?? "nothing");
        if (!isTold) await sleep(20);
      }
    };
    const launching = Array.from({ length: LANES }, (_, number) => lane(number));
    await eventually(() => (told.length >= RUNNING_FIRST ? true : undefined), "the first launches");
    const filler = join(folder, "filler");
    const failedMin = broken.length + FAILED_MIN;
    await eventually(() => {
      // Repeatedly, because the ballast is released in the meantime.
      fill(filler);
      return refused.length >= REFUSED_MIN && broken.length >= failedMin ? true : undefined;
    }, "refusals, and jobs that cannot go on");
    const stuck = jobs.running();
    rmSync(filler);
    hasRoom = true;
    await Promise.all(launching);
    expect(new Set(refused)).toEqual(new Set(["ledger_unavailable"]));

    await eventually(() => (jobs.running() === 0 ? true : undefined), "all jobs to end");
    await jobs.stop();
    await stores.close();
    const again = await open();
    const next = openJobs(again, "two", [kind], { broken });
    await next.jobs.start();
    await next.jobs.adopt();
    await eventually(() => (next.jobs.running() === 0 ? true : undefined), "what is left to end");
    let charged = 0;
    for (const id of told) {
      const job = (await findJob(again.records, id))?.job;
      const posting = await again.ledger.transaction(ACCOUNT, id.replace(/^job_/, "tx_"));
      expect([id, job?.state, (posting?.amountNano ?? 0) / CENT]).toEqual([id, "succeeded", STEPS]);
      charged += STEPS;
    }
    console.log(
      `${told.length} launches told of, ${refused.length} refused, ${stuck} ran when there was room again, ` +
        `${broken.length} failures of the store seen`,
    );
    expect(await moneyOf(again)).toEqual({ spent: charged, held: 0 });
    expect((await again.ledger.doctor({ file: true })).findings).toEqual([]);
    await next.jobs.stop();
    await again.close();
    expect(fatal).toEqual([]);
  },
);
