// Rates in the storage thread: counted in its memory, for all processes that share it. They have no table.
import type { SqliteUnit, StoreTime } from "../storage/sqlite-unit.ts";
import { type RateCounts, type RateTaken, rateCounts } from "./call-rates.ts";

export type RatesOperations = ReturnType<typeof operationsOn>;

interface Counted {
  readonly accountId: string;
  readonly minute: number;
  readonly taken: readonly RateTaken[];
}

/** Opens the rates in the storage thread. A rolled-back transaction counts nothing, because its operations may run again. */
export function openUnit(_: unknown, time: StoreTime): SqliteUnit {
  const counts = rateCounts({ epochMs: () => time.epochMs });
  /** What the running transaction takes, and what it returns once committed. */
  const taken: Counted[] = [];
  const unused: Counted[] = [];
  const giveBack = (all: Counted[]): void => {
    for (const one of all.splice(0)) counts.giveBack(one.accountId, one.minute, one.taken);
  };
  return {
    operations: operationsOn(counts, { taken, unused }),
    admissions: [],
    short: ["take", "giveBack"],
    flush() {},
    committed() {
      taken.length = 0;
      giveBack(unused);
    },
    reload() {
      unused.length = 0;
      giveBack(taken);
    },
  };
}

function operationsOn(counts: RateCounts, running: { readonly taken: Counted[]; readonly unused: Counted[] }) {
  return {
    take({ accountId, taken }: Omit<Counted, "minute">) {
      const outcome = counts.take(accountId, taken);
      if ("minute" in outcome) running.taken.push({ accountId, minute: outcome.minute, taken });
      return outcome;
    },
    giveBack(one: Counted): null {
      running.unused.push(one);
      return null;
    },
  };
}
