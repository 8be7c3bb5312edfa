// Keeps this process's holds alive and ends those of dead processes: heartbeat, sweep, and the sweep at start.
import type { Clock } from "../../core/clock.ts";
import type { HoldRef, Money } from "./model/ledger.ts";

const SWEEP_MS = 5_000;
/** Delay between attempts to free a hold. */
const FREE_MS = 1_000;
/** Holds ended per operation: keeps commits short, with calls in between. */
const SWEEP_COUNT = 500;
/** Rounds in other stores per sweep, so that holds do not wait long. */
const ALSO_ROUNDS_MAX = 20;
/** Leases renewed per operation. */
const RENEW_COUNT = 1_000;

/** Calls `run` every `ms` until the returned function is called. */
export type Every = (ms: number, run: () => void) => () => void;

export interface LeaseOptions {
  readonly ledger: Pick<Money, "renew" | "sweep" | "letGo">;
  readonly clock: Clock;
  /** This process's id as the owner of its holds. */
  readonly owner: string;
  readonly leaseMs: number;
  /** Called where a sweep or heartbeat fails; the next beat retries. */
  readonly onBroken: (error: unknown) => void;
  /** False: another process ends dead processes' holds. Default: this one does too. */
  readonly sweeps?: boolean;
  /** One round in other stores to sweep, such as the records; returns whether there may be more. */
  readonly alsoSweep?: () => Promise<boolean>;
  readonly every?: Every;
}

export type KeptLeases = ReturnType<typeof keepLeases>;

/** Node's timer, which does not keep the process alive. */
export const everyInterval: Every = (ms, run) => {
  const timer = setInterval(run, ms);
  timer.unref();
  return () => clearInterval(timer);
};

/** Starts heartbeat and sweep. Only holds older than a quarter of a lease are renewed; most calls end sooner. */
export function keepLeases(options: LeaseOptions) {
  const { ledger, clock, owner, leaseMs, sweeps = true, every = everyInterval } = options;
  const kept = new Map<string, { readonly hold: HoldRef; readonly sinceMs: number }>();
  const abandoned = new Set<HoldRef>();
  const quarterMs = leaseMs / 4;

  async function beat(): Promise<void> {
    const old: HoldRef[] = [];
    const beforeMs = clock.elapsedMs() - quarterMs;
    for (const { hold, sinceMs } of kept.values()) if (sinceMs <= beforeMs) old.push(hold);
    for (let at = 0; at < old.length; at += RENEW_COUNT) {
      const gone = await ledger.renew(old.slice(at, at + RENEW_COUNT), leaseMs);
      for (const holdId of gone) kept.delete(holdId);
    }
  }

  async function sweepAll(onlyOwner?: string): Promise<void> {
    for (;;) {
      const ended = await (onlyOwner === undefined ? ledger.sweep(SWEEP_COUNT) : ledger.sweep(SWEEP_COUNT, onlyOwner));
      if (ended.length < SWEEP_COUNT) return;
    }
  }

  const freeing = steady(async () => {
    for (const hold of abandoned) {
      await ledger.letGo?.(hold);
      abandoned.delete(hold);
    }
  }, options.onBroken);
  const heart = steady(beat, options.onBroken);
  const broom = steady(async () => {
    await sweepAll();
    for (let rounds = 0; rounds < ALSO_ROUNDS_MAX && (await options.alsoSweep?.()); rounds++);
  }, options.onBroken);
  const stops = [every(quarterMs, heart.run)];
  if (sweeps) stops.push(every(Math.min(SWEEP_MS, quarterMs), broom.run));
  stops.push(every(FREE_MS, freeing.run));

  return {
    // Keep only the ids: a hold refers to its whole request, and streams stay open for long.
    /** Keeps renewing the hold's lease. */
    keep: ({ accountId, holdId }: HoldRef) =>
      kept.set(holdId, { hold: { accountId, holdId }, sinceMs: clock.elapsedMs() }),
    /** The hold was posted or voided. */
    release: ({ holdId }: HoldRef) => kept.delete(holdId),
    /** The hold's end was refused: free it now, or as soon as the ledger allows. */
    abandon(hold: HoldRef) {
      abandoned.add(hold);
      freeing.run();
    },
    /** Call once before the first reserve: ends the holds of all other processes. */
    recover: () => sweepAll(owner),
    /** Stops heartbeat and sweep, and waits for running work. */
    async stop() {
      for (const stop of stops) stop();
      await Promise.all([heart.idle(), broom.idle(), freeing.idle()]);
    },
  };
}

/** Runs `work` on request, never twice at once: a beat is skipped while the last one runs. */
export function steady(work: () => Promise<void>, onBroken: (error: unknown) => void) {
  let running: Promise<void> | null = null;
  return {
    run() {
      running ??= work()
        .catch(onBroken)
        .finally(() => {
          running = null;
        });
    },
    idle: () => running ?? Promise.resolve(),
  };
}
