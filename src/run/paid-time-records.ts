// What is kept of time that was paid before it passes: one record for each machine, and a calendar of when each is to be ended.
import { hash } from "node:crypto";
import type { Payer } from "../plan.ts";
import type { Records } from "../records/records.ts";

const KIND = "paid-time";
/** By whose and which id: its label. */
const BY_ID = "paid-time-id";
/** By the minute in which it is to be ended: its label. */
const CALENDAR = "paid-time-end";
const MINUTE_MS = 60_000;
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
  /** `ending`: nobody can extend it any more, and the vendor has not said yet that it has ended. */
  readonly state: "running" | "ending" | "ended";
  /** When the vendor was last told to end it. */
  readonly toldAtMs: number;
}

export interface StoredPaidTime {
  readonly time: PaidTime;
  readonly version: number;
}

/** A page of the calendar, by its minute. */
const pageOf = (minute: number) => `paid-until:${minute}`;
export const minuteOf = (ms: number) => Math.floor(ms / MINUTE_MS);

function idOf({ adapter, payer }: Pick<PaidTime, "adapter" | "payer">, id: string): string {
  return hash("sha256", JSON.stringify([payer.id, adapter, id]));
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
  const minute = minuteOf(endsAtMs);
  const kept = { payer: null, ttlMs: KEPT_MS, ifVersion: null };
  await records.put({ ...kept, kind: CALENDAR, id: `${label} ${minute}`, payer: pageOf(minute), value: label });
  if (id !== null) await records.put({ ...kept, kind: BY_ID, id: idOf(time, id), value: label });
  const put = await records.put({ ...kept, kind: KIND, id: label, value: JSON.stringify(time), ifVersion: version });
  return put !== null;
}

/** The labels on a page of the calendar. */
export async function labelsOf(records: Records, minute: number): Promise<readonly string[]> {
  const labels: string[] = [];
  let cursor: string | null = null;
  do {
    const page = await records.list(CALENDAR, pageOf(minute), PAGE, cursor);
    labels.push(...page.rows.map(({ value }) => value));
    cursor = page.next;
  } while (cursor !== null);
  return labels;
}

/** Takes a label off a page: there is nothing to end any more, or it stands on another page. */
export async function strike(records: Records, label: string, minute: number): Promise<void> {
  await records.delete(CALENDAR, `${label} ${minute}`);
}
