// What is kept of time that was paid before it passes: one record for each machine, and a calendar of when each is to be ended.
import { hash } from "node:crypto";
import type { Nano } from "../../core/money.ts";
import type { Payer } from "../../core/plan.ts";
import { type Cleanup, type CleanupBook, enter, PAGE_MS } from "../../platform/records/cleanups.ts";
import type { Records } from "../../platform/records/records.ts";

const KIND = "paid-time";
/** By whose and which id: its label. */
const BY_ID = "paid-time-id";
/** Longer than any vendor lets such a machine run. */
const KEPT_MS = 26 * 3_600_000;

export interface PrepaidSession {
  /** What the vendor knows it by. */
  readonly label: string;
  readonly adapter: string;
  readonly payer: Pick<Payer, "id" | "sandbox">;
  /** The vendor's id of it; null: it was asked for, and no answer has come yet. */
  readonly id: string | null;
  readonly beganAtMs: number;
  /** When it is to be ended. */
  readonly endsAtMs: number;
  /** `ending`: it cannot be extended any more, and the vendor has not said yet that it has ended. */
  readonly state: "running" | "ending" | "ended";
  /** Absent: the vendor takes nothing of us for it beside its time. */
  readonly meter?: Meter;
}

/** What the vendor takes of us for a machine beside its time. */
export interface Meter {
  /** Whose call began it. */
  readonly keyId: string;
  /** What has been counted as unpaid, in so many steps. */
  readonly countedNano: Nano;
  readonly steps: number;
  /** What will have been counted when the step under way is done; null: none is. */
  readonly pendingNano: Nano | null;
}

export interface StoredPrepaidSession {
  readonly time: PrepaidSession;
  readonly version: number;
}

/** What stands in the calendar. */
export interface Entry extends Cleanup {
  /** It says when the machine's meter is read, not when it is ended. */
  readonly isMeter?: true;
}

/** The calendar. */
export const PAID_TIMES: CleanupBook = {
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

export async function findPaidTime(records: Records, label: string): Promise<StoredPrepaidSession | null> {
  const stored = await records.get(KIND, label);
  return stored === null ? null : { time: JSON.parse(stored.value) as PrepaidSession, version: stored.version };
}

/** That of an id of a payer's; null: there is none, or it was over long ago. */
export async function paidTimeOf(
  records: Records,
  of: Pick<PrepaidSession, "adapter" | "payer">,
  id: string,
): Promise<StoredPrepaidSession | null> {
  const label = await records.get(BY_ID, idOf(of, id));
  return label === null ? null : findPaidTime(records, label.value);
}

/**
 * Keeps one whose end is another than before. First the calendar: what stands there and has no record is only looked for in vain, and
 * what has a record and stands nowhere would run for ever.
 */
export async function putPaidTime(records: Records, time: PrepaidSession, version: number | null): Promise<boolean> {
  const { label, endsAtMs } = time;
  await enter(records, PAID_TIMES, entryId({ label, endsAtMs }), { label, endsAtMs });
  return keepPaidTime(records, time, version);
}

/** Keeps it where its version is still this one (null: whatever it is); false where it is not. */
export async function keepPaidTime(records: Records, time: PrepaidSession, version: number | null): Promise<boolean> {
  const { label, id } = time;
  const kept = { payer: null, ttlMs: KEPT_MS, ifVersion: null };
  if (id !== null) await records.put({ ...kept, kind: BY_ID, id: idOf(time, id), value: label });
  const put = await records.put({ ...kept, kind: KIND, id: label, value: JSON.stringify(time), ifVersion: version });
  return put !== null;
}

const TRIES_MAX = 5;

/** Keeps that it has ended, with whatever else has been kept of it meanwhile. */
export async function endPaidTime(records: Records, stored: StoredPrepaidSession): Promise<PrepaidSession> {
  let last = stored;
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const over: PrepaidSession = { ...last.time, state: "ended" };
    if (await keepPaidTime(records, over, last.version)) return over;
    last = (await findPaidTime(records, over.label)) ?? last;
  }
  const over: PrepaidSession = { ...last.time, state: "ended" };
  await keepPaidTime(records, over, null);
  return over;
}

/** Takes an entry out: there is nothing to end any more, or another one says when. */
export async function strike(records: Records, entry: Entry): Promise<void> {
  await records.delete(PAID_TIMES.kind, entryId(entry));
}
