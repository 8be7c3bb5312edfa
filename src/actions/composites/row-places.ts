// The rows of jobs that run in this process at once: so many altogether, and accounts in turn where more are waiting.

export class RowPlaces {
  #free: number;
  /** By payer, those that came first first; the payer at the front is next. */
  readonly #waiting = new Map<string, (() => void)[]>();

  constructor(atOnceMax: number) {
    this.#free = atOnceMax;
  }

  /** Runs a row's work when it is its turn. */
  async run<Result>(payer: string, work: () => Promise<Result>): Promise<Result> {
    if (this.#free === 0) await this.#turn(payer);
    else this.#free -= 1;
    try {
      return await work();
    } finally {
      this.#leave();
    }
  }

  #turn(payer: string): Promise<void> {
    return new Promise((begin) => {
      const own = this.#waiting.get(payer);
      if (own === undefined) this.#waiting.set(payer, [begin]);
      else own.push(begin);
    });
  }

  /** The place goes to the first of the payer whose turn it is, who then stands behind all others. */
  #leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#free += 1;
      return;
    }
    const [payer, own] = next;
    this.#waiting.delete(payer);
    const first = own.shift();
    if (own.length > 0) this.#waiting.set(payer, own);
    first?.();
  }
}

/**
 * Works on each item in order, so many at a time. Where one rejects no more are begun, and it rejects with the first rejection once
 * those under way have ended.
 */
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
