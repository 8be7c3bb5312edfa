// A fair queue for a single worker: round robin over payers, first in first out for each payer.

export class FairTurns<Work> {
  readonly #byPayer = new Map<string, Work[]>();

  add(payer: string, work: Work): void {
    const own = this.#byPayer.get(payer);
    if (own === undefined) this.#byPayer.set(payer, [work]);
    else own.push(work);
  }

  waiting(payer: string): number {
    return this.#byPayer.get(payer)?.length ?? 0;
  }

  /** The next item of the payer who has waited longest for a turn; the payer's other items then go to the back of the queue. */
  next(): Work | undefined {
    const [first] = this.#byPayer;
    if (first === undefined) return undefined;
    const [payer, own] = first;
    const work = own.shift();
    this.#byPayer.delete(payer);
    if (own.length > 0) this.#byPayer.set(payer, own);
    return work;
  }

  clear(): void {
    this.#byPayer.clear();
  }
}
