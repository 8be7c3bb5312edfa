// The budget of a deep job's steps, at the contract's prices: each step reserves its price before it runs, and is charged only for what it
// brought. The cost of the calls to us has a separate bound: the job's Spend.
import { z } from "zod";

/** The param that sets it; `usual`: the default, in words. */
export function budgetCents(min: number, max: number, usual: string) {
  const words = `The most that it may cost; held until it ends. Default ${usual}`;
  return z.int().min(min).max(max).optional().describe(words);
}

/** In whole cents. Kept in memory only: after a crash, the finished rows and their costs remain. */
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

  /** Reserves a step's price; where there is no room, waits for running steps. False where there is none after that either. */
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

  /** Adds cents for which nothing was reserved. */
  charge(cents: number): void {
    this.#spentCents += cents;
  }

  /** Ends a step: releases its reservation, and counts what it spent. */
  settle(asideCents: number, spentCents: number): void {
    this.#asideCents -= asideCents;
    this.#spentCents += spentCents;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const goOn of waiting) goOn();
  }
}
