// Adds an account's postings up again: for migration, and for the doctors, which compare the sums with what the store says.
import { centsUp, type Nano } from "../../../core/money.ts";
import type { NumberedPosting } from "../archive/archive.ts";
import { type Counted, countedIn } from "./counted.ts";
import { legsFault } from "./legs.ts";

/** Reports a finding. */
export type Say = (invariant: string, detail: string) => void;

export type DaySums = Pick<Counted, "spent" | "absorbed">;

type Added = Pick<NumberedPosting, "kind" | "keyId" | "day" | "inference" | "windows" | "amountNano"> &
  Pick<NumberedPosting, "chargedCents" | "upstreamNano" | "absorbedNano">;

/** The fields that a doctor reads: with millions of postings, each one costs. */
export type CheckedPosting = Added & Pick<NumberedPosting, "transactionId" | "createdAtMs" | "reference" | "legs">;

export class PostingSums {
  count = 0;
  charged = 0;
  credited = 0;
  cents = 0;
  absorbed = 0;
  /** By the store's name of a scope on a day. */
  readonly days = new Map<string, Counted>();
  readonly #nameOf: (scope: string, day: number) => string;

  constructor(nameOf: (scope: string, day: number) => string) {
    this.#nameOf = nameOf;
  }

  /** `isWhole`: its absorbed cost counts in its day too. */
  add(posting: Added, isWhole = true): void {
    this.count += 1;
    this.cents += posting.chargedCents;
    this.absorbed += posting.absorbedNano;
    if (posting.kind !== "charge") {
      this.credited += posting.amountNano;
      return;
    }
    this.charged += posting.amountNano;
    for (const counted of countedIn(posting)) {
      const name = this.#nameOf(counted.scope, counted.day);
      const before = this.days.get(name);
      const spent = counted.spent + (before?.spent ?? 0);
      const absorbed = (isWhole ? counted.absorbed : 0) + (before?.absorbed ?? 0);
      this.days.set(name, { ...counted, spent, absorbed });
    }
  }
}

/** A doctor's walk along an account's postings, newest first. */
export class PostingWalk extends PostingSums {
  readonly #say: Say;
  /** Refunds whose charge has not appeared yet; it is older, so it must follow. */
  readonly #refunds = new Map<string, number>();
  #laterMs: number;

  constructor(nameOf: (scope: string, day: number) => string, clockMs: number, say: Say) {
    super(nameOf);
    this.#laterMs = clockMs;
    this.#say = say;
  }

  /** I4, I9, I12, I13. */
  take(posting: CheckedPosting, isWhole = true): void {
    const { transactionId, kind, createdAtMs, amountNano: amount, reference } = posting;
    this.add(posting, isWhole);
    if (createdAtMs > this.#laterMs)
      this.#say("I12", `${transactionId} is of ${createdAtMs}, later than what came after it`);
    this.#laterMs = createdAtMs;
    if (kind === "refund") this.#refunds.set(reference ?? "", amount);
    if (kind !== "charge") return;
    const fault = legsFault(posting);
    if (fault !== null) this.#say("I13", fault);
    const refunded = this.#refunds.get(transactionId) ?? amount;
    if (refunded !== amount) this.#say("I9", `${refunded} was refunded for ${transactionId}, which charged ${amount}`);
    this.#refunds.delete(transactionId);
    if (posting.keyId === null || posting.day === null)
      this.#say("I4", `the charge ${transactionId} belongs to no key or no day`);
  }

  /** I1, I4, I7, I9, I15. `days`: the names of the store's days; `stored` reads one, or null where it may be gone. */
  end(
    { granted, spent, absorbed }: { readonly granted: number; readonly spent: number; readonly absorbed: number },
    days: Iterable<string>,
    stored: (name: string) => DaySums | null,
  ): void {
    const say = this.#say;
    const spentCents = centsUp(spent as Nano);
    if (spent !== this.charged) say("I1", `spent is ${spent}, its charges add up to ${this.charged}`);
    if (granted !== this.credited)
      say("I1", `granted is ${granted}, its top-ups and refunds add up to ${this.credited}`);
    if (this.cents !== spentCents) say("I7", `charged cents add up to ${this.cents}, what is spent is ${spentCents}`);
    if (absorbed !== this.absorbed)
      say("I9", `absorbed is ${absorbed}, its postings' shortfalls add up to ${this.absorbed}`);
    for (const charge of this.#refunds.keys()) say("I9", `${charge} was refunded and never charged`);
    for (const name of new Set([...days, ...this.days.keys()])) {
      const sum = this.days.get(name) ?? { spent: 0, absorbed: 0, isCost: false };
      const day = stored(name);
      if (day === null) continue;
      // Uncharged calls leave no posting, so a day may have more cost than its postings, and never less.
      if (sum.isCost && day.spent < sum.spent)
        say("I15", `${name} says ${day.spent}, its postings alone add up to ${sum.spent}`);
      for (const what of sum.isCost ? [] : (["spent", "absorbed"] as const))
        if (day[what] !== sum[what])
          say("I4", `${name} says ${day[what]} is ${what}, its postings add up to ${sum[what]}`);
    }
  }
}
