// What an account's jobs may cost us beyond their holds while they run here: walls and misses are free for their payers, and not for us.

import { add, minus, type Nano, ZERO } from "../../core/money.ts";
import type { Overdraft } from "../../kernel/parent-funds.ts";

/** The jobs of one account share its room. When a job has ended, the ledger counts what it has cost, and the room is free again. */
export class CostRooms {
  readonly #maxNano: Nano | null;
  readonly #drawn = new Map<string, Nano>();

  /** `maxNano`: of each account; null: there is no bound. */
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
