// On-chain payments by anonymous payers in the ledger: one house account receives them and pays for their calls; play money has its own.
import type { Accounts } from "../../core/account-rows.ts";
import { add, type Nano, ZERO } from "../../core/money.ts";
import { HOUSE_POST, openHouseAccount } from "../../money/accounts/house-account.ts";
import type { Money, PostOutcome, PostRequest, ReserveRequest } from "../../money/ledger/model/ledger.ts";
import type { Window } from "../../money/ledger/model/window-list.ts";
import type { Receipt } from "./receipts.ts";

/** A house account that anonymous payers pay into: one for money, one for play money. */
export type House = "x402" | "x402-sandbox";
/** It has the postings of all payers without an account; each posting's request says whose it is. */
export const HOUSE: House = "x402";
export const PLAY_HOUSE: House = "x402-sandbox";

export async function openHouse(accounts: Pick<Accounts, "openAccount">, house: House): Promise<void> {
  const isPlay = house === PLAY_HOUSE;
  await openHouseAccount(accounts, {
    accountId: house,
    name: isPlay ? "play money without an account (x402)" : "payments without an account (x402)",
    kind: isPlay ? "sandbox" : "business",
    creditNano: ZERO,
    label: "x402",
  });
}

/** Limits the unpaid cost of calls per address and of all addresses together: new addresses are free. */
export function unpaidWindows(
  address: string,
  max: { readonly each: Nano; readonly all: Nano } | null,
): readonly Window[] {
  const row = { period: "day", code: "unpaid_costs" } as const;
  const own = `unpaid:${address}`;
  return [
    { ...row, scope: "unpaid", counts: "unpaid", max: max?.all ?? null, widenedBy: "margin" },
    { ...row, scope: own, counts: "unpaid", max: max?.each ?? null, widenedBy: `margin:${address}` },
    { ...row, scope: "margin", counts: "margin", max: null },
    { ...row, scope: `margin:${address}`, counts: "margin", max: null },
  ];
}

export type Paid = Pick<Receipt, "id" | "amountNano" | "house"> & {
  readonly transaction: string;
  readonly settlementNano: Nano;
};

/** Adds the cost of settlement to a posting, as a leg besides those of vendors. */
function withSettlement(post: PostRequest, { settlementNano }: Paid): PostRequest {
  if (settlementNano === ZERO) return post;
  const leg = { vendor: "x402", model: "settlement", upstreamNano: settlementNano, ok: true, ms: 0, reason: null };
  return { ...post, upstreamNano: add(post.upstreamNano, settlementNano), legs: [...post.legs, { ...leg, count: 1 }] };
}

/** The id of the credit for a payment of a call or a top-up. */
export const incomeId = (id: string): string => `${id}_in`;
/** The on-chain transaction that a credit names; null: none. */
export function transactionIn(reference: string | null): string | null {
  return reference === null ? null : (/^x402 (0x[0-9a-fA-F]{64})$/.exec(reference)?.[1] ?? null);
}

/** Credits a payment to the house or the account that it tops up. Repeats have no effect. */
export async function takeIn(
  ledger: Money,
  paid: Omit<Paid, "settlementNano">,
  account: string = paid.house,
): Promise<void> {
  const { id, amountNano, transaction } = paid;
  const { outcome } = await ledger.topUp(account, incomeId(id), amountNano, `x402 ${transaction}`);
  if (outcome !== "credited" && outcome !== "exists")
    throw new Error(`what ${transaction} paid was not booked: ${outcome}`);
}

/** Charges a call with an open hold for what it has paid. */
export async function chargeOpen(ledger: Money, paid: Paid, post: PostRequest, leaseMs: number): Promise<PostOutcome> {
  await takeIn(ledger, paid);
  const hold = { accountId: paid.house, holdId: post.holdId };
  const { outcome } = await ledger.extend(hold, paid.amountNano, ZERO, leaseMs);
  if (outcome !== "extended") throw new Error(`the hold of ${post.holdId} is ${outcome}`);
  return ledger.post(withSettlement(post, paid));
}

/** The id of the charge for a call that was paid after it had ended. */
export const lateId = (id: string): string => `${id}_paid`;

/** Charges a call that ended before its payment was confirmed: with a separate posting, once. */
export async function chargeLate(ledger: Money, paid: Paid, request: ReserveRequest): Promise<void> {
  await takeIn(ledger, paid);
  await postApart(ledger, paid, request);
}

/** Credits a top-up once, and books the cost of settling it as a posting of zero on the house account. */
export async function fill(ledger: Money, paid: Paid, account: string, request: ReserveRequest): Promise<void> {
  await takeIn(ledger, paid, account);
  if (paid.settlementNano !== ZERO) await postApart(ledger, { ...paid, amountNano: ZERO }, request);
}

async function postApart(ledger: Money, paid: Paid, request: ReserveRequest): Promise<void> {
  const hold = { accountId: paid.house, holdId: lateId(paid.id) };
  const reserved = await ledger.reserve({
    ...request,
    ...hold,
    amountNano: paid.amountNano,
    idempotency: null,
    windows: [],
  });
  if (reserved.outcome !== "held" && reserved.outcome !== "exists")
    throw new Error(`${hold.holdId}: ${reserved.outcome}`);
  const post: PostRequest = {
    ...HOUSE_POST,
    ...hold,
    amountNano: paid.amountNano,
    upstreamNano: ZERO,
    provider: "x402",
    served: request.asked,
    priceVersion: "x402",
    decided: true,
  };
  await ledger.post(withSettlement(post, paid));
}
