// The spool's entries do not age when the clock is changed.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { KEEP_MS, openSpool } from "../../../../src/money/ledger/spool/file.ts";
import { manualClock } from "../../../support/manual-clock.ts";
import { removeFolder } from "../../../support/remove-folder.ts";
import { postRequest } from "../requests.ts";
import { NO_BOUNDS, START_MS } from "../store.ts";

const HOUR_MS = 3_600_000;

async function openedSpool() {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-spool-clock-"));
  const clock = manualClock(START_MS);
  const onFatal = (error: Error) => {
    throw error;
  };
  const spool = await openSpool({ file: join(folder, "spool.db"), clock, disk: NO_BOUNDS, onFatal });
  onTestFinished(async () => {
    await spool.close();
    removeFolder(folder);
  });
  async function answer(holdId: string): Promise<void> {
    const request = postRequest({ accountId: "ada", holdId, cents: 1 });
    const stored = await spool.append({ op: "post", request, origin: null });
    spool.end(stored, "posted");
    await spool.flush();
  }
  async function remembered(): Promise<string[]> {
    const ids: string[] = [];
    for await (const page of spool.pages({ endedWithinMs: KEEP_MS }))
      for (const { intent } of page) if (intent.op === "post") ids.push(intent.request.holdId);
    return ids;
  }
  return { clock, answer, remembered };
}

for (const [direction, leapMs] of [
  ["forward", HOUR_MS],
  ["back", -HOUR_MS],
] as const) {
  it(`keeps and repeats what was answered lately, though the clock is set ${direction}`, async () => {
    const { clock, answer, remembered } = await openedSpool();
    await answer("before");
    clock.setEpochMs(START_MS + leapMs);
    await answer("after");
    expect(await remembered()).toEqual(["before", "after"]);
    clock.advance(KEEP_MS + 1);
    await answer("late");
    expect(await remembered()).toEqual(["late"]);
  });
}
