// Counts requests per account in the current window, where several processes share the ledger. In memory; a restart forgets them.
import type { ReserveRequest } from "../model/ledger.ts";

type Bound = NonNullable<ReserveRequest["window"]>;

interface Count {
  readonly window: number;
  readonly taken: number;
}

/** One request to count. */
export interface Counting {
  readonly accountId: string;
  /** The account's time and the store's, which may lag behind it. */
  readonly atMs: number;
  readonly nowMs: number;
  readonly bound: Bound;
}

export class RequestCounts {
  readonly #counts = new Map<string, Count>();
  /** The latest window with a request, by the store's time: earlier windows are over for every account. */
  #window = 0;
  /** The counts that the running transaction replaced; a rollback restores them. */
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
