// Repeatedly kills a process that uses the ledger, and checks what it left behind.
import { spawn } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { systemClock } from "../../../../src/core/clock.ts";
import { sqliteLedger } from "../../../../src/money/ledger/sqlite/ledger.ts";
import { endWithTests } from "../../../support/end-with-tests.ts";
import type { FrailDisk } from "../../../support/frail-disk.ts";
import { removeFolder } from "../../../support/remove-folder.ts";
import { openLedgerThread } from "../store.ts";

export interface KillDisk {
  /** The disk of the killed processes. */
  readonly disk?: FrailDisk;
  /** What else happens to the ledger's folder while no process runs. */
  readonly afterKill?: (folder: string) => void;
}

/** A few commits of a slow disk. */
const KILL_MS_MAX = 20;
const CHILD = fileURLToPath(new URL("./kill-child.ts", import.meta.url));

/** Runs the child until it has printed `charges` charges, kills it at some moment shortly after, and returns all that it has printed. */
async function runAndKill(
  file: string,
  run: string,
  charges: number,
  environment: Readonly<Record<string, string>>,
): Promise<Map<string, number>> {
  const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", CHILD, file, run], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, ...environment },
  });
  endWithTests(child);
  const acked = new Map<string, number>();
  for await (const line of createInterface({ input: child.stdout })) {
    const [holdId = "", amount = ""] = line.split(" ");
    acked.set(holdId, Number(amount));
    if (acked.size === charges) setTimeout(() => child.kill("SIGKILL"), Math.random() * KILL_MS_MAX);
  }
  expect(acked.size).toBeGreaterThanOrEqual(charges);
  return acked;
}

/**
 * Each acknowledged charge must exist once and with its amount, the dead process's holds must be resolved, and the doctor must find
 * nothing. Returns the total number of acknowledged charges.
 */
export async function killLoop(kills: number, chargesMax: number, { disk, afterKill }: KillDisk = {}): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-kill-"));
  const file = join(folder, "tollgate.db");
  let acknowledged = 0;
  try {
    for (let kill = 0; kill < kills; kill++) {
      const acked = await runAndKill(
        file,
        `run-${kill}`,
        1 + Math.floor(Math.random() * chargesMax),
        disk?.environment ?? {},
      );
      afterKill?.(folder);
      acknowledged += acked.size;
      const ledger = sqliteLedger(await openLedgerThread(file, systemClock));
      while ((await ledger.sweep(1_000, "the checker")).length > 0);
      const rows = await Promise.all([...acked.keys()].map((holdId) => ledger.transaction(null, holdId)));
      const lost = [...acked].filter(([, amount], at) => rows[at]?.amountNano !== amount);
      expect(lost).toEqual([]);
      expect(await ledger.totals()).toMatchObject({ holdsOpen: 0, heldNano: 0 });
      expect((await ledger.doctor({ file: true })).findings).toEqual([]);
      await ledger.close();
    }
    return acknowledged;
  } finally {
    removeFolder(folder);
  }
}
