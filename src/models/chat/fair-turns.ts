// Whose turn it is at a thing that does one piece of work at a time: each payer's in order, and the payers one after another.

export class FairTurns<Work> {
  readonly #byPayer = new Map<string, Work[]>();

  add(payer: string, work: Work): void {
    const own = this.#byPayer.get(payer);
    if (own === undefined) this.#byPayer.set(payer, [work]);
    else own.push(work);
  }

  /** How much of a payer's is waiting. */
  waiting(payer: string): number {
    return this.#byPayer.get(payer)?.length ?? 0;
  }

  /** The first work of the payer who has waited longest for a turn; its other work stands behind everybody's. */
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
