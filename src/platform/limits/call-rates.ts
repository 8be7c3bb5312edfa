// Counts requests and tokens per minute in one process; redis-rates.ts and thread-rates.ts do so across processes.
import type { Clock } from "../../core/clock.ts";

export const MINUTE_SECONDS = 60;

/** An amount of one counter, whose limit per minute is `limit`. */
export interface RateTaken {
  readonly name: string;
  readonly limit: number;
  readonly amount: number;
}

/** `full`: the index of the first counter without room; nothing was taken from any. */
export type RateOutcome = { readonly minute: number } | { readonly full: number; readonly resetSeconds: number };

export interface CallRates {
  /** Takes all amounts or none. */
  take(accountId: string, taken: readonly RateTaken[]): Promise<RateOutcome>;
  /** Returns what was taken in that minute and not used; does nothing once the minute is over. */
  giveBack(accountId: string, minute: number, taken: readonly RateTaken[]): Promise<void>;
}

/** The synchronous interface. */
export type RateCounts = ReturnType<typeof rateCounts>;

/** Counts in memory and drops all counts at the end of each minute. If the clock is set back, the counts stay. */
export function rateCounts(clock: Pick<Clock, "epochMs">) {
  let minute = 0;
  let counts = new Map<string, number>();

  function enter(): number {
    const seconds = clock.epochMs() / 1_000;
    const now = Math.floor(seconds / MINUTE_SECONDS);
    if (now > minute) {
      minute = now;
      counts = new Map();
    }
    return Math.max(1, Math.ceil((minute + 1) * MINUTE_SECONDS - seconds));
  }

  const count = (account: string, name: string) => counts.get(`${account} ${name}`) ?? 0;
  return {
    take(account: string, taken: readonly RateTaken[]): RateOutcome {
      const resetSeconds = Math.min(MINUTE_SECONDS, enter());
      const full = taken.findIndex(({ name, limit, amount }) => count(account, name) + amount > limit);
      if (full >= 0) return { full, resetSeconds };
      for (const { name, amount } of taken) counts.set(`${account} ${name}`, count(account, name) + amount);
      return { minute };
    },
    giveBack(account: string, of: number, taken: readonly RateTaken[]) {
      enter();
      if (of !== minute) return;
      for (const { name, amount } of taken)
        counts.set(`${account} ${name}`, Math.max(0, count(account, name) - amount));
    },
  };
}

export function memoryRates(clock: Clock): CallRates {
  const counts = rateCounts(clock);
  return {
    take: async (accountId, taken) => counts.take(accountId, taken),
    giveBack: async (accountId, minute, taken) => counts.giveBack(accountId, minute, taken),
  };
}
