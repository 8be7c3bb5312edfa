// Keeps this process's holds alive and ends those of the dead: the heartbeat, the sweep, and the sweep at start.
import type { Clock } from "../../core/clock.ts";
import type { HoldRef, Money } from "./model/ledger.ts";

const SWEEP_MS = 5_000;
/** Between two tries to free what could not be freed. */
const FREE_MS = 1_000;
/** Holds ended in one operation: a commit stays short, and calls come between. */
const SWEEP_COUNT = 500;
/** Rounds of other stores in one sweep, so that holds do not wait for long. */
const ALSO_ROUNDS_MAX = 20;
/** Leases renewed in one operation. */
const RENEW_COUNT = 1_000;

/** Calls `run` every `ms` until the answered function is called. */
export type Every = (ms: number, run: () => void) => () => void;

export interface LeaseOptions {
  readonly ledger: Pick<Money, "renew" | "sweep" | "letGo">;
  readonly clock: Clock;
  /** This process, as the owner of its holds. */
  readonly owner: string;
  readonly leaseMs: number;
  /** A sweep or a heartbeat failed; it is tried again at the next beat. */
  readonly onBroken: (error: unknown) => void;
  /** False: another process ends the holds of the dead. Left out: this one does as well. */
  readonly sweeps?: boolean;
  /** A round in other stores with something to sweep, such as the records; answers whether there may be more. */
  readonly alsoSweep?: () => Promise<boolean>;
  readonly every?: Every;
}

export interface KeptLeases {
  /** Renews the hold's lease from now on. */
  keep(hold: HoldRef): void;
  /** The hold has been posted or voided. */
  release(hold: HoldRef): void;
  /** Its end was refused: it is freed, now or as soon as the ledger takes that. */
  abandon(hold: HoldRef): void;
  /** To be called once before the first reserve: ends the holds of every process but this one. */
  recover(): Promise<void>;
  /** Stops both, and waits for what is under way. */
  stop(): Promise<void>;
}

/** Node's own timer, which does not keep the process alive. */
export const everyInterval: Every = (ms, run) => {
  const timer = setInterval(run, ms);
  timer.unref();
  return () => clearInterval(timer);
};

/** Starts the heartbeat and the sweep. Only holds older than a quarter of a lease are renewed: most calls never are. */
export function keepLeases(options: LeaseOptions): KeptLeases {
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
    // Its names alone: a hold is placed with the whole request, and streams are open for long.
    keep: ({ accountId, holdId }) => kept.set(holdId, { hold: { accountId, holdId }, sinceMs: clock.elapsedMs() }),
    release: ({ holdId }) => kept.delete(holdId),
    abandon(hold) {
      abandoned.add(hold);
      freeing.run();
    },
    recover: () => sweepAll(owner),
    async stop() {
      for (const stop of stops) stop();
      await Promise.all([heart.idle(), broom.idle(), freeing.idle()]);
    },
  };
}

/** Runs `work` when asked, never twice at a time: a beat that finds the last one still running is left out. */
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
