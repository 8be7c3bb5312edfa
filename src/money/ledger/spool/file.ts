// The spool's interface: an intent is written before it is sent to the store, and marked once the store answers. Bounded in size.
import { type Clock, steadyClock } from "../../../core/clock.ts";
import { GatewayError } from "../../../core/errors.ts";
import type { DiskBounds } from "../../../platform/storage/disk-guard.ts";
import { openSqliteThread } from "../../../platform/storage/sqlite-thread.ts";
import type { UnitCaller } from "../../../platform/storage/thread-client.ts";
import { type Intent, intentText } from "./intent.ts";
import type { Ending, SpoolOperations, SpoolPage, StoredIntent } from "./unit.ts";

const SPOOL_UNIT = new URL("./unit.ts", import.meta.url);

/** How long an answered intent is kept, in case the store loses its answer. */
export const KEEP_MS = 10 * 60_000;
/** The most undelivered ends; beyond this no new hold is placed. */
const OPEN_MAX = 20_000;
/** The most intents in the file; beyond this the oldest answered ones are dropped early. About 1 GB. */
const KEPT_MAX = 1_500_000;
const PAGE_COUNT = 500;
/** Answers are noted in batches: a lost note causes a harmless replay. */
const NOTE_MS = 50;
const NOTE_COUNT = 256;
const PROBE_MS = 1_000;
const RETRY_AFTER_SECONDS = 5;

export interface SpoolState {
  readonly depth: number;
  /** Age of the oldest undelivered intent; 0 where there is none. */
  readonly oldestMs: number;
}

export type Spool = Awaited<ReturnType<typeof openSpool>>;

export interface SpoolOptions {
  readonly file: string;
  readonly clock: Clock;
  readonly disk?: DiskBounds;
  readonly openMax?: number;
  /** Called where the file is broken for good: the process should exit. */
  readonly onFatal: (error: Error) => void;
}

function noRoom(cause: unknown): GatewayError {
  return new GatewayError("ledger_unavailable", { cause, retryAfterSeconds: RETRY_AFTER_SECONDS, nothingDone: true });
}

/** The stored intents, a page at a time. */
async function* pagesOf(
  call: UnitCaller<SpoolOperations>,
  which: SpoolPage["which"],
): AsyncGenerator<readonly StoredIntent[]> {
  for (let beyond = 0; ; ) {
    const page = await call("page", { beyond, limit: PAGE_COUNT, which });
    const edge = page.at(typeof which === "string" ? -1 : 0);
    if (edge === undefined) return;
    yield page;
    beyond = edge.seq;
  }
}

/** Opens this process's spool. Rejects where another process has it open. A leap of the system clock makes no answer look old. */
export async function openSpool(options: SpoolOptions) {
  const { file, disk, openMax = OPEN_MAX, onFatal } = options;
  const clock = steadyClock(options.clock);
  const units = { units: { spool: SPOOL_UNIT }, ...(disk === undefined ? {} : { disk }) };
  const thread = await openSqliteThread({ file, clock, onFatal, ...units });
  const call = thread.unit<SpoolOperations>("spool");
  /** When each undelivered intent was made, oldest first. */
  const open = new Map<number, number>();
  let endings = new Map<number, Ending>();
  let noting: NodeJS.Timeout | null = null;
  let probedMs = Number.NEGATIVE_INFINITY;
  let broken: unknown = null;

  async function flush(): Promise<void> {
    clearTimeout(noting ?? undefined);
    noting = null;
    if (endings.size === 0) return;
    const noted = endings;
    endings = new Map();
    try {
      await call("end", { endings: [...noted.values()], keepMs: KEEP_MS, keptMax: KEPT_MAX });
    } catch (error) {
      broken = error;
      endings = new Map([...noted, ...endings]);
    }
  }

  function probe(): void {
    probedMs = clock.elapsedMs();
    call("probe", null).then(
      () => {
        broken = null;
        void flush();
      },
      (error: unknown) => {
        broken = error;
      },
    );
  }

  for await (const page of pagesOf(call, "open")) for (const { seq, madeAtMs } of page) open.set(seq, madeAtMs);
  return {
    /** Writes an intent durably; rejects with `ledger_unavailable` where that fails. */
    async append(intent: Intent): Promise<StoredIntent> {
      const { seq, madeAtMs } = await call("append", intentText(intent)).catch((error: unknown) => {
        broken = error;
        throw error;
      });
      open.set(seq, madeAtMs);
      return { seq, madeAtMs, intent, outcome: null };
    },
    /** Marks an intent as answered. `isAlone`: no replica may have the answer yet, so it is kept until it is marked again. */
    end({ seq }: StoredIntent, outcome: string, isAlone = false): void {
      open.delete(seq);
      endings.set(seq, { seq, outcome, isAlone });
      if (endings.size >= NOTE_COUNT && broken === null) void flush();
      else noting ??= setTimeout(() => void flush(), NOTE_MS);
    },
    pages: (which: SpoolPage["which"]): AsyncIterable<readonly StoredIntent[]> => pagesOf(call, which),
    /** Throws `ledger_unavailable` where another call's end might not fit. */
    requireRoom(): void {
      if (clock.elapsedMs() - probedMs >= PROBE_MS) probe();
      if (broken === null && open.size < openMax) return;
      throw noRoom(broken ?? new Error(`${open.size} ends of calls wait for the store`));
    },
    state(): SpoolState {
      const [oldest] = open.values();
      return { depth: open.size, oldestMs: oldest === undefined ? 0 : Math.max(0, clock.epochMs() - oldest) };
    },
    /** Writes the noted answers to disk. */
    flush,
    close: () => flush().then(() => thread.close()),
  };
}
