// Records of prepaid machine time: one record per machine, and a calendar of when to end each.
import { hash } from "node:crypto";
import type { Nano } from "../../core/money.ts";
import type { Payer } from "../../core/plan.ts";
import { type Cleanup, type CleanupBook, enter, PAGE_MS } from "../../platform/records/cleanups.ts";
import type { Records } from "../../platform/records/records.ts";
import { revise } from "../../platform/records/revise.ts";

const KIND = "paid-time";
/** Finds the label by payer, adapter and vendor id. */
const BY_ID = "paid-time-id";
/** Longer than any vendor lets such a machine run. */
const KEPT_MS = 26 * 3_600_000;

export interface PrepaidSession {
  /** Our name for the machine, sent to the vendor. */
  readonly label: string;
  readonly adapter: string;
  readonly payer: Pick<Payer, "id" | "sandbox">;
  /** The vendor's id; null while its answer is outstanding. */
  readonly id: string | null;
  readonly beganAtMs: number;
  readonly endsAtMs: number;
  /** `ending`: it cannot be extended, but the vendor has not confirmed the end yet. */
  readonly state: "running" | "ending" | "ended";
  /** Absent where the vendor charges us only for the time. */
  readonly meter?: Meter;
}

/** What the vendor charges us besides the time. */
export interface Meter {
  readonly keyId: string;
  /** The sum counted as unpaid cost so far, in `steps` steps. */
  readonly countedNano: Nano;
  readonly steps: number;
  /** The sum counted once the current step is done; null between steps. */
  readonly pendingNano: Nano | null;
}

export interface Entry extends Cleanup {
  /** The entry is for reading the meter, not for ending the machine. */
  readonly isMeter?: true;
}

/** The calendar. */
export const PREPAID_SESSIONS: CleanupBook = {
  kind: "paid-time-end",
  ttlMs: KEPT_MS,
  listOf: (ms) => `paid-until:${Math.floor(ms / PAGE_MS)}`,
};

function idOf({ adapter, payer }: Pick<PrepaidSession, "adapter" | "payer">, id: string): string {
  return hash("sha256", JSON.stringify([payer.id, adapter, id]));
}

function entryId({ label, endsAtMs, isMeter }: Entry): string {
  return `${label} ${endsAtMs}${isMeter === true ? " meter" : ""}`;
}

export class PrepaidRecords {
  readonly #records: Records;

  constructor(records: Records) {
    this.#records = records;
  }

  async find(label: string): Promise<PrepaidSession | null> {
    const stored = await this.#records.get(KIND, label);
    return stored === null ? null : JSON.parse(stored.value);
  }

  /** Finds a payer's machine by vendor id; null where there is none, or it ended long ago. */
  async findById(of: Pick<PrepaidSession, "adapter" | "payer">, id: string): Promise<PrepaidSession | null> {
    const label = await this.#records.get(BY_ID, idOf(of, id));
    return label === null ? null : this.find(label.value);
  }

  /** Stores what `to` makes of a machine (null: of none), and returns it; where `to` returns null, nothing changes. */
  async change<T extends PrepaidSession | null>(label: string, to: (time: PrepaidSession | null) => T): Promise<T> {
    const kept = { payer: null, ttlMs: KEPT_MS };
    let time: PrepaidSession | null = null;
    await revise(this.#records, { ...kept, kind: KIND, id: label }, async (value) => {
      const before: PrepaidSession | null = value === null ? null : JSON.parse(value);
      time = to(before);
      if (time === null) return null;
      const { id, endsAtMs } = time;
      // First the calendar: a record without an entry would let the machine run for ever.
      if (endsAtMs !== before?.endsAtMs) await this.enter({ label, endsAtMs });
      const byId = { ...kept, kind: BY_ID, value: label, ifVersion: null };
      if (id !== null) await this.#records.put({ ...byId, id: idOf(time, id) });
      return JSON.stringify(time);
    });
    return time as T;
  }

  async enter(entry: Entry): Promise<void> {
    await enter(this.#records, PREPAID_SESSIONS, entryId(entry), entry);
  }

  /** Removes an entry, because nothing is left to end or another entry replaces it. */
  async strike({ label, endsAtMs }: Cleanup): Promise<void> {
    await this.#records.delete(PREPAID_SESSIONS.kind, entryId({ label, endsAtMs }));
  }
}
