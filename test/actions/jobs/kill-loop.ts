// Repeatedly kills a process that launches and runs jobs, and checks the outcome of every launch it acknowledged.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { findJob } from "../../../src/actions/jobs/job-record.ts";
import { openStores } from "../../../src/gateway/stores.ts";
import { readConfig } from "../../../src/platform/config.ts";
import { endWithTests } from "../../support/end-with-tests.ts";
import { removeFolder } from "../../support/remove-folder.ts";
import { ACCOUNT, moneyOf } from "./stage.ts";

const CHILD = fileURLToPath(new URL("./kill-child.ts", import.meta.url));
/** The most expensive job (composites/deep-stage.ts). */
const CENTS_MAX = 24;
/** A child's number of concurrent launches (kill-child.ts). */
const LANES = 4;
const KILL_MS_MAX = 50;

function start(folder: string, words: readonly string[]) {
  const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", CHILD, folder, ...words], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  endWithTests(child);
  return child;
}

/**
 * Expects each reported launch to have ended, charged once and in full, with nothing held. Returns their number. `parted`: one process
 * launches, another runs, and both are killed.
 */
export async function killLoop(kills: number, launches: number, redisUrl = "", parted = false): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-jobs-kill-"));
  const acked: { readonly id: string; readonly cents: number }[] = [];
  try {
    for (let kill = 0; kill < kills; kill++) {
      const child = start(folder, [`k${kill}`, parted ? "serve" : "launch", redisUrl]);
      const work = parted ? start(folder, [`w${kill}`, "work", redisUrl]) : null;
      const workEnds = work === null ? null : once(work, "exit");
      let told = 0;
      for await (const line of createInterface({ input: child.stdout })) {
        const [id = "", cents] = line.split(" ");
        acked.push({ id, cents: Number(cents) });
        if (++told !== launches) continue;
        for (const one of [child, work]) setTimeout(() => one?.kill("SIGKILL"), Math.random() * KILL_MS_MAX);
      }
      await workEnds;
    }
    const last = start(folder, ["last", "finish", redisUrl]);
    expect(await once(last, "exit")).toEqual([0, null]);
    const environment = {
      DATA_DIR: folder,
      ...(redisUrl === "" ? {} : { REDIS_URL: redisUrl, ARCHIVE_URL: `file://${folder}/archive.db` }),
    };
    const stores = await openStores(readConfig(environment), {
      onFatal(error) {
        throw error;
      },
    });
    try {
      const jobs = await Promise.all(acked.map(({ id }) => findJob(stores.records, id)));
      const told = jobs.map((stored, at) => [acked[at]?.id, stored?.job.state, stored?.job.chargedCents]);
      expect(told).toEqual(acked.map(({ id, cents }) => [id, "succeeded", cents]));
      const { spent, held } = await moneyOf(stores);
      // Unacknowledged launches have ended too, one way or the other.
      const charged = acked.reduce((sum, { cents }) => sum + cents, 0);
      expect(held).toBe(0);
      expect(spent).toBeGreaterThanOrEqual(charged);
      expect(spent - charged).toBeLessThanOrEqual(kills * LANES * CENTS_MAX);
      expect((await stores.ledger.doctor()).findings).toEqual([]);
      expect((await stores.ledger.account(ACCOUNT))?.heldNano).toBe(0);
    } finally {
      await stores.close();
    }
    return acked.length;
  } finally {
    removeFolder(folder);
  }
}
