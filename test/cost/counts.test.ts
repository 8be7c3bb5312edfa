// Compares a call's cost with a recorded baseline, in counts that do not depend on other load on the machine.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CountedGateway, startCountedGateway } from "../../bench/counts/counted-gateway.ts";
import { type Counts, cheaper, dearer, KEEP, readKept, takeCounts, told } from "../../bench/counts/kept.ts";
import { Processes } from "../../bench/processes.ts";

const WASTEFUL = join(import.meta.dirname, "../fixtures/wasteful.ts");
/** Times four rounds: on a quiet machine one is enough. */
const TIMES_MAX = 12;

const kept = readKept();
const sameNode = kept.node === process.version && process.platform === "linux" && process.arch === "x64";

describe.skipIf(!sameNode)(
  `counts kept on ${kept.taken} with Node ${kept.node} on Linux, x64; elsewhere they are others`,
  () => {
    const processes = new Processes();
    let gateway: CountedGateway;
    let found: Counts;

    beforeAll(async () => {
      gateway = await startCountedGateway(processes, mkdtempSync(join(tmpdir(), "tollgate-counts-")), [
        "--import",
        WASTEFUL,
      ]);
      found = await takeCounts(gateway, TIMES_MAX, (counts) => dearer(kept.counts, counts).length === 0);
    });
    afterAll(() => processes.stopAll());

    test("no call, action or chunk has become dearer", () => {
      const gains = cheaper(kept.counts, found).map(told);
      if (gains.length > 0)
        console.log(`cheaper than what was kept; so that it stays so: ${KEEP}\n${gains.join("\n")}`);
      expect(dearer(kept.counts, found).map(told), `what is right now, is kept by: ${KEEP}`).toEqual([]);
    });

    test("5 KB more and one promise more are found, by their names", async () => {
      // In addition to the counts measured just before, which may be lower than the baseline.
      const before = await takeCounts(gateway, 2);
      process.kill(gateway.pid, "SIGURG");
      const wasted = await takeCounts(gateway, 1);
      const named = dearer(before, wasted).map(({ unit, measure }) => `${unit}: ${measure}`);
      expect(named).toEqual(
        expect.arrayContaining(["chat call: bytes", "chat call: promises", "action: bytes", "action: promises"]),
      );
    });
  },
);
