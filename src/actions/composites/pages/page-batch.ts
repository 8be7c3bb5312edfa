// Collects rows for a rung that reads several pages per call, and sends them once no further row can come.
import type { Stopped } from "../../../catalog/job-kind.ts";
import type { RungSpec } from "../../../catalog/page-ladder.ts";
import type { GrowingRow } from "./page-row.ts";

/** `asked`, or why the rung was not asked: no money, the payer's or ours, or a payer that may not spend it. */
export type AskEnd = "asked" | "over budget" | "unpaid_costs" | Stopped;
export type AskRung = (rung: RungSpec, rows: readonly GrowingRow[]) => Promise<AskEnd>;

interface Waiting {
  readonly row: GrowingRow;
  readonly done: (end: AskEnd | Promise<AskEnd>) => void;
}

export class PageBatch {
  readonly rung: RungSpec;
  readonly #ask: AskRung;
  readonly #patienceMs: number | null;
  /** Rows in progress that have neither arrived here nor passed by. */
  #coming = 0;
  #waiting: Waiting[] = [];
  #timer: NodeJS.Timeout | null = null;

  /** `patienceMs`: how long rows wait for others that may still come; null: without limit. */
  constructor(rung: RungSpec, ask: AskRung, patienceMs: number | null) {
    this.rung = rung;
    this.#ask = ask;
    this.#patienceMs = patienceMs;
  }

  begun(): void {
    this.#coming += 1;
  }

  passed(): void {
    this.#coming -= 1;
    this.#goWhereFull();
  }

  /** A row has arrived; settles when the rung was asked for it, possibly together with others. */
  join(row: GrowingRow): Promise<AskEnd> {
    return new Promise((done) => {
      this.#coming -= 1;
      this.#waiting.push({ row, done });
      this.#goWhereFull();
      if (this.#waiting.length > 0 && this.#patienceMs !== null)
        this.#timer ??= setTimeout(() => this.#go(), this.#patienceMs);
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
