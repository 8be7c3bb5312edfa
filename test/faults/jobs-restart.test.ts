// Ten thousand jobs of a dead process, and one process that finds them when it starts.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { openStores } from "../../src/gateway/stores.ts";
import { readConfig } from "../../src/platform/config.ts";
import { ACCOUNT, moneyOf, openJobs, stepping } from "../actions/jobs/stage.ts";
import { newAccount } from "../money/ledger/requests.ts";
import { eventually } from "../support/gateway.ts";
import { removeFolder } from "../support/remove-folder.ts";

const JOBS = 10_000;
const AT_ONCE = 100;
const ADOPTED_MS_MAX = 10_000;
const ENDED_MS_MAX = 300_000;
const forever = () => new Promise<never>(() => {});

it("ten thousand kept holds at a restart are adopted within ten seconds, and each ends once", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-jobs-restart-"));
  const open = () =>
    openStores(readConfig({ DATA_DIR: folder }), {
      onFatal(error) {
        throw error;
      },
    });
  onTestFinished(() => removeFolder(folder));
  const before = await open();
  await before.ledger.openAccount(newAccount(ACCOUNT, 10 * JOBS));
  const first = openJobs(before, "first", [stepping(1, forever)]);
  await first.jobs.start();
  for (let at = 0; at < JOBS; at += AT_ONCE)
    await Promise.all(Array.from({ length: AT_ONCE }, (_, more) => first.launch(`n${at + more}`)));
  expect(await moneyOf(before)).toEqual({ spent: 0, held: 10 * JOBS });
  await first.jobs.stop();
  await before.close();

  const startedMs = performance.now();
  const after = await open();
  const openedMs = performance.now() - startedMs;
  const { promise: going, resolve: go } = Promise.withResolvers<void>();
  const broken: unknown[] = [];
  const second = openJobs(after, "second", [stepping(1, () => going)], { broken });
  await second.jobs.start();
  await second.jobs.adopt();
  const adoptedMs = performance.now() - startedMs;
  expect(second.jobs.running()).toBe(JOBS);
  expect((await moneyOf(after)).held).toBe(10 * JOBS);
  go();
  await eventually(() => (second.jobs.running() === 0 ? true : undefined), "their ends", ENDED_MS_MAX);
  const endedMs = performance.now() - startedMs;
  console.log(
    `${JOBS} kept holds: store open after ${Math.round(openedMs)} ms, all adopted after ${Math.round(adoptedMs)} ms, ` +
      `all ended after ${Math.round(endedMs)} ms`,
  );
  expect(await moneyOf(after)).toEqual({ spent: JOBS, held: 0 });
  expect((await after.ledger.doctor()).findings).toEqual([]);
  expect(broken).toEqual([]);
  await second.jobs.stop();
  await after.close();
  expect(adoptedMs).toBeLessThan(ADOPTED_MS_MAX);
});
