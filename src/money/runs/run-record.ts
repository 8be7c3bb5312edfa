// A run as stored: its budget, its place below other runs, and whether it was stopped. The ledger has its sums, as a window.
import { randomUUID } from "node:crypto";
import type { Nano } from "../../core/money.ts";
import type { RunRules } from "../../core/run.ts";
import { type Records, type StoredRecord, sharedBytes } from "../../platform/records/records.ts";
import { walk } from "../../platform/records/walk.ts";

/** A shared store announces each change of one to all processes. */
const RUN = "run";
const CHILD = "run-child";
/** Counts the runs that an account opened within a day. */
const OPENED = "run-opened";
const DAY_MS = 86_400_000;
export const LIFE_MS_MAX = 30 * DAY_MS;
/** How long a run's record is kept, from its start; afterwards only its sums are. */
const KEPT_MS = 90 * DAY_MS;

export interface RunRecord {
  readonly id: string;
  readonly accountId: string;
  /** The key that opened it. */
  readonly keyId: string;
  readonly label: string | null;
  readonly budgetNano: Nano;
  /** The budget that it was opened with, which later calls may repeat. */
  readonly openedNano: Nano;
  /** The runs above it, nearest first. */
  readonly ancestors: readonly string[];
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  readonly stoppedAtMs: number | null;
  readonly rules: RunRules;
  /** The highest mark reported to its model. */
  readonly noticedAt: number;
}

export interface StoredRun {
  readonly run: RunRecord;
  readonly version: number;
}

export type RunRecords = Pick<Records, "get" | "put" | "list">;

/** Stores read the account from it, to announce a change. */
const nameOf = (accountId: string, id: string): string => `${accountId} ${id}`;

function stored({ value, version }: StoredRecord): StoredRun {
  return { run: JSON.parse(value) as RunRecord, version };
}

export async function findRun(records: RunRecords, accountId: string, id: string): Promise<StoredRun | null> {
  const found = await records.get(RUN, nameOf(accountId, id));
  return found === null ? null : stored(found);
}

/** Writes a run if its version still matches (0: not stored yet); false where it does not match. */
export async function putRun(records: RunRecords, run: RunRecord, ifVersion: number, nowMs: number): Promise<boolean> {
  const { accountId, id, createdAtMs } = run;
  const ttlMs = Math.max(1, Math.ceil(createdAtMs + KEPT_MS - nowMs));
  const record = {
    kind: RUN,
    id: nameOf(accountId, id),
    payer: `acct:${accountId}`,
    value: JSON.stringify(run),
    ttlMs,
  };
  return (await records.put({ ...record, ifVersion })) !== null;
}

/** Lists a run with its parent; call before the run is written, so that no child is missing. */
export async function putChild(records: RunRecords, { accountId, id, ancestors }: RunRecord): Promise<void> {
  const [parent] = ancestors;
  if (parent === undefined) return;
  const listed = { kind: CHILD, id: nameOf(accountId, id), payer: `run:${nameOf(accountId, parent)}`, value: id };
  await records.put({ ...listed, ttlMs: KEPT_MS, ifVersion: null });
}

export async function childrenOf(records: RunRecords, accountId: string, id: string): Promise<readonly string[]> {
  const ids: string[] = [];
  for await (const { value } of walk(records, CHILD, `run:${nameOf(accountId, id)}`)) ids.push(value);
  return ids;
}

/** Counts a run of an account that is about to be opened; false where it has opened the most for a day. */
export async function countOpened(
  records: RunRecords,
  { accountId, id }: RunRecord,
  perDayMax: number,
): Promise<boolean> {
  const share = { bytesMax: perDayMax * sharedBytes(""), full: "newest_stays_out" } as const;
  const counted = {
    kind: OPENED,
    id: nameOf(accountId, `${id} ${randomUUID()}`),
    payer: `acct:${accountId}`,
    value: "",
  };
  return (await records.put({ ...counted, ttlMs: DAY_MS, ifVersion: 0, share })) !== null;
}

export async function listRuns(records: RunRecords, accountId: string, limit: number, cursor: string | null) {
  const { rows, next } = await records.list(RUN, `acct:${accountId}`, limit, cursor);
  return { runs: rows.map((row) => stored(row).run), next };
}
