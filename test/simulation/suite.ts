// Runs many scenarios; for a failing one it reports the cause, and how to store it.
import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { run } from "./run.ts";
import { type Scenario, scenarioOf } from "./scenario.ts";
import { shrink } from "./shrink.ts";

const SEED_MAX = 1_000_000_000;
/** Events that every larger simulation must meet to be a valid test. */
const MET = [
  ...[
    "told posted",
    "told spooled",
    "told replayed",
    "left",
    "left after content",
    "gateway died",
    "expired",
    "charged late",
    "charged the rest",
    "forgotten",
  ],
  ...["told ledger_unavailable", "told outcome_unknown", "told idempotency_in_progress", "told concurrency_limit"],
  "told unpaid_costs",
  "told run_budget_exceeded",
  ...["job succeeded", "job failed", "job adopted", "job died", "launch refused", "launch repeated"],
  ...["told insufficient_balance", "told api_key_limit_exceeded", "told upstream_error", "told upstream_rejected"],
];
const TELLING_SEEDS_MIN = 1_000;

/** `seeds` scenarios, from the seed `first` or from a random one; SIMULATION_SEEDS and SIMULATION_FROM override both. */
export function simulationSuite({ seeds, first }: { readonly seeds: number; readonly first?: number }): void {
  const count = Number(process.env.SIMULATION_SEEDS ?? seeds);
  const from = Number(process.env.SIMULATION_FROM ?? first ?? Math.floor(Math.random() * SEED_MAX));
  const title = `nothing is lost, charged twice or overspent in ${count} simulated lives (SIMULATION_FROM=${from})`;
  test(title, { timeout: 180_000 + count * 1_000 }, async () => {
    const met = new Map<string, number>();
    for (let seed = from; seed < from + count; seed++) {
      const { wrong, counts } = await run(scenarioOf(seed));
      if (wrong.length > 0) expect.fail(await storyOf(seed, wrong));
      for (const [what, times] of counts) met.set(what, (met.get(what) ?? 0) + times);
      await turn();
    }
    if (process.env.SIMULATION_COUNTS !== undefined) console.log(met);
    if (count >= TELLING_SEEDS_MIN) expect(MET.filter((what) => !met.has(what))).toEqual([]);
  });
}

/** The violations, the few events that cause them, and the file to store as a regression test. */
async function storyOf(seed: number, wrong: readonly string[]): Promise<string> {
  const small = await shrink(scenarioOf(seed), async (smaller) => (await run(smaller)).wrong.length > 0);
  const { wrong: still } = await run(small);
  return [
    `Seed ${seed} (repeat it with SIMULATION_FROM=${seed} SIMULATION_SEEDS=1):`,
    ...wrong.map((one) => `  ${one}`),
    `The least that it takes: ${small.faults.length} faults, ${small.calls.length} calls and ${small.jobs?.length ?? 0} jobs, and then`,
    ...still.map((one) => `  ${one}`),
    `Keep it as test/regression/simulation-${seed}.json:`,
    textOf(small),
  ].join("\n");
}

/** A scenario in its file format: one event per line. */
function textOf({ calls, jobs = [], faults, ...rest }: Scenario): string {
  const lines = (list: readonly unknown[]) => `[\n${list.map((one) => `    ${JSON.stringify(one)}`).join(",\n")}\n  ]`;
  const parts = Object.entries(rest).map(([name, value]) => `  "${name}": ${JSON.stringify(value)},`);
  return `{\n${parts.join("\n")}\n  "calls": ${lines(calls)},\n  "jobs": ${lines(jobs)},\n  "faults": ${lines(faults)}\n}`;
}
