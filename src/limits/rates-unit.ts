// Rates in the storage thread: counts in its memory, for all processes that share it. They have no table.
import type { SqliteUnit, StoreTime } from "../storage/sqlite-unit.ts";
import { type RateCounts, type RateTaken, rateCounts } from "./call-rates.ts";

export type RatesOperations = ReturnType<typeof operationsOn>;

/** Opens the rates in the storage thread. A transaction that is rolled back leaves them: it has counted a call that did not come to be. */
export function openUnit(_: unknown, time: StoreTime): SqliteUnit {
  return {
    operations: operationsOn(rateCounts({ epochMs: () => time.epochMs })),
    admissions: [],
    flush() {},
    reload() {},
  };
}

function operationsOn(counts: RateCounts) {
  return {
    take: ({ accountId, taken }: { accountId: string; taken: readonly RateTaken[] }) => counts.take(accountId, taken),
    giveBack({ accountId, minute, taken }: { accountId: string; minute: number; taken: readonly RateTaken[] }): null {
      counts.giveBack(accountId, minute, taken);
      return null;
    },
  };
}
