// Rows of a job that wait for a rung which reads several pages in one call: they go together once nobody else can still come.
import type { Stopped } from "../../catalog/job-kind.ts";
import type { PagesWanted, RungSpec } from "../../catalog/tier.ts";
import type { GrowingRow } from "./page-row.ts";

/** Asks the rung for these rows, and notes in each what came of it. */
export type AskTogether = (rung: RungSpec, rows: readonly GrowingRow[]) => Promise<BatchEnd>;
/** Whether there was money for it, and somebody who may spend it. */
export type BatchEnd = "asked" | "over budget" | Stopped;

interface Waiting {
  readonly row: GrowingRow;
  readonly done: (end: BatchEnd | Promise<BatchEnd>) => void;
}

export type BatchWanted = Pick<PagesWanted, "format" | "mainContent">;

export class PageBatch {
  readonly #rung: RungSpec;
  readonly #ask: AskTogether;
  /** Rows that have begun and have neither come here nor passed by. */
  #coming = 0;
  #waiting: Waiting[] = [];

  constructor(rung: RungSpec, ask: AskTogether) {
    this.#rung = rung;
    this.#ask = ask;
  }

  get tag(): string {
    return this.#rung.tag;
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

  /** It has come; settles when it was asked about together with others. */
  join(row: GrowingRow): Promise<BatchEnd> {
    return new Promise((done) => {
      this.#coming -= 1;
      this.#waiting.push({ row, done });
      this.#goWhereFull();
    });
  }

  #goWhereFull(): void {
    const { pagesMax = 1 } = this.#rung;
    if (this.#waiting.length === 0 || (this.#coming > 0 && this.#waiting.length < pagesMax)) return;
    const together = this.#waiting.splice(0, pagesMax);
    const end = this.#ask(
      this.#rung,
      together.map(({ row }) => row),
    );
    for (const { done } of together) done(end);
  }
}
