// Limits what runs in this process at once; owners take turns where more is waiting.
import { getOrMake } from "./maps.ts";

export class Places {
  readonly #atOnceMax: number;
  #free: number;
  /** By owner, oldest first; the owner at the front is next. */
  readonly #waiting = new Map<string, Set<() => void>>();

  constructor(atOnceMax: number) {
    this.#atOnceMax = atOnceMax;
    this.#free = atOnceMax;
  }

  get isIdle(): boolean {
    return this.#free === this.#atOnceMax;
  }

  /** Runs work when its turn comes. */
  async run<Result>(owner: string, work: () => Promise<Result>): Promise<Result> {
    if (this.#free === 0) await this.enter(owner);
    else this.#free -= 1;
    try {
      return await work();
    } finally {
      this.leave();
    }
  }

  /** Runs work of the same owner as all other work here. Rejects where its turn has not come after this time. */
  async within<Result>(waitMsMax: number, work: () => Promise<Result>): Promise<Result> {
    const isIn = await this.enter("", this.#free > 0 ? undefined : AbortSignal.timeout(waitMsMax));
    if (!isIn) throw new Error("its turn has not come");
    try {
      return await work();
    } finally {
      this.leave();
    }
  }

  /** Waits for a place, which ends with `leave`; false where the signal was aborted first. */
  async enter(owner: string, signal?: AbortSignal): Promise<boolean> {
    if (signal?.aborted) return false;
    if (this.#free > 0) {
      this.#free -= 1;
      return true;
    }
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const own = getOrMake(this.#waiting, owner, () => new Set());
    const begin = () => resolve(true);
    const giveUp = () => {
      if (own.delete(begin) && own.size === 0) this.#waiting.delete(owner);
      resolve(false);
    };
    own.add(begin);
    signal?.addEventListener("abort", giveUp, { once: true });
    return promise.finally(() => signal?.removeEventListener("abort", giveUp));
  }

  /** Gives the place to the work that has waited longest, of the owner whose turn it is; the owner then goes to the end of the line. */
  leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#free += 1;
      return;
    }
    const [owner, own] = next;
    const [begin] = own;
    this.#waiting.delete(owner);
    if (begin !== undefined) own.delete(begin);
    if (own.size > 0) this.#waiting.set(owner, own);
    begin?.();
  }
}

/** Works on the items in order, `atOnce` at a time. After a rejection none begins; rejects with the first error once all have ended. */
export async function inOrder<Item>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const failures: unknown[] = [];
  const left = items[Symbol.iterator]();
  const lane = async () => {
    for (const item of left) {
      await work(item).catch((error: unknown) => failures.push(error));
      if (failures.length > 0) return;
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, lane));
  if (failures.length > 0) throw failures[0];
}
