// Counts requests and tokens per minute in the storage thread's memory, for all processes that share it. They have no table.
import type { SqliteUnit, StoreTime } from "../storage/sqlite-unit.ts";
import type { SqliteThread } from "../storage/thread-client.ts";
import { type CallRates, type RateCounts, type RateTaken, rateCounts } from "./call-rates.ts";

/** The storage thread loads this file too. */
export const RATES_UNIT = new URL(import.meta.url);

type RatesOperations = ReturnType<typeof operationsOn>;

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

const LOSABLE = { mayBeLost: true } as const;

/** The rates in `thread`, whose units must have `rates: RATES_UNIT`. Does not wait for the disk: a restart forgets the counts. */
export function threadRates(thread: SqliteThread): CallRates {
  const call = thread.unit<RatesOperations>("rates");
  return {
    take: (accountId, taken) => call("take", { accountId, taken }, LOSABLE),
    giveBack: async (accountId, minute, taken) => {
      await call("giveBack", { accountId, minute, taken }, LOSABLE);
    },
  };
}
