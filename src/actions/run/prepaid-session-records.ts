// Records of prepaid machine time: one record per machine, and a calendar of when to end each.
import { hash } from "node:crypto";
import type { Nano } from "../../core/money.ts";
import type { Payer } from "../../core/plan.ts";
import { type Cleanup, type CleanupBook, enter, PAGE_MS } from "../../platform/records/cleanups.ts";
import type { Records } from "../../platform/records/records.ts";

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

export interface StoredPrepaidSession {
  readonly time: PrepaidSession;
  readonly version: number;
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

export function entryId({ label, endsAtMs, isMeter }: Entry): string {
  return `${label} ${endsAtMs}${isMeter === true ? " meter" : ""}`;
}

export async function findPrepaid(records: Records, label: string): Promise<StoredPrepaidSession | null> {
  const stored = await records.get(KIND, label);
  return stored === null ? null : { time: JSON.parse(stored.value) as PrepaidSession, version: stored.version };
}

/** Finds a payer's machine by vendor id; null where there is none, or it ended long ago. */
export async function prepaidOf(
  records: Records,
  of: Pick<PrepaidSession, "adapter" | "payer">,
  id: string,
): Promise<StoredPrepaidSession | null> {
  const label = await records.get(BY_ID, idOf(of, id));
  return label === null ? null : findPrepaid(records, label.value);
}

/** Stores a machine with a new end. Writes the calendar first: a record without an entry would let the machine run for ever. */
export async function putPrepaid(records: Records, time: PrepaidSession, version: number | null): Promise<boolean> {
  const { label, endsAtMs } = time;
  await enter(records, PREPAID_SESSIONS, entryId({ label, endsAtMs }), { label, endsAtMs });
  return keepPrepaid(records, time, version);
}

/** Stores it if its version still matches (null: in any case); false where it does not. */
export async function keepPrepaid(records: Records, time: PrepaidSession, version: number | null): Promise<boolean> {
  const { label, id } = time;
  const kept = { payer: null, ttlMs: KEPT_MS, ifVersion: null };
  if (id !== null) await records.put({ ...kept, kind: BY_ID, id: idOf(time, id), value: label });
  const put = await records.put({ ...kept, kind: KIND, id: label, value: JSON.stringify(time), ifVersion: version });
  return put !== null;
}

const TRIES_MAX = 5;

/** Marks it as ended and keeps whatever else was stored meanwhile. */
export async function endPrepaid(records: Records, stored: StoredPrepaidSession): Promise<PrepaidSession> {
  let last = stored;
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const over: PrepaidSession = { ...last.time, state: "ended" };
    if (await keepPrepaid(records, over, last.version)) return over;
    last = (await findPrepaid(records, over.label)) ?? last;
  }
  const over: PrepaidSession = { ...last.time, state: "ended" };
  await keepPrepaid(records, over, null);
  return over;
}

/** Removes an entry, because nothing is left to end or another entry replaces it. */
export async function strike(records: Records, entry: Entry): Promise<void> {
  await records.delete(PREPAID_SESSIONS.kind, entryId(entry));
}
