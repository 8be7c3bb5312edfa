// Funds of an inner call: a part of what its parent may spend. Balance, ceiling and slots were already checked for the parent.
import { GatewayError } from "../core/errors.ts";
import { add, least, minus, most, type Nano, usdText, ZERO } from "../core/money.ts";
import type { Capture, Charge, Funds, Held, Plan, Release } from "../core/plan.ts";
import { upstreamOf } from "./legs.ts";

/** What counts against the parent's bound: the inner call's price, or our cost for it. */
export type Counted = "price" | "upstream_cost";

/** Reserves and spends the money of inner calls. */
export interface Spending {
  readonly counted: Counted;
  /** Reserves an amount; false where there is no room. */
  setAside(amount: Nano): boolean;
  /** Ends a reservation, of which `spent` was spent. */
  settle(aside: Nano, spent: Nano): void;
}

/** Spending for work that restarts from its beginning if its process dies before `end`. */
export interface SpendPart extends Spending {
  /** So far. */
  readonly spentNano: Nano;
  end(): void;
}

/** Room beyond a spend's limit, which several spends may share. */
export interface Overdraft {
  /** True if there is room for this much more. */
  has(more: Nano): boolean;
  /** Updates what one spend has drawn. */
  move(from: Nano, to: Nano): void;
}

/** What a parent lets its inner calls spend. Kept in memory only: after a crash, just the parent's hold remains. */
export class Spend implements Spending {
  readonly counted: Counted;
  #limitNano: Nano;
  #asideNano = ZERO;
  #spentNano: Nano;
  /** Spent by parts that have not ended. */
  #openNano = ZERO;
  #overdraft: Overdraft | null;
  #drawnNano = ZERO;

  /** `spent`: the amount already spent, where it resumes work of another process. */
  constructor(limitNano: Nano, counted: Counted, spent: Nano = ZERO, overdraft: Overdraft | null = null) {
    this.#limitNano = limitNano;
    this.counted = counted;
    this.#spentNano = spent;
    this.#overdraft = overdraft;
    this.#draw();
  }

  get limitNano(): Nano {
    return this.#limitNano;
  }

  /** Call when the parent's hold has grown. */
  raise(limitNano: Nano): void {
    this.#limitNano = most(this.#limitNano, limitNano);
    this.#draw();
  }

  get spentNano(): Nano {
    return this.#spentNano;
  }

  /** Excludes open parts: after a crash, the next runner repeats them at our cost. */
  get finishedNano(): Nano {
    return minus(this.#spentNano, this.#openNano);
  }

  /** Neither spent nor reserved. */
  get freeNano(): Nano {
    return minus(this.limitNano, least(this.limitNano, add(this.#spentNano, this.#asideNano)));
  }

  setAside(amount: Nano): boolean {
    const free = this.freeNano;
    if (amount > free && this.#overdraft?.has(minus(amount, free)) !== true) return false;
    this.#asideNano = add(this.#asideNano, amount);
    this.#draw();
    return true;
  }

  settle(aside: Nano, spent: Nano): void {
    this.#asideNano = minus(this.#asideNano, aside);
    this.#spentNano = add(this.#spentNano, spent);
    this.#draw();
  }

  /** Ends the work: the overdraft is free for others again, and a late call draws nothing. */
  close(): void {
    this.#overdraft?.move(this.#drawnNano, ZERO);
    this.#overdraft = null;
  }

  #draw(): void {
    if (this.#overdraft === null) return;
    const used = add(this.#spentNano, this.#asideNano);
    const beyond = minus(used, least(used, this.#limitNano));
    this.#overdraft.move(this.#drawnNano, beyond);
    this.#drawnNano = beyond;
  }

  part(): SpendPart {
    let openNano = ZERO;
    let isOpen = true;
    return {
      counted: this.counted,
      get spentNano() {
        return openNano;
      },
      setAside: (amount) => this.setAside(amount),
      settle: (aside, spent) => {
        this.settle(aside, spent);
        if (!isOpen) return;
        openNano = add(openNano, spent);
        this.#openNano = add(this.#openNano, spent);
      },
      end: () => {
        if (isOpen) this.#openNano = minus(this.#openNano, openNano);
        isOpen = false;
      },
    };
  }
}

export class ParentFunds implements Funds {
  readonly #spend: Spending;

  constructor(spend: Spending) {
    this.#spend = spend;
  }

  async reserve(plan: Plan, id: string): Promise<Held | GatewayError> {
    const { nano, tighten, upstreamNano } = plan.quote;
    let amountNano = this.#spend.counted === "price" ? nano : upstreamNano();
    if (this.#spend.setAside(amountNano)) return { id, amountNano };
    if (tighten !== null) {
      // An exact token count may fit where the cheap bound did not.
      const tightNano = await tighten();
      amountNano = this.#spend.counted === "price" ? tightNano : upstreamNano();
      if (this.#spend.setAside(amountNano)) return { id, amountNano };
    }
    return new GatewayError("over_budget", { detail: { needed_usd: usdText(amountNano) } });
  }

  async capture({ id, amountNano }: Held, { cost, legs }: Capture): Promise<Charge> {
    const chargedNano = this.#spend.counted === "price" ? least(cost.chargeNano, amountNano) : upstreamOf(legs);
    this.#spend.settle(amountNano, chargedNano);
    return {
      transactionId: id,
      chargedNano,
      chargedCents: 0,
      absorbedNano: ZERO,
      absorbReason: null,
      balanceNano: null,
    };
  }

  /** A failed call costs its payer nothing, but it may have cost us. */
  async release({ amountNano }: Held, { legs }: Release): Promise<void> {
    this.#spend.settle(amountNano, this.#spend.counted === "price" ? ZERO : upstreamOf(legs));
  }

  async balance(): Promise<null> {
    return null;
  }

  async charged(): Promise<null> {
    return null;
  }
}
