// Things that end at a set time, such as a box or a paid machine: a record of when, and one sweeper that ends them.
import type { Clock } from "../../core/clock.ts";
import type { Records, StoredRecord } from "./records.ts";

/** The span of time of one page of the calendar. */
export const PAGE_MS = 600_000;
const LOOK_MS = 5_000;
/** How far back all pages are read again, at a start and then this often: dead processes may have left entries on them. */
const BACK_MS = 8 * 3_600_000;
const BACK_EVERY_MS = 10 * 60_000;
const ROWS = 500;
const AT_ONCE = 16;

export interface Cleanup {
  /** Identifies it, also to its vendor. */
  readonly label: string;
  readonly endsAtMs: number;
  /** Not tried before this time. Absent: its end. */
  readonly nextMs?: number;
  /** The number of tries so far. Absent: none. */
  readonly tries?: number;
}

export interface CleanupBook {
  readonly kind: string;
  /** How long an entry is kept; null: until it has ended. */
  readonly ttlMs: number | null;
  /** The list for entries with this end: a single one, or one per page of `PAGE_MS`. */
  listOf(endsAtMs: number): string;
}

/** One kind of things that end at a set time. */
export interface CleanupKind<E extends Cleanup = Cleanup> {
  readonly book: CleanupBook;
  /** The pause after this many tries. */
  pauseMs(tries: number): number;
  /** True: it has ended, or must not be ended any more. If false or rejected, it is retried. May run twice for an entry. */
  end(ending: E, id: string): Promise<boolean>;
}

/** Once this resolves, the thing is ended at its time even if processes die. */
export async function enter<E extends Cleanup>(records: Records, book: CleanupBook, id: string, of: E): Promise<void> {
  const { kind, ttlMs } = book;
  const value = JSON.stringify(of);
  await records.put({ kind, id, payer: book.listOf(of.endsAtMs), value, ttlMs, ifVersion: null });
}

/** Entries for boxes once used `sinceMs`. */
function endingIn({ value }: StoredRecord): Cleanup {
  const { sinceMs, ...ending } = JSON.parse(value);
  return { endsAtMs: sinceMs, ...ending };
}

/** Entries that are overdue or not yet due. */
export interface CleanupsSeen {
  readonly count: number;
  /** How long the oldest is overdue; 0 if none is. */
  readonly oldestMs: number;
}

export interface CleanupsDeps {
  readonly records: Records;
  readonly clock: Clock;
  readonly onBroken: (error: unknown, label: string) => void;
}

interface Found {
  readonly lefts: readonly number[];
  /** Lists with overdue entries, each with a time on its page. */
  readonly open: ReadonlyMap<string, number>;
}

export class Cleanups {
  readonly #deps: CleanupsDeps;
  readonly #kinds: readonly CleanupKind<never>[];
  readonly #found = new Map<CleanupBook, Found>();
  #timer: NodeJS.Timeout | undefined;
  readonly #looking = new Map<CleanupBook, Promise<void>>();
  /** Kinds whose look was still in progress when a full look was due. */
  readonly #wholeOwed = new Set<CleanupBook>();
  #wholeAtMs = Number.NEGATIVE_INFINITY;
  #isStopped = false;

  /** Does nothing before `start`. */
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

  /** Looks at all kinds in parallel, never twice at one, so that none delays others. `isWhole`: far back, as at a start. */
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

  /** As of the last look. */
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

  /** When it was to end; null: it has ended. */
  async #end({ book, pauseMs, end }: CleanupKind, row: StoredRecord): Promise<number | null> {
    const { records, clock, onBroken } = this.#deps;
    const ending = endingIn(row);
    const { label, endsAtMs, nextMs = endsAtMs } = ending;
    const nowMs = Math.floor(clock.epochMs());
    if (nextMs > nowMs) return endsAtMs;
    const tries = (ending.tries ?? 0) + 1;
    const value = JSON.stringify({ ...ending, tries, nextMs: nowMs + pauseMs(tries) });
    // The process whose put of this version succeeds ends it.
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
