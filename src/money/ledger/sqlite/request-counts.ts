// What accounts have asked for in the window of now, where several processes share the ledger: counts in memory, which a restart forgets.
import type { ReserveRequest } from "../model/ledger.ts";

type Bound = NonNullable<ReserveRequest["window"]>;

interface Count {
  readonly window: number;
  readonly taken: number;
}

/** One request of an account, as it would be counted. */
export interface Counting {
  readonly accountId: string;
  /** The account's own time, and the store's, which may have been set back behind it. */
  readonly atMs: number;
  readonly nowMs: number;
  readonly bound: Bound;
}

export class RequestCounts {
  readonly #counts = new Map<string, Count>();
  /** The window of the store's own time in which an account asked last: those before it are over for all. */
  #window = 0;
  /** What the running transaction has replaced, and a rollback puts back. */
  readonly #before: (readonly [accountId: string, count: Count | undefined])[] = [];

  /** What the window has left before this request, and when it ends. */
  room({ accountId, atMs, bound }: Counting): { readonly remaining: number; readonly resetSeconds: number } {
    const window = windowOf(atMs, bound);
    const resetSeconds = Math.ceil((window + 1) * bound.seconds - atMs / 1_000);
    return { remaining: bound.limit - this.#taken(accountId, window), resetSeconds };
  }

  take({ accountId, atMs, nowMs, bound }: Counting): void {
    const [window, current] = [windowOf(atMs, bound), windowOf(nowMs, bound)];
    if (current > this.#window) this.#enter(current);
    this.#before.push([accountId, this.#counts.get(accountId)]);
    this.#counts.set(accountId, { window, taken: this.#taken(accountId, window) + 1 });
  }

  committed(): void {
    this.#before.length = 0;
  }

  rolledBack(): void {
    for (const [accountId, count] of this.#before.splice(0).reverse()) {
      if (count === undefined) this.#counts.delete(accountId);
      else this.#counts.set(accountId, count);
    }
  }

  #taken(accountId: string, window: number): number {
    const count = this.#counts.get(accountId);
    return count?.window === window ? count.taken : 0;
  }

  #enter(window: number): void {
    this.#window = window;
    for (const [accountId, count] of this.#counts) if (count.window < window) this.#counts.delete(accountId);
  }
}

function windowOf(atMs: number, { seconds }: Bound): number {
  return Math.floor(atMs / 1_000 / seconds);
}
