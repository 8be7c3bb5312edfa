// What is kept of time that was paid before it passes: one record for each machine, and a calendar of when each is to be ended.
import { hash } from "node:crypto";
import type { Nano } from "../money.ts";
import type { Payer } from "../plan.ts";
import type { Records } from "../records/records.ts";

const KIND = "paid-time";
/** By whose and which id: its label. */
const BY_ID = "paid-time-id";
/** By the page of when it is to be ended: that, and its label. */
const CALENDAR = "paid-time-end";
/** What is to be ended within so long stands on one page. */
export const PAGE_MS = 600_000;
/** Longer than any vendor lets such a machine run. */
const KEPT_MS = 26 * 3_600_000;
const PAGE = 200;

export interface PaidTime {
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
  /** When the vendor was last told to end it. */
  readonly toldAtMs: number;
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

export interface StoredPaidTime {
  readonly time: PaidTime;
  readonly version: number;
}

/** What stands in the calendar. */
export interface Entry {
  readonly label: string;
  readonly endsAtMs: number;
  /** It says when the machine's meter is read, not when it is ended. */
  readonly isMeter?: true;
}

/** The number of a page. */
export const pageOf = (ms: number) => Math.floor(ms / PAGE_MS);
const listOf = (page: number) => `paid-until:${page}`;

function idOf({ adapter, payer }: Pick<PaidTime, "adapter" | "payer">, id: string): string {
  return hash("sha256", JSON.stringify([payer.id, adapter, id]));
}

function entryId({ label, endsAtMs, isMeter }: Entry): string {
  return `${label} ${endsAtMs}${isMeter === true ? " meter" : ""}`;
}

export async function findPaidTime(records: Records, label: string): Promise<StoredPaidTime | null> {
  const stored = await records.get(KIND, label);
  return stored === null ? null : { time: JSON.parse(stored.value) as PaidTime, version: stored.version };
}

/** That of an id of a payer's; null: there is none, or it was over long ago. */
export async function paidTimeOf(
  records: Records,
  of: Pick<PaidTime, "adapter" | "payer">,
  id: string,
): Promise<StoredPaidTime | null> {
  const label = await records.get(BY_ID, idOf(of, id));
  return label === null ? null : findPaidTime(records, label.value);
}

/**
 * Keeps it where its version is still this one (null: whatever it is); false where it is not. First the calendar: what stands there and
 * has no record is only looked for in vain, and what has a record and stands nowhere would run for ever.
 */
export async function putPaidTime(records: Records, time: PaidTime, version: number | null): Promise<boolean> {
  const { label, id, endsAtMs } = time;
  const kept = { payer: null, ttlMs: KEPT_MS, ifVersion: null };
  await enter(records, { label, endsAtMs });
  if (id !== null) await records.put({ ...kept, kind: BY_ID, id: idOf(time, id), value: label });
  const put = await records.put({ ...kept, kind: KIND, id: label, value: JSON.stringify(time), ifVersion: version });
  return put !== null;
}

const TRIES_MAX = 5;

/** Keeps that it has ended, with whatever else has been kept of it meanwhile. */
export async function endPaidTime(records: Records, stored: StoredPaidTime): Promise<PaidTime> {
  let last = stored;
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const over: PaidTime = { ...last.time, state: "ended" };
    if (await putPaidTime(records, over, last.version)) return over;
    last = (await findPaidTime(records, over.label)) ?? last;
  }
  const over: PaidTime = { ...last.time, state: "ended" };
  await putPaidTime(records, over, null);
  return over;
}

/** Writes an entry into the calendar. */
export async function enter(records: Records, entry: Entry): Promise<void> {
  const payer = listOf(pageOf(entry.endsAtMs));
  const kept = { payer, ttlMs: KEPT_MS, ifVersion: null };
  await records.put({ ...kept, kind: CALENDAR, id: entryId(entry), value: JSON.stringify(entry) });
}

/** What stands on a page of the calendar. */
export async function entriesOn(records: Records, page: number): Promise<readonly Entry[]> {
  const entries: Entry[] = [];
  let cursor: string | null = null;
  do {
    const some = await records.list(CALENDAR, listOf(page), PAGE, cursor);
    entries.push(...some.rows.map(({ value }) => JSON.parse(value) as Entry));
    cursor = some.next;
  } while (cursor !== null);
  return entries;
}

/** Takes an entry out: there is nothing to end any more, or another one says when. */
export async function strike(records: Records, entry: Entry): Promise<void> {
  await records.delete(CALENDAR, entryId(entry));
}
