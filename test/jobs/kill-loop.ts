// Kills a process that launches and runs jobs, again and again, and looks at what has become of every launch it acknowledged.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { readConfig } from "../../src/config.ts";
import { findJob } from "../../src/jobs/job-record.ts";
import { openStores } from "../../src/stores.ts";
import { endWithTests } from "../support/end-with-tests.ts";
import { ACCOUNT, moneyOf } from "./stage.ts";

const CHILD = fileURLToPath(new URL("./kill-child.ts", import.meta.url));
const STEPS = 3;
const KILL_MS_MAX = 50;

function start(folder: string, words: readonly string[]) {
  const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", CHILD, folder, ...words], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  endWithTests(child);
  return child;
}

/** Each launch that was told of has ended, was charged once and in full, and nothing is held. Answers how many there were. */
export async function killLoop(kills: number, launches: number, redisUrl = ""): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-jobs-kill-"));
  const acked: string[] = [];
  try {
    for (let kill = 0; kill < kills; kill++) {
      const child = start(folder, [`k${kill}`, "launch", redisUrl]);
      let told = 0;
      for await (const id of createInterface({ input: child.stdout })) {
        acked.push(id);
        if (++told === launches) setTimeout(() => child.kill("SIGKILL"), Math.random() * KILL_MS_MAX);
      }
    }
    const last = start(folder, ["last", "finish", redisUrl]);
    expect(await once(last, "exit")).toEqual([0, null]);
    const environment = { DATA_DIR: folder, ...(redisUrl === "" ? {} : { REDIS_URL: redisUrl }) };
    const stores = await openStores(readConfig(environment), {
      onFatal(error) {
        throw error;
      },
    });
    try {
      const jobs = await Promise.all(acked.map((id) => findJob(stores.records, id)));
      const told = jobs.map((stored) => [stored?.job.state, stored?.job.chargedCents, stored?.job.progress]);
      expect(told.filter((one) => JSON.stringify(one) !== JSON.stringify(["succeeded", STEPS, STEPS]))).toEqual([]);
      const { spent, held } = await moneyOf(stores);
      // What was launched and never acknowledged has ended as well, one way or the other.
      expect([held, spent % STEPS]).toEqual([0, 0]);
      expect(spent).toBeGreaterThanOrEqual(acked.length * STEPS);
      expect(spent - acked.length * STEPS).toBeLessThanOrEqual(kills * 4 * STEPS);
      expect((await stores.ledger.doctor()).findings).toEqual([]);
      expect((await stores.ledger.account(ACCOUNT))?.heldNano).toBe(0);
    } finally {
      await stores.close();
    }
    return acked.length;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
