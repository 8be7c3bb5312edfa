// What is kept of payments that are being made, so that a process which goes on after a crash knows that money may have moved.
import { hash } from "node:crypto";
import type { Nano } from "../../core/money.ts";
import type { Records } from "../../platform/records/records.ts";
import type { House } from "./books.ts";
import { nameOf, type Payment } from "./read-payment.ts";

const KIND = "x402-payment";
/** Where those stand of which it is not known yet whether they were made. */
const openIn = (house: House) => `${house}-open`;
/** Where those stand that were made. */
const settledIn = (house: House) => `${house}-settled`;
const SETTLED_KEPT_MS = 7 * 24 * 3_600_000;
const PAGE = 200;

export interface Receipt {
  /** The call's transaction. */
  readonly id: string;
  readonly payment: Payment;
  /** Where it is booked. */
  readonly house: House;
  readonly amountNano: Nano;
  /** The account that it fills; absent: it pays for a call. */
  readonly account?: string;
  /** What the facilitator was asked with. */
  readonly asked: unknown;
  /** `open`: it was tried, and may have been made; `refused`: it was not made, and can be tried again. */
  readonly state: "open" | "refused" | "settled";
  /** On chain; null: not known. */
  readonly transaction: string | null;
  readonly sinceMs: number;
  /** When it was last tried again and refused; absent: not yet. */
  readonly retriedMs?: number;
}

export interface StoredReceipt {
  readonly receipt: Receipt;
  readonly version: number;
}

/** Those that an earlier version has kept name no house. */
function receiptIn(value: string): Receipt {
  return Object.assign({ house: "x402" }, JSON.parse(value)) as Receipt;
}

/** By its authorization, so that a caller who comes with it again finds what was tried with it, in whichever call. */
const idOf = (payment: Payment): string => hash("sha256", nameOf(payment));

/** What was tried with an authorization; null: nothing yet. */
export async function receiptOf(records: Records, payment: Payment): Promise<StoredReceipt | null> {
  const stored = await records.get(KIND, idOf(payment));
  return stored === null ? null : { receipt: receiptIn(stored.value), version: stored.version };
}

/** Keeps it where its version is still this (null: whatever it is), and answers its new one; null where it is not. */
export async function putReceipt(records: Records, receipt: Receipt, ifVersion: number | null): Promise<number | null> {
  const isOpen = receipt.state === "open";
  const { state, house } = receipt;
  return records.put({
    kind: KIND,
    id: idOf(receipt.payment),
    payer: isOpen ? openIn(house) : state === "settled" ? settledIn(house) : null,
    value: JSON.stringify(receipt),
    ttlMs: isOpen ? null : SETTLED_KEPT_MS,
    ifVersion,
  });
}

/** Those that are open, newest first. */
export function openReceipts(records: Records, house: House): Promise<readonly StoredReceipt[]> {
  return listed(records, openIn(house), Number.POSITIVE_INFINITY);
}

/** The newest that were made, as long as they are kept; some more than `most` where a page has more. */
export async function settledReceipts(records: Records, house: House, most: number): Promise<readonly Receipt[]> {
  return (await listed(records, settledIn(house), most)).map(({ receipt }) => receipt);
}

async function listed(records: Records, payer: string, most: number): Promise<readonly StoredReceipt[]> {
  const found: StoredReceipt[] = [];
  let cursor: string | null = null;
  do {
    const page = await records.list(KIND, payer, PAGE, cursor);
    found.push(...page.rows.map(({ value, version }) => ({ receipt: receiptIn(value), version })));
    cursor = page.next;
  } while (cursor !== null && found.length < most);
  return found;
}
