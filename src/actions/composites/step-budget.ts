// What the steps of a deep job may come to at the contract's prices: each sets its price aside before it is taken, and is charged only for what it
// brought. What the calls of those steps cost us is another sum, with a bound of its own: the job's Spend.

/** In whole cents. It is in memory: what a crash leaves are the rows that were finished, and what those cost. */
export class StepBudget {
  readonly limitCents: number;
  #spentCents: number;
  #asideCents = 0;
  #waiting: readonly (() => void)[] = [];

  constructor(limitCents: number, spentCents: number) {
    this.limitCents = limitCents;
    this.#spentCents = spentCents;
  }

  get spentCents(): number {
    return this.#spentCents;
  }

  /** Sets a step's price aside; where there is no room, once steps under way have ended. False: there is none then either. */
  async setAside(cents: number): Promise<boolean> {
    while (this.#spentCents + this.#asideCents + cents > this.limitCents) {
      if (this.#asideCents === 0) return false;
      await new Promise<void>((resolve) => {
        this.#waiting = [...this.#waiting, resolve];
      });
    }
    this.#asideCents += cents;
    return true;
  }

  /** Something was spent for which nothing had to be set aside: nothing else was under way. */
  charge(cents: number): void {
    this.#spentCents += cents;
  }

  /** The step has ended: so much of what was set aside for it was spent. */
  settle(asideCents: number, spentCents: number): void {
    this.#asideCents -= asideCents;
    this.#spentCents += spentCents;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const goOn of waiting) goOn();
  }
}
