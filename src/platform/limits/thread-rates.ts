// Counts requests and tokens per minute for processes that share a storage thread. Open the thread with `RATES_UNIT` among its units.
import type { SqliteThread } from "../storage/thread-client.ts";
import type { CallRates } from "./call-rates.ts";
import type { RatesOperations } from "./rates-unit.ts";

/** The file that the storage thread loads for rates. */
export const RATES_UNIT = new URL("./rates-unit.ts", import.meta.url);

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
