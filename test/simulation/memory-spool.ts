// A gateway's own disk in a simulation: a write is durable a moment later, and a crash in between may lose it.
import { GatewayError } from "../../src/core/errors.ts";
import type { Spool } from "../../src/money/ledger/spool/file.ts";
import { intentIn, intentText } from "../../src/money/ledger/spool/intent.ts";
import type { StoredIntent } from "../../src/money/ledger/spool/unit.ts";
import type { World } from "./network.ts";
import { OUTSIDE, type Owner } from "./virtual-time.ts";

interface Row {
  readonly seq: number;
  readonly text: string;
  readonly madeAtMs: number;
  durable: boolean;
  endedAtMs: number | null;
  outcome: string | null;
}

const NOTE_MS = 50;
/** Small, so that there are several pages. */
const PAGE_COUNT = 4;

/** The data that outlives the process. */
export class Disk {
  rows: Row[] = [];
  isFull = false;
  last = 0;

  /** The process has died: a share of its writes that were not yet durable survives. */
  crash(keptShare: number): void {
    const open = this.rows.filter((row) => !row.durable);
    const kept = new Set(open.slice(0, Math.floor(open.length * keptShare)));
    this.rows = this.rows.filter((row) => row.durable || kept.has(row));
    for (const row of kept) row.durable = true;
  }

  waiting(): Row[] {
    return this.rows.filter((row) => row.outcome === null);
  }
}

/** Opens the spool of a process on its disk. */
export function memorySpool(disk: Disk, owner: Owner, { time, chance, startMs }: World): Spool {
  let endings: { readonly seq: number; readonly outcome: string }[] = [];
  const full = () =>
    new GatewayError("ledger_unavailable", { retryAfterSeconds: 5, cause: new Error("the disk is full") });
  const stored = ({ seq, text, madeAtMs, outcome }: Row): StoredIntent => {
    return { seq, intent: intentIn(text), madeAtMs, outcome };
  };

  async function flush(): Promise<void> {
    const noted = endings;
    endings = [];
    await time.sleep(chance.between(0.1, 2), owner);
    for (const { seq, outcome } of noted) {
      const row = disk.rows.find((one) => one.seq === seq);
      if (row !== undefined) Object.assign(row, { outcome, endedAtMs: time.nowMs });
    }
  }

  return {
    async append(intent) {
      const text = intentText(intent);
      if (disk.isFull) {
        await time.sleep(1, owner);
        throw full();
      }
      const madeAtMs = startMs + time.nowMs;
      const row: Row = { seq: ++disk.last, text, madeAtMs, durable: false, endedAtMs: null, outcome: null };
      disk.rows.push(row);
      await new Promise<void>((safe) => {
        time.after(chance.between(0.2, 5), OUTSIDE, () => {
          if (owner.alive) row.durable = true;
          time.after(0, owner, safe);
        });
      });
      return stored(row);
    },
    end({ seq }, outcome) {
      if (endings.push({ seq, outcome }) === 1) time.after(NOTE_MS, owner, () => void flush());
    },
    async *pages(which) {
      const since = typeof which === "object" ? time.nowMs - which.endedWithinMs : 0;
      const found = disk.rows.filter(({ outcome, endedAtMs }) => {
        if (which === "all") return true;
        return which === "open" ? outcome === null : endedAtMs !== null && endedAtMs >= since;
      });
      await time.sleep(chance.between(0.1, 2), owner);
      const starts = [...found.keys()].filter((at) => at % PAGE_COUNT === 0);
      // Recent answers are read from the end.
      for (const at of typeof which === "object" ? starts.reverse() : starts)
        yield found.slice(at, at + PAGE_COUNT).map(stored);
    },
    requireRoom() {
      if (disk.isFull) throw full();
    },
    state: () => ({ depth: disk.waiting().length, oldestMs: 0 }),
    flush,
    close: flush,
  };
}
