// Reads pages for all composites: rung by rung until one has read the page, with several pages per call where possible.
import type { PagesWanted, RungSpec } from "../../../catalog/page-ladder.ts";
import { bounded, type Clock } from "../../../core/clock.ts";
import { type AskEnd, type AskRung, PageBatch } from "./page-batch.ts";
import { GrowingRow } from "./page-row.ts";
import { cannotAsk, type RungOutcome, type RungParts, readRung, rungAction } from "./read-rung.ts";

const RUNG_MS_MAX = 20_000;
/** For synchronous calls: a slow page must not hold up the others. */
const SYNC_PATIENCE_MS = 500;

export interface PageReaderOptions {
  /** In the order of asking. */
  readonly rungs: readonly RungSpec[];
  readonly ask: AskRung;
  /** Whether a rung can be tried at all; pages do not wait for one that cannot. */
  canAsk(rung: RungSpec): boolean;
  readonly signal: AbortSignal;
  /** How long a page waits for others to share a call; null: for as long as one may still come. */
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

  /** Asks the rungs until the page is read. Returns why it ended early; null where it did not. */
  async read(row: GrowingRow): Promise<Exclude<AskEnd, "asked"> | null> {
    const { rungs, ask, signal } = this.#options;
    const ahead = new Set(this.#batches);
    for (const batch of ahead) batch.begun();
    // Let pages that begin together register before the first of them moves on.
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

export interface Asked {
  readonly outcome: RungOutcome;
  readonly ms: number;
}

export interface AskBounds {
  readonly clock: Clock;
  /** On `clock.elapsedMs()`; no rung is tried afterwards. */
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

/**
 * Records a rung's outcome in each row; the first row that takes its page carries the cents. Returns the cents spent, and those that rows
 * no longer pay for earlier rungs.
 */
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

export interface PagesOrder {
  readonly urls: readonly string[];
  readonly wanted: Omit<PagesWanted, "urls">;
  /** In the order of asking. */
  readonly rungs: readonly RungSpec[];
  readonly bounds: AskBounds;
  readonly onAsked?: (rung: RungSpec, rows: readonly GrowingRow[], asked: Asked) => void;
}

export async function readPages(order: PagesOrder, parts: RungParts): Promise<readonly GrowingRow[]> {
  const { wanted, rungs, bounds, onAsked } = order;
  const reader = new PageReader({
    rungs,
    canAsk: (rung) => cannotAsk(rung, wanted.format, parts) === null,
    signal: bounds.signal,
    patienceMs: SYNC_PATIENCE_MS,
    async ask(rung, rows) {
      const asked = await askRung(rung, { ...wanted, urls: rows.map(({ url }) => url) }, bounds, parts);
      noteAsked(rung, rows, asked, rung.cents);
      onAsked?.(rung, rows, asked);
      return "asked";
    },
  });
  const rows = order.urls.map((url) => new GrowingRow(url, wanted));
  await Promise.all(rows.map((row) => reader.read(row)));
  return rows;
}
