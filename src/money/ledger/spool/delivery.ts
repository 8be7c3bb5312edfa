// Delivers the ends of calls to the store: at once, with back-off while it is down, and again where it may have forgotten.
import { setTimeout as pause } from "node:timers/promises";
import { inChunks } from "../../../core/chunks.ts";
import { GatewayError } from "../../../core/errors.ts";
import type { SharedLedger } from "../model/ledger.ts";
import { KEEP_MS, type Spool } from "./file.ts";
import type { Intent } from "./intent.ts";
import { type Told, tellStore } from "./tell-store.ts";
import type { StoredIntent } from "./unit.ts";

const BACK_OFF_MS_MIN = 50;
const BACK_OFF_MS_MAX = 2_000;
const ACCOUNTS_AT_ONCE = 64;
/** The most ends of one account in flight at once, after the store has answered a few. */
const TOLD_AT_ONCE_MAX = 64;
const REPEATED_AT_ONCE = 64;
/** Attempts for an intent on which the store fails although it is up. */
const BROKEN_TRIES_MAX = 5;

export interface DeliveryOptions {
  readonly ledger: SharedLedger;
  readonly spool: Spool;
  /** Called for an intent that cannot be delivered; it stays in the spool for the next start and the doctor. */
  readonly onBroken: (error: unknown) => void;
  /** Passes the store's answers on and records outages. */
  readonly watched: <T>(answer: Promise<T>) => Promise<T>;
  /** Called where a charge that the caller saw found its hold ended otherwise, and the hold's origin is unknown. */
  readonly onForfeit: (intent: Intent, outcome: string) => void;
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

/** How an answer is noted: a repeated post returns another intent's amounts, or ones that cannot be told apart. */
export function noteOf(told: Told): string {
  return told.outcome === "posted" && "repeat" in told && told.repeat ? "repeat" : told.outcome;
}

interface Waiting {
  readonly stored: StoredIntent;
  broken: number;
}

interface Backlog {
  /** Undelivered intents. */
  readonly queue: Waiting[];
  isAnswered: boolean;
}

/** Delivers intents until the store has answered each; ends of one account's calls stay in order. */
export class Delivery {
  readonly #options: DeliveryOptions;
  readonly #backlog = new Map<string, Backlog>();
  readonly #stop = new AbortController();
  #awake = new AbortController();
  #driving: Promise<void> | null = null;
  #repeating: Promise<void> | null = null;
  #repeatAgain = false;

  constructor(options: DeliveryOptions) {
    this.#options = options;
  }

  /** Delivers to the store; rejects where it is down. */
  tell(intent: Intent): Promise<Told> {
    const { ledger, watched } = this.#options;
    return watched(tellStore(ledger, intent));
  }

  /** Whether ends of this account's calls are queued; later ones must queue behind them. */
  waits(accountId: string): boolean {
    const waiting = this.#backlog.get(accountId);
    return waiting !== undefined && (waiting.queue.length > 0 || !waiting.isAnswered);
  }

  postpone(stored: StoredIntent): void {
    const accountId = accountOf(stored.intent);
    const waiting = this.#backlog.get(accountId);
    if (waiting === undefined) this.#backlog.set(accountId, { queue: [{ stored, broken: 0 }], isAnswered: false });
    else waiting.queue.push({ stored, broken: 0 });
    this.#driving ??= this.#drive();
  }

  /** The store answered for this account: retry its queue at once. */
  wake(accountId: string): void {
    if (this.#backlog.has(accountId)) this.#awake.abort();
  }

  /** Delivers everything left from before; resolves when all is delivered. */
  async recover(): Promise<void> {
    for await (const page of this.#options.spool.pages("open")) for (const stored of page) this.postpone(stored);
    await this.#driving;
  }

  /** The store may have lost recent answers: delivers them again. */
  repeat(): void {
    this.#repeatAgain = true;
    this.#repeating ??= this.#repeatAll().catch((error: unknown) => {
      this.#repeating = null;
      this.#options.onBroken(error);
    });
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await Promise.all([this.#driving, this.#repeating]);
  }

  async #rest(failed: number): Promise<void> {
    const signal = AbortSignal.any([this.#stop.signal, this.#awake.signal]);
    await pause(backOffMs(failed), undefined, { signal }).catch(() => {});
    if (this.#awake.signal.aborted) this.#awake = new AbortController();
  }

  #note(stored: StoredIntent, told: Told): void {
    const { intent, outcome: before } = stored;
    const { spool, onForfeit } = this.#options;
    const outcome = noteOf(told);
    if (before === null || (before !== outcome && outcome !== "repeat" && outcome !== "exists"))
      spool.end(stored, outcome);
    // The process that found another's charge must not repeat it: the one that made it does, where the store has forgotten it.
    const isAnothers = intent.origin === null && before === "repeat";
    const isCharge = intent.op === "post" && !isAnothers && [null, "posted", "repeat"].includes(before);
    if (isCharge && told.outcome !== "posted") onForfeit(intent, outcome);
  }

  /** Delivers a queued intent; returns whether it must keep waiting. */
  async #tellLate(waiting: Waiting): Promise<boolean> {
    try {
      this.#note(waiting.stored, await this.tell(waiting.stored.intent));
      return false;
    } catch (error) {
      if (isAway(error) || ++waiting.broken < BROKEN_TRIES_MAX) return true;
      this.#options.onBroken(error);
      return false;
    }
  }

  /**
   * Delivers an account's queue in order; returns whether the store was reachable. The store runs requests in the order in which they are
   * sent, so several can be in flight; once the last of the queue is, later ends need not wait. Delivered one by one, a busy account would
   * never catch up, and its holds would outlive their leases.
   */
  async #drain(accountId: string): Promise<boolean> {
    const waiting = this.#backlog.get(accountId);
    if (waiting === undefined) return false;
    const { queue } = waiting;
    const { signal } = this.#stop;
    for (let count = 1; queue.length > 0 && !signal.aborted; count = Math.min(2 * count, TOLD_AT_ONCE_MAX)) {
      const some = queue.splice(0, count);
      const waitOn = await Promise.all(some.map((one) => this.#tellLate(one)));
      const left = some.filter((_, at) => waitOn[at]);
      queue.unshift(...left);
      waiting.isAnswered = left.length === 0;
      if (!waiting.isAnswered) return left.length < some.length || count > 1;
    }
    if (queue.length === 0) this.#backlog.delete(accountId);
    return true;
  }

  async #drive(): Promise<void> {
    for (let failed = 0; this.#backlog.size > 0 && !this.#stop.signal.aborted; ) {
      const accounts = [...this.#backlog.keys()];
      const drained = await inChunks(accounts, ACCOUNTS_AT_ONCE, (accountId) => this.#drain(accountId));
      failed = drained.includes(true) ? 0 : failed + 1;
      if (this.#backlog.size > 0) await this.#rest(failed);
    }
    // Synchronously: whatever is queued from here on starts a new run.
    this.#driving = null;
  }

  async #tellAnew(stored: StoredIntent): Promise<void> {
    for (let failed = 0; !this.#stop.signal.aborted; await this.#rest(++failed)) {
      try {
        return this.#note(stored, await this.tell(stored.intent));
      } catch (error) {
        if (!isAway(error)) return this.#options.onBroken(error);
      }
    }
  }

  /** From the newest page to the oldest: a store loses its latest answers. */
  async #repeatAll(): Promise<void> {
    const { spool } = this.#options;
    const { signal } = this.#stop;
    do {
      this.#repeatAgain = false;
      await spool.flush();
      for await (const page of spool.pages({ endedWithinMs: KEEP_MS })) {
        // The store runs them in the order in which they are sent.
        await inChunks(page, REPEATED_AT_ONCE, (stored) => this.#tellAnew(stored));
        if (this.#repeatAgain || signal.aborted) break;
      }
    } while (this.#repeatAgain && !signal.aborted);
    this.#repeating = null;
  }
}
