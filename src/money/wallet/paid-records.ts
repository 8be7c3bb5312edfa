// Records of payments to merchants, written before each is sent, so that a restart finds payments that a crash interrupted.
import type { Rail } from "../../catalog/auth.ts";
import type { Nano } from "../../core/money.ts";
import type { Records } from "../../platform/records/records.ts";
import { walk } from "../../platform/records/walk.ts";
import type { Hex } from "./hex.ts";

const KIND = "wallet-payment";
/** The list of payments whose outcome is unknown. */
const OPEN = "wallet-open";
const ENDED = "wallet-ended";
const ENDED_KEPT_MS = 90 * 24 * 3_600_000;

export interface PaidRecord {
  readonly callId: string;
  /** The adapter's id, or the host that the caller named. */
  readonly merchant: string;
  /** The request's URL without its query, which may hold a caller's text. */
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
  /** `open`: sent, or about to be. `made`: confirmed by the merchant or the chain. `unmade`: expired unused. */
  readonly state: "open" | "made" | "unmade";
  /** HTTP status of the merchant's answer; 0 before one arrives. */
  readonly status: number;
  /** Transaction hash on the chain; null where unknown. */
  readonly transaction: string | null;
  readonly sinceMs: number;
  /** The caller was charged although the merchant's answer was not good; refund the caller if the payment turns out unmade. */
  readonly chargedAnyway?: true;
}

/** Stores the record. With `isNew`, returns false where the call has one already. */
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

export async function paidFor(records: Records, callId: string): Promise<PaidRecord | null> {
  const stored = await records.get(KIND, callId);
  return stored === null ? null : (JSON.parse(stored.value) as PaidRecord);
}

export async function openPaid(records: Records): Promise<readonly PaidRecord[]> {
  const found: PaidRecord[] = [];
  for await (const { value } of walk(records, KIND, OPEN)) found.push(JSON.parse(value) as PaidRecord);
  return found;
}

export async function endedPaid(records: Records, limit: number): Promise<readonly PaidRecord[]> {
  const { rows } = await records.list(KIND, ENDED, limit, null);
  return rows.map(({ value }) => JSON.parse(value) as PaidRecord);
}
