// Limits the job rows that run in this process at once; payers take turns where more are waiting.

export class RowPlaces {
  #free: number;
  /** By payer, oldest first; the payer at the front is next. */
  readonly #waiting = new Map<string, (() => void)[]>();

  constructor(atOnceMax: number) {
    this.#free = atOnceMax;
  }

  /** Runs a row's work when its turn comes. */
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

  /** Gives the place to the oldest row of the payer whose turn it is; the payer then goes to the end of the line. */
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
