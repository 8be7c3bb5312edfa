// Rows that wait for a rung which reads several pages in one call: they go together once no other can still come.
import type { Stopped } from "../../../catalog/job-kind.ts";
import type { RungSpec } from "../../../catalog/page-ladder.ts";
import type { GrowingRow } from "./page-row.ts";

/** Whether there was money for it, the payer's and ours, and a payer who may spend it. */
export type AskEnd = "asked" | "over budget" | "unpaid_costs" | Stopped;
/** Asks the rung for these rows, and notes in each what came of it. */
export type AskRung = (rung: RungSpec, rows: readonly GrowingRow[]) => Promise<AskEnd>;

interface Waiting {
  readonly row: GrowingRow;
  readonly done: (end: AskEnd | Promise<AskEnd>) => void;
}

export class PageBatch {
  readonly rung: RungSpec;
  readonly #ask: AskRung;
  readonly #patienceMs: number | null;
  /** Rows that have begun and have neither come here nor passed by. */
  #coming = 0;
  #waiting: Waiting[] = [];
  #timer: NodeJS.Timeout | null = null;

  /** `patienceMs`: after so long those who wait go without those who may still come; null: never. */
  constructor(rung: RungSpec, ask: AskRung, patienceMs: number | null) {
    this.rung = rung;
    this.#ask = ask;
    this.#patienceMs = patienceMs;
  }

  /** A row has begun, which may come. */
  begun(): void {
    this.#coming += 1;
  }

  /** It will not come. */
  passed(): void {
    this.#coming -= 1;
    this.#goWhereFull();
  }

  /** It has come; settles when it was asked about, together with others where there are others. */
  join(row: GrowingRow): Promise<AskEnd> {
    return new Promise((done) => {
      this.#coming -= 1;
      this.#waiting.push({ row, done });
      this.#goWhereFull();
      if (this.#waiting.length > 0 && this.#patienceMs !== null) {
        this.#timer ??= setTimeout(() => this.#go(), this.#patienceMs);
      }
    });
  }

  #goWhereFull(): void {
    const { pagesMax = 1 } = this.rung;
    if (this.#waiting.length > 0 && (this.#coming === 0 || this.#waiting.length >= pagesMax)) this.#go();
  }

  #go(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const together = this.#waiting.splice(0, this.rung.pagesMax ?? 1);
    const end = this.#ask(
      this.rung,
      together.map(({ row }) => row),
    );
    for (const { done } of together) done(end);
  }
}
