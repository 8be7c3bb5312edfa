// The stores that `growth` compares: one with many accounts and their past, and one with the callers alone. Kept for the next run.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { systemClock } from "../src/core/clock.ts";
import { LEDGER_UNIT } from "../src/money/ledger/sqlite/ledger.ts";
import { openSqliteThread } from "../src/platform/storage/sqlite-thread.ts";
import { removeFolder } from "../test/support/remove-folder.ts";
import { DAY_MS, FILLED_DAYS, type Fill, type Filled, fillLedger } from "./fill-ledger.ts";

const ACCOUNTS = 10_000_000;
const POSTINGS = 100_000_000;
/** Accounts whose keys the callers know. */
const KNOWN = 20_000;

const ROOT = fileURLToPath(new URL(".work/growth", import.meta.url));

export interface GrowthStore extends Filled {
  /** A gateway started in this folder finds the store in its `data`. */
  readonly folder: string;
}

async function ensure(folder: string, fill: Fill, say: (line: string) => void): Promise<GrowthStore> {
  const data = join(folder, "data");
  const names = join(folder, "filled.json");
  if (!existsSync(names)) {
    removeFolder(folder);
    mkdirSync(data, { recursive: true });
    const fromMs = systemClock.elapsedMs();
    const took = () => `${((systemClock.elapsedMs() - fromMs) / 1_000).toFixed(0)} s`;
    const file = join(data, "tollgate.db");
    const filled = fillLedger(file, fill, (line) => say(`  ${took()}: ${line}`));
    const units = { ledger: LEDGER_UNIT };
    const onFatal = (error: Error) => say(String(error));
    const thread = await openSqliteThread({ file, units, sharing: "readers", clock: systemClock, onFatal });
    await thread.close();
    say(`  ${took()}: the first start has made the daily sums`);
    writeFileSync(names, JSON.stringify(filled));
  }
  return { ...(JSON.parse(readFileSync(names, "utf8")) as Filled), folder };
}

/** Creates what is missing; `scale` 1 is ten million accounts and a hundred million postings. */
export async function growthStores(scale: number, say: (line: string) => void) {
  const startMs = (Math.floor(systemClock.epochMs() / DAY_MS) - FILLED_DAYS) * DAY_MS;
  const [accounts, postings] = [Math.round(ACCOUNTS * scale), Math.round(POSTINGS * scale)];
  const known = Math.min(KNOWN, accounts);
  const empty = await ensure(join(ROOT, `empty-${known}`), { accounts: known, postings: known, startMs, known }, say);
  const grown = await ensure(join(ROOT, `grown-${accounts}`), { accounts, postings, startMs, known }, say);
  return { empty, grown };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await growthStores(Number(process.argv[2] ?? "0.1"), (line) => process.stdout.write(`${line}\n`));
}
