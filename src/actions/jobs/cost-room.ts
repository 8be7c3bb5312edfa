// Limits what an account's running jobs may cost us beyond their holds: blocked pages and misses are free for payers, but not for us.

import { add, minus, type Nano, ZERO } from "../../core/money.ts";
import type { Overdraft } from "../../kernel/parent-funds.ts";

/** One allowance for all jobs of an account. When a job ends, the ledger counts its cost, and its share is free again. */
export class CostRooms {
  readonly #maxNano: Nano | null;
  readonly #drawn = new Map<string, Nano>();

  /** `maxNano` applies to each account; null: no bound. */
  constructor(maxNano: Nano | null) {
    this.#maxNano = maxNano;
  }

  of(accountId: string): Overdraft {
    const drawn = () => this.#drawn.get(accountId) ?? ZERO;
    return {
      has: (more) => this.#maxNano === null || add(drawn(), more) <= this.#maxNano,
      move: (from, to) => {
        const now = minus(add(drawn(), to), from);
        if (now === ZERO) this.#drawn.delete(accountId);
        else this.#drawn.set(accountId, now);
      },
    };
  }
}
