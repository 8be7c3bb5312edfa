// What is kept of payments that are made to merchants, from before each leaves: a crash between paying and answering is found by it.
import type { Rail } from "../../catalog/auth.ts";
import type { Nano } from "../../core/money.ts";
import type { Records } from "../../platform/records/records.ts";
import type { Hex } from "./hex.ts";

const KIND = "wallet-payment";
/** Those of which it is not known yet whether they were made. */
const OPEN = "wallet-open";
const ENDED = "wallet-ended";
const ENDED_KEPT_MS = 90 * 24 * 3_600_000;
const PAGE = 200;

export interface PaidRecord {
  /** The transaction of the call that it was made for. */
  readonly callId: string;
  /** The adapter's id, or the host that a caller has named. */
  readonly merchant: string;
  /** What was asked, without its query: that may hold what a caller wrote. */
  readonly url: string;
  readonly rail: Rail;
  readonly network: string;
  readonly asset: Hex;
  readonly from: Hex;
  readonly payTo: Hex;
  readonly amountNano: Nano;
  readonly topics: readonly Hex[];
  /** Seconds since the epoch. */
  readonly validBefore: number;
  /** `open`: it has left, or was about to. `made`: the merchant, or the chain, says so. `unmade`: its time is over, and it was not used. */
  readonly state: "open" | "made" | "unmade";
  /** What the merchant answered to it; 0: nothing yet. */
  readonly status: number;
  /** On chain; null: not known. */
  readonly transaction: string | null;
  readonly sinceMs: number;
  /** Its caller was charged it, though no good answer came: it gets that back where the payment was not made. */
  readonly chargedAnyway?: true;
}

/** Keeps it; `isNew`: false where there is one for this call. */
export async function putPaid(records: Records, paid: PaidRecord, isNew = false): Promise<boolean> {
  const isOpen = paid.state === "open";
  const put = await records.put({
    kind: KIND,
    id: paid.callId,
    payer: isOpen ? OPEN : ENDED,
    value: JSON.stringify(paid),
    ttlMs: isOpen ? null : ENDED_KEPT_MS,
    ifVersion: isNew ? 0 : null,
  });
  return put !== null;
}

/** The payment of a call; null: none was made for it. */
export async function paidFor(records: Records, callId: string): Promise<PaidRecord | null> {
  const stored = await records.get(KIND, callId);
  return stored === null ? null : (JSON.parse(stored.value) as PaidRecord);
}

/** Those that are open, newest first. */
export async function openPaid(records: Records): Promise<readonly PaidRecord[]> {
  const found: PaidRecord[] = [];
  let cursor: string | null = null;
  do {
    const page = await records.list(KIND, OPEN, PAGE, cursor);
    found.push(...page.rows.map(({ value }) => JSON.parse(value) as PaidRecord));
    cursor = page.next;
  } while (cursor !== null);
  return found;
}

/** The newest that have ended. */
export async function endedPaid(records: Records, limit: number): Promise<readonly PaidRecord[]> {
  const { rows } = await records.list(KIND, ENDED, limit, null);
  return rows.map(({ value }) => JSON.parse(value) as PaidRecord);
}
