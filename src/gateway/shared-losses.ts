// The losses of all processes: one record a day has their sums, so that they survive restarts and any process can show them.
import { z } from "zod";
import type { Clock } from "../core/clock.ts";
import { nano } from "../core/money.ts";
import type { Records } from "../platform/records/records.ts";
import { revise } from "../platform/records/revise.ts";
import { bothDays, type Losses, type LossesOfDay } from "./losses.ts";

const KIND = "losses";
const DAY_MS = 86_400_000;
/** A killed process loses what it has counted since its last exchange. */
const BEAT_MS = 10_000;
/** Longer than the counted day, in case the clock is set back. */
const KEEP_MS = 2 * DAY_MS;

const amount = z.number().int().nonnegative().transform(nano);
const keptSchema = z.object({
  routes: z.array(z.object({ provider: z.string(), model: z.string(), chargedNano: amount, upstreamNano: amount })),
  unpriced: z.array(z.object({ provider: z.string(), counter: z.string(), answers: z.number().int() })),
});

export type SharedLosses = ReturnType<typeof shareLosses>;

export interface SharedLossesParts {
  readonly losses: Losses;
  readonly records: Records;
  readonly clock: Clock;
  /** Whether other processes report losses too: then each beat reads theirs. */
  readonly shared: boolean;
  readonly onBroken: (error: unknown) => void;
}

/** Starts from today's record. */
export function shareLosses({ losses, records, clock, shared, onBroken }: SharedLossesParts) {
  let last: Promise<void> = Promise.resolve();
  let heard = false;

  async function once(): Promise<void> {
    const told = losses.untold();
    const day = Math.floor(clock.epochMs() / DAY_MS);
    const isNothing = told.day !== day || (told.routes.length === 0 && told.unpriced.length === 0);
    if (isNothing && heard && !shared) return;
    let all: LossesOfDay = { day, routes: [], unpriced: [] };
    await revise(records, { kind: KIND, id: String(day), payer: null, ttlMs: KEEP_MS }, (value) => {
      all = { day, routes: [], unpriced: [], ...(value === null ? null : keptSchema.parse(JSON.parse(value))) };
      if (isNothing) return null;
      all = bothDays(all, told);
      return JSON.stringify({ routes: all.routes, unpriced: all.unpriced });
    });
    heard = true;
    losses.hear(all, isNothing ? null : told);
  }

  const exchange = () => {
    last = last.then(once).catch(onBroken);
    return last;
  };
  losses.onRest(exchange);
  void exchange();
  const timer = setInterval(exchange, BEAT_MS).unref();
  return {
    /** Adds what this process counted, and reads the shared sums. While the store is down, waits for the next beat. */
    exchange,
    stop() {
      clearInterval(timer);
      return exchange();
    },
  };
}
