// Tells the store how calls ended: at once, again with back-off where it was away, and anew where it may have forgotten.
import { setTimeout as pause } from "node:timers/promises";
import { GatewayError } from "../../../core/errors.ts";
import type { SharedLedger } from "../model/ledger.ts";
import { KEEP_MS, type Spool } from "./file.ts";
import type { Intent } from "./intent.ts";
import { type Told, tellStore } from "./tell-store.ts";
import type { StoredIntent } from "./unit.ts";

const BACK_OFF_MS_MIN = 50;
const BACK_OFF_MS_MAX = 2_000;
const ACCOUNTS_AT_ONCE = 64;
/** Ends of one account's calls that are told together, once the store has answered a few. */
const TOLD_AT_ONCE_MAX = 64;
const REPEATED_AT_ONCE = 64;
/** Tries of an intent that the store does not refuse for being away, but fails on. */
const BROKEN_TRIES_MAX = 5;

export interface DeliveryOptions {
  readonly ledger: SharedLedger;
  readonly spool: Spool;
  /** An intent cannot be told: it is left in the spool for the next start, and for the doctor. */
  readonly onBroken: (error: unknown) => void;
  /** Passes the store's answers on, and takes note of when there are none. */
  readonly watched: <T>(answer: Promise<T>) => Promise<T>;
  /** A charge that the caller was told of found its hold ended otherwise, and what it was placed with is not known any more. */
  readonly onForfeit: (intent: Intent, outcome: string) => void;
}

export interface Delivery {
  /** Tells the store; rejects where it is away. */
  tell(intent: Intent): Promise<Told>;
  /** Whether ends of an account's calls wait to be sent: later ones have to wait behind them. */
  waits(accountId: string): boolean;
  /** Tells the store later, in order, until it has answered. */
  postpone(stored: StoredIntent): void;
  /** The store has answered for this account: what waits of it need not wait any longer. */
  wake(accountId: string): void;
  /** Tells everything that was left from before; answers when all of it is told. */
  recover(): Promise<void>;
  /** The store may have forgotten what it answered lately: tells it again. */
  repeat(): void;
  close(): Promise<void>;
}

export function accountOf(intent: Intent): string {
  return intent.op === "post" ? intent.request.accountId : intent.hold.accountId;
}

export function isAway(error: unknown): boolean {
  return error instanceof GatewayError && error.code === "ledger_unavailable";
}

function backOffMs(failed: number): number {
  return Math.min(BACK_OFF_MS_MAX, BACK_OFF_MS_MIN * 2 ** Math.min(failed, 10)) * (0.5 + Math.random() / 2);
}

/** What is noted of an answer: the amounts of a repeated post are those of another intent, or cannot be told apart. */
export function noteOf(told: Told): string {
  return told.outcome === "posted" && "repeat" in told && told.repeat ? "repeat" : told.outcome;
}

interface Waiting {
  readonly stored: StoredIntent;
  broken: number;
}

interface Backlog {
  /** What is still to be sent. */
  readonly queue: Waiting[];
  /** The store has answered what was sent last. */
  isAnswered: boolean;
}

export function delivery({ ledger, spool, onBroken, watched, onForfeit }: DeliveryOptions): Delivery {
  const backlog = new Map<string, Backlog>();
  const stop = new AbortController();
  let awake = new AbortController();
  let driving: Promise<void> | null = null;
  let repeating: Promise<void> | null = null;
  let repeatAgain = false;

  const tell = (intent: Intent): Promise<Told> => watched(tellStore(ledger, intent));

  async function rest(failed: number): Promise<void> {
    const signal = AbortSignal.any([stop.signal, awake.signal]);
    await pause(backOffMs(failed), undefined, { signal }).catch(() => {});
    if (awake.signal.aborted) awake = new AbortController();
  }

  function note(stored: StoredIntent, told: Told): void {
    const { intent, outcome: before } = stored;
    const outcome = noteOf(told);
    if (before === null || (before !== outcome && outcome !== "repeat" && outcome !== "exists"))
      spool.end(stored, outcome);
    // Who found a charge there that another had made has nothing to give up: that one charges it again, where the store has forgotten it.
    const isAnothers = intent.origin === null && before === "repeat";
    const isCharge = intent.op === "post" && !isAnothers && [null, "posted", "repeat"].includes(before);
    if (isCharge && told.outcome !== "posted") onForfeit(intent, outcome);
  }

  /** Tells what has waited; answers whether it has to wait on. */
  async function tellLate(waiting: Waiting): Promise<boolean> {
    try {
      note(waiting.stored, await tell(waiting.stored.intent));
      return false;
    } catch (error) {
      if (isAway(error) || ++waiting.broken < BROKEN_TRIES_MAX) return true;
      onBroken(error);
      return false;
    }
  }

  /**
   * Tells what waits of an account, in order; answers whether the store could be reached. The store runs what it is sent in
   * the order in which it is sent. So many can be under way, and when the last of them are, later ends need not wait: told one
   * by one, a busy account would never catch up, and its holds would outlive their leases.
   */
  async function drain(accountId: string): Promise<boolean> {
    const waiting = backlog.get(accountId);
    if (waiting === undefined) return false;
    const { queue } = waiting;
    for (let count = 1; queue.length > 0 && !stop.signal.aborted; count = Math.min(2 * count, TOLD_AT_ONCE_MAX)) {
      const some = queue.splice(0, count);
      const waitOn = await Promise.all(some.map(tellLate));
      const left = some.filter((_, at) => waitOn[at]);
      queue.unshift(...left);
      waiting.isAnswered = left.length === 0;
      if (!waiting.isAnswered) return left.length < some.length || count > 1;
    }
    if (queue.length === 0) backlog.delete(accountId);
    return true;
  }

  async function drive(): Promise<void> {
    for (let failed = 0; backlog.size > 0 && !stop.signal.aborted; ) {
      const accounts = [...backlog.keys()];
      let reached = false;
      for (let at = 0; at < accounts.length; at += ACCOUNTS_AT_ONCE) {
        const drained = await Promise.all(accounts.slice(at, at + ACCOUNTS_AT_ONCE).map(drain));
        reached ||= drained.includes(true);
      }
      failed = reached ? 0 : failed + 1;
      if (backlog.size > 0) await rest(failed);
    }
    // At once and not later: whatever is postponed from here on starts it anew.
    driving = null;
  }

  function postpone(stored: StoredIntent): void {
    const accountId = accountOf(stored.intent);
    const waiting = backlog.get(accountId);
    if (waiting === undefined) backlog.set(accountId, { queue: [{ stored, broken: 0 }], isAnswered: false });
    else waiting.queue.push({ stored, broken: 0 });
    driving ??= drive();
  }

  /** Tells one intent again and again until the store has answered. */
  async function tellAnew(stored: StoredIntent): Promise<void> {
    for (let failed = 0; !stop.signal.aborted; await rest(++failed)) {
      try {
        return note(stored, await tell(stored.intent));
      } catch (error) {
        if (!isAway(error)) return onBroken(error);
      }
    }
  }

  /** From the latest page to the earliest: what a store forgets is what it was told last. */
  async function repeatAll(): Promise<void> {
    do {
      repeatAgain = false;
      await spool.flush();
      for await (const page of spool.pages({ endedWithinMs: KEEP_MS })) {
        // The store runs them in the order in which they are sent.
        for (let at = 0; at < page.length; at += REPEATED_AT_ONCE) {
          await Promise.all(page.slice(at, at + REPEATED_AT_ONCE).map(tellAnew));
        }
        if (repeatAgain || stop.signal.aborted) break;
      }
    } while (repeatAgain && !stop.signal.aborted);
    repeating = null;
  }

  return {
    tell,
    waits(accountId) {
      const waiting = backlog.get(accountId);
      return waiting !== undefined && (waiting.queue.length > 0 || !waiting.isAnswered);
    },
    postpone,
    wake(accountId) {
      if (backlog.has(accountId)) awake.abort();
    },
    async recover() {
      for await (const page of spool.pages("open")) page.forEach(postpone);
      await driving;
    },
    repeat() {
      repeatAgain = true;
      repeating ??= repeatAll().catch((error: unknown) => {
        repeating = null;
        onBroken(error);
      });
    },
    async close() {
      stop.abort();
      await Promise.all([driving, repeating]);
    },
  };
}
