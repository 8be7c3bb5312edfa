// Receipts of payments in progress, so that after a crash it is known that money may have moved.

import { hash } from "node:crypto";
import type { EndpointSpec } from "../../core/endpoint.ts";
import { type Nano, usdText } from "../../core/money.ts";
import { adminEndpoint } from "../../money/accounts/admin-accounts.ts";
import type { Records } from "../../platform/records/records.ts";
import { HOUSE, type House } from "./books.ts";
import { nameOf, type Payment } from "./read-payment.ts";
import type { Reconciler } from "./settle-receipt.ts";

const KIND = "x402-payment";
/** The kind of records for payments with an unknown outcome. */
const openIn = (house: House) => `${house}-open`;
const settledIn = (house: House) => `${house}-settled`;
const SETTLED_KEPT_MS = 7 * 24 * 3_600_000;
const PAGE = 200;

export interface Receipt {
  readonly id: string;
  readonly payment: Payment;
  readonly house: House;
  readonly amountNano: Nano;
  /** The account that it tops up; absent: it pays for a call. */
  readonly account?: string;
  /** The requirements that the facilitator received. */
  readonly asked: unknown;
  /** `open`: it was tried and may have been made; `refused`: it was not made and can be tried again. */
  readonly state: "open" | "refused" | "settled";
  /** The on-chain transaction; null: unknown. */
  readonly transaction: string | null;
  readonly sinceMs: number;
  /** When it was last retried and refused; absent: never. */
  readonly retriedMs?: number;
}

export interface StoredReceipt {
  readonly receipt: Receipt;
  readonly version: number;
}

/** Receipts of an earlier version name no house. */
function receiptIn(value: string): Receipt {
  return Object.assign({ house: "x402" }, JSON.parse(value)) as Receipt;
}

/** The authorization's id, so that a caller who sends it again finds the earlier attempt, in any call. */
const idOf = (payment: Payment): string => hash("sha256", nameOf(payment));

/** The receipt of an authorization; null: it was not tried yet. */
export async function receiptOf(records: Records, payment: Payment): Promise<StoredReceipt | null> {
  const stored = await records.get(KIND, idOf(payment));
  return stored === null ? null : { receipt: receiptIn(stored.value), version: stored.version };
}

/** Stores the receipt if its version is still `ifVersion` (null: always). Returns the new version, or null on a conflict. */
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

export function openReceipts(records: Records, house: House): Promise<readonly StoredReceipt[]> {
  return listed(records, openIn(house), Number.POSITIVE_INFINITY);
}

/** The newest settled receipts that are still stored; somewhat more than `most` where a page has more. */
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

/** Leaves a recent attempt to the call that made it. */
const OPEN_MS_MIN = 1_000;
/** The last second that a date can have; payers may sign for longer. */
const SECONDS_MAX = 8_640_000_000_000;

export function paymentRow({ receipt: { id, payment, amountNano, account, sinceMs } }: StoredReceipt) {
  const { from, network, nonce, validBefore } = payment;
  return {
    transaction_id: id,
    payer: from,
    network,
    nonce,
    amount_usd: usdText(amountNano),
    account_id: account ?? null,
    tried_at: new Date(sinceMs).toISOString(),
    lapses_at: validBefore > SECONDS_MAX ? null : new Date(validBefore * 1_000).toISOString(),
  };
}

export function paymentEndpoints(parts: {
  readonly records: Records;
  readonly reconciler: Pick<Reconciler, "look">;
}): readonly EndpointSpec[] {
  const { records, reconciler } = parts;
  const open = async () => (await openReceipts(records, HOUSE)).map(paymentRow);
  return [
    adminEndpoint("GET", "/admin/v1/payments", async () => ({ status: 200, body: { payments: await open() } })),
    adminEndpoint("POST", "/admin/v1/payments/reconcile", async () => {
      const states = await reconciler.look(OPEN_MS_MIN);
      const count = (state: string) => states.filter((one) => one === state).length;
      const body = { settled: count("settled"), refused: count("refused"), payments: await open() };
      return { status: 200, body };
    }),
  ];
}
