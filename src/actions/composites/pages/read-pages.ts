// How all composites read pages: each page rung by rung until one has read it, those that can go in one call together.
import type { PagesWanted, RungSpec } from "../../../catalog/page-ladder.ts";
import type { Clock } from "../../../core/clock.ts";
import { bounded } from "../bounded.ts";
import { type AskEnd, type AskRung, PageBatch } from "./page-batch.ts";
import type { GrowingRow } from "./page-row.ts";
import { type RungOutcome, type RungParts, readRung, rungAction } from "./read-rung.ts";

/** No rung has longer for one call. */
const RUNG_MS_MAX = 20_000;
/** Where a caller waits: one slow page must not hold up those that could go on. */
export const SYNC_PATIENCE_MS = 500;

export interface PageReaderOptions {
  /** In the order in which they are asked. */
  readonly rungs: readonly RungSpec[];
  readonly ask: AskRung;
  /** Whether a rung can be asked at all: for one that cannot no page waits. */
  canAsk(rung: RungSpec): boolean;
  readonly signal: AbortSignal;
  /** How long a page waits for others that may go with it; null: as long as one of them can still come. */
  readonly patienceMs: number | null;
}

export class PageReader {
  readonly #options: PageReaderOptions;
  readonly #batches: readonly PageBatch[];

  constructor(options: PageReaderOptions) {
    const { rungs, ask, patienceMs } = options;
    this.#options = options;
    this.#batches = rungs
      .filter((rung) => (rung.pagesMax ?? 1) > 1 && options.canAsk(rung))
      .map((rung) => new PageBatch(rung, ask, patienceMs));
  }

  /** Asks the rungs about a page until it is read. Answers why it ended before its rungs did; null: it did not. */
  async read(row: GrowingRow): Promise<Exclude<AskEnd, "asked"> | null> {
    const { rungs, ask, signal } = this.#options;
    const ahead = new Set(this.#batches);
    for (const batch of ahead) batch.begun();
    // Those that begin together know of each other before the first of them goes anywhere.
    await Promise.resolve();
    try {
      for (const rung of rungs) {
        if (row.isDone || signal.aborted) break;
        const batch = this.#batches.find((one) => one.rung === rung);
        if (batch !== undefined) ahead.delete(batch);
        const end = await (batch === undefined ? ask(rung, [row]) : batch.join(row));
        if (end !== "asked") return end;
      }
      return null;
    } finally {
      for (const batch of ahead) batch.passed();
    }
  }
}

/** What a rung came to, and how long it took. */
export interface Asked {
  readonly outcome: RungOutcome;
  readonly ms: number;
}

export interface AskBounds {
  readonly clock: Clock;
  /** On `clock.elapsedMs()`; after it no rung is asked. */
  readonly untilMs: number;
  readonly signal: AbortSignal;
}

/** Asks a rung within its time. Rejects where a call of `parts` does. */
export async function askRung(
  rung: RungSpec,
  wanted: PagesWanted,
  { clock, untilMs, signal }: AskBounds,
  parts: RungParts,
): Promise<Asked> {
  const fromMs = clock.elapsedMs();
  const action = rungAction(rung, wanted.format);
  if (untilMs <= fromMs) return { outcome: { kind: "skipped", action, why: "time" }, ms: 0 };
  const late: RungOutcome = { kind: "failed", action, id: null, why: "it took too long" };
  const bounds = { msMax: Math.min(RUNG_MS_MAX, untilMs - fromMs), signal };
  const outcome = await bounded((stop) => readRung(rung, wanted, stop, parts), late, bounds);
  return { outcome, ms: clock.elapsedMs() - fromMs };
}

/** Notes in each row what a rung came to: the first page that was read carries the cents. Answers what is spent, and what earlier rungs are no longer paid. */
export function noteAsked(
  rung: RungSpec,
  rows: readonly GrowingRow[],
  { outcome, ms }: Asked,
  cents: number,
): { readonly spentCents: number; readonly givenUpCents: number } {
  let [spentCents, givenUpCents] = [0, 0];
  for (const row of rows) {
    const before = row.cents;
    if (!row.note(rung, outcome, ms, cents - spentCents)) continue;
    spentCents = cents;
    givenUpCents += before;
  }
  return { spentCents, givenUpCents };
}
