// What ends by itself, such as a box that is to be closed or a machine whose paid time is over: one record of when, and one sweeper that ends it.
import type { Clock } from "../../core/clock.ts";
import type { Records, StoredRecord } from "./records.ts";

/** What a calendar keeps on one page: all that ends within so long. */
export const PAGE_MS = 600_000;
const LOOK_MS = 5_000;
/** So far back every page is read again, at a start and then this often: what processes that died have left is on them. */
const BACK_MS = 8 * 3_600_000;
const BACK_EVERY_MS = 10 * 60_000;
const ROWS = 500;
const AT_ONCE = 16;

/** That something ends, and when. */
export interface Cleanup {
  /** What it is known by, to its vendor too. */
  readonly label: string;
  readonly endsAtMs: number;
  /** It is left alone until then. Absent: until it ends. */
  readonly nextMs?: number;
  /** How often it was tried to end it. Absent: never. */
  readonly tries?: number;
}

/** Where endings of one kind are kept. */
export interface CleanupBook {
  /** Of the records. */
  readonly kind: string;
  /** How long one is kept; null: until it has ended. */
  readonly ttlMs: number | null;
  /** The list on which one stands that ends then: one for all, or a page of `PAGE_MS`. */
  listOf(endsAtMs: number): string;
}

/** One kind of what ends by itself. */
export interface CleanupKind<E extends Cleanup = Cleanup> {
  readonly book: CleanupBook;
  /** How long one is left alone that was tried so often. */
  pauseMs(tries: number): number;
  /** True: it has ended, or is not to be ended any more. False, or where it rejects: it is tried again. May be asked twice. */
  end(ending: E, id: string): Promise<boolean>;
}

/** From here on it is ended at its time, whichever process dies. */
export async function enter<E extends Cleanup>(records: Records, book: CleanupBook, id: string, of: E): Promise<void> {
  const { kind, ttlMs } = book;
  const value = JSON.stringify(of);
  await records.put({ kind, id, payer: book.listOf(of.endsAtMs), value, ttlMs, ifVersion: null });
}

/** Boxes were kept with `sinceMs` once. */
function endingIn({ value }: StoredRecord): Cleanup {
  const { sinceMs, ...ending } = JSON.parse(value);
  return { endsAtMs: sinceMs, ...ending };
}

/** What has not ended though its time was over, or that is not due yet. */
export interface CleanupsSeen {
  readonly count: number;
  /** How long the oldest of them is over its time; 0 where there is none. */
  readonly oldestMs: number;
}

export interface CleanupsDeps {
  readonly records: Records;
  readonly clock: Clock;
  readonly onBroken: (error: unknown, label: string) => void;
}

/** What one look has found of one kind. */
interface Found {
  readonly lefts: readonly number[];
  /** Lists on which something is over its time, with a moment of theirs. */
  readonly open: ReadonlyMap<string, number>;
}

export class Cleanups {
  readonly #deps: CleanupsDeps;
  readonly #kinds: readonly CleanupKind<never>[];
  readonly #found = new Map<CleanupBook, Found>();
  #timer: NodeJS.Timeout | undefined;
  /** Looks under way, one of each kind at most. */
  readonly #looking = new Map<CleanupBook, Promise<void>>();
  /** Kinds whose last look was still under way when it was time to look far back. */
  readonly #wholeOwed = new Set<CleanupBook>();
  #wholeAtMs = Number.NEGATIVE_INFINITY;
  #isStopped = false;

  /** Nothing is looked at before `start`. */
  constructor(deps: CleanupsDeps, kinds: readonly CleanupKind<never>[]) {
    this.#deps = deps;
    this.#kinds = kinds;
  }

  start(): void {
    const { clock, onBroken } = this.#deps;
    const look = () => {
      const isWhole = clock.elapsedMs() - this.#wholeAtMs > BACK_EVERY_MS;
      void this.look(isWhole).catch((error: unknown) => onBroken(error, ""));
    };
    this.#timer = setInterval(look, LOOK_MS);
    this.#timer.unref();
    look();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#timer);
    await Promise.allSettled(this.#looking.values());
  }

  /**
   * Looks now, at all kinds side by side and never twice at one of them: a vendor that is slow to end its own keeps no other kind waiting.
   * `isWhole`: far back, as at a start. Rejects where the store is away.
   */
  async look(isWhole: boolean): Promise<void> {
    if (isWhole) this.#wholeAtMs = this.#deps.clock.elapsedMs();
    await Promise.all(this.#kinds.map((kind) => this.#lookOnce(kind, isWhole)));
  }

  #lookOnce(kind: CleanupKind<never>, isWhole: boolean): Promise<void> {
    const { book } = kind;
    let looking = this.#looking.get(book);
    if (looking === undefined) {
      const isOwed = this.#wholeOwed.delete(book);
      looking = this.#lookAt(kind, isWhole || isOwed)
        .then((found) => void this.#found.set(book, found))
        .finally(() => this.#looking.delete(book));
      this.#looking.set(book, looking);
    } else if (isWhole) this.#wholeOwed.add(book);
    return looking;
  }

  /** As the last look left it. */
  seen(book: CleanupBook): CleanupsSeen {
    const { lefts = [] } = this.#found.get(book) ?? {};
    const oldest = lefts.reduce((least, one) => Math.min(least, one), Number.POSITIVE_INFINITY);
    return { count: lefts.length, oldestMs: Math.max(0, Math.floor(this.#deps.clock.epochMs()) - oldest) };
  }

  async #lookAt(kind: CleanupKind<never>, isWhole: boolean): Promise<Found> {
    const { records, clock } = this.#deps;
    const { book } = kind;
    const nowMs = Math.floor(clock.epochMs());
    const lists = new Map([...(this.#found.get(book)?.open ?? [])].filter(([, atMs]) => atMs > nowMs - BACK_MS));
    for (let atMs = nowMs - (isWhole ? BACK_MS : PAGE_MS); atMs <= nowMs; atMs += PAGE_MS)
      lists.set(book.listOf(atMs), atMs);
    const lefts: number[] = [];
    const open = new Map<string, number>();
    for (const [list, atMs] of lists) {
      let cursor: string | null = null;
      do {
        const page = await records.list(book.kind, list, ROWS, cursor);
        for (let at = 0; at < page.rows.length && !this.#isStopped; at += AT_ONCE) {
          const some = page.rows.slice(at, at + AT_ONCE);
          const left = (await Promise.all(some.map((row) => this.#end(kind, row)))).filter((one) => one !== null);
          lefts.push(...left);
          if (left.some((endsAtMs) => endsAtMs <= nowMs)) open.set(list, atMs);
        }
        cursor = page.next;
      } while (cursor !== null);
    }
    return { lefts, open };
  }

  /** When it was to end; null: it has. */
  async #end({ book, pauseMs, end }: CleanupKind, row: StoredRecord): Promise<number | null> {
    const { records, clock, onBroken } = this.#deps;
    const ending = endingIn(row);
    const { label, endsAtMs, nextMs = endsAtMs } = ending;
    const nowMs = Math.floor(clock.epochMs());
    if (nextMs > nowMs) return endsAtMs;
    const tries = (ending.tries ?? 0) + 1;
    const value = JSON.stringify({ ...ending, tries, nextMs: nowMs + pauseMs(tries) });
    // The process that puts this version first ends it now.
    const { kind, id, payer, version } = row;
    if ((await records.put({ kind, id, payer, value, ttlMs: book.ttlMs, ifVersion: version })) === null)
      return endsAtMs;
    try {
      if (!(await end(ending, id))) return endsAtMs;
      await records.delete(kind, id);
      return null;
    } catch (error) {
      onBroken(error, label);
      return endsAtMs;
    }
  }
}
