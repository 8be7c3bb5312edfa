// Finds the outcome of an attempted payment: from the chain where possible, otherwise by retrying, which moves money only once.

import type { Clock } from "../../core/clock.ts";
import { requestIdOf } from "../../core/ids.ts";
import { type Nano, ZERO } from "../../core/money.ts";
import { HOUSE_HOLD } from "../../money/accounts/house-account.ts";
import type { Audit, Money, ReserveRequest } from "../../money/ledger/model/ledger.ts";
import type { Observer } from "../../platform/observe/observer.ts";
import { inDoubt } from "../../platform/records/in-doubt.ts";
import type { Records } from "../../platform/records/records.ts";
import { chargeLate, fill, type House, lateId } from "./books.ts";
import type { Chain } from "./chain.ts";
import type { Facilitator } from "./facilitator.ts";
import { openReceipts, putReceipt, type Receipt, type StoredReceipt } from "./receipts.ts";

export interface SettleDeps {
  readonly ledger: Money & Pick<Audit, "transaction">;
  readonly records: Records;
  readonly clock: Clock;
  readonly owner: string;
  readonly leaseMs: number;
  /** The owner of the receipts, and the account that books the income. */
  readonly house: House;
  readonly settlementNano: Nano;
  readonly facilitator: Facilitator;
  /** Null: there is no node, and the facilitator's answer is trusted. */
  readonly chain: Chain | null;
  readonly observer: Pick<Observer, "settled" | "unpaid">;
}

/** `open`: unknown yet. `refused`: it was not made. */
export type ReceiptState = Receipt["state"];

/** The result of an attempt: the on-chain transaction, why there is none, or unknown. */
export type Made = { readonly transaction: string } | { readonly refused: string } | "unknown";

/** Has a payment settled. Where the chain is readable it decides: a facilitator's answer may be wrong either way. */
export async function makePayment(
  receipt: Pick<Receipt, "payment" | "asked" | "sinceMs">,
  deps: Pick<SettleDeps, "facilitator" | "chain" | "observer">,
): Promise<Made> {
  const made = await tryPayment(receipt, deps);
  deps.observer.settled(made === "unknown" ? "open" : "transaction" in made ? "settled" : "refused");
  return made;
}

async function tryPayment(
  { payment, asked, sinceMs }: Pick<Receipt, "payment" | "asked" | "sinceMs">,
  { facilitator, chain }: Pick<SettleDeps, "facilitator" | "chain">,
): Promise<Made> {
  const made = await facilitator.settle(payment, asked);
  if (made !== "unknown" && made.settled && made.inBlock) return { transaction: made.transaction };
  if (chain === null) {
    if (made === "unknown") return made;
    if (made.settled) return { transaction: made.transaction };
    return made.mayBe ? "unknown" : { refused: made.reason };
  }
  const ended = await chain.ended(payment, sinceMs);
  if (ended.state === "used") return { transaction: ended.transaction };
  if (ended.state === "canceled") return { refused: "it was canceled" };
  const isRefused = ended.state === "open" && made !== "unknown" && !made.settled && !made.mayBe;
  return isRefused ? { refused: made.reason } : "unknown";
}

/** The same for a payment that was tried before and may have been made then. */
async function makeAgain({ receipt }: StoredReceipt, deps: SettleDeps): Promise<Made> {
  const { payment, state, sinceMs } = receipt;
  if (deps.chain !== null) {
    const ended = await deps.chain.ended(payment, sinceMs);
    if (ended.state === "used") return { transaction: ended.transaction };
    if (ended.state === "unknown") return "unknown";
    const isOver = payment.validBefore * 1_000 <= deps.clock.epochMs();
    if (ended.state === "canceled" || isOver) return { refused: "its time is over" };
  }
  const made = await makePayment(receipt, deps);
  // Without a chain to read, a refusal now may mean that the payment was made earlier.
  return deps.chain === null && state === "open" && made !== "unknown" && "refused" in made ? "unknown" : made;
}

/** Settles and charges a call that has ended. Two concurrent calls book it once. */
export async function settleReceipt(stored: StoredReceipt, deps: SettleDeps): Promise<ReceiptState> {
  const { receipt, version } = stored;
  // An open hold belongs to a call or a top-up that is settling by itself; if its process died, the hold's lease ends it.
  const standing = await deps.ledger.standing({ accountId: receipt.house, holdId: receipt.id });
  if (standing !== "gone") return "open";
  const made = await makeAgain(stored, deps);
  if (made === "unknown") return "open";
  if ("refused" in made) {
    const retriedMs = Math.floor(deps.clock.epochMs());
    await putReceipt(deps.records, { ...receipt, state: "refused", retriedMs }, version);
    return "refused";
  }
  const { transaction } = made;
  if (receipt.account !== undefined) await fillAccount(receipt, receipt.account, transaction, deps);
  else await chargeCall({ ...receipt, transaction }, deps);
  await putReceipt(deps.records, { ...receipt, state: "settled", transaction }, null);
  return "settled";
}

/** Credits a top-up payment once, however often this is called. */
export async function fillAccount(
  receipt: Receipt,
  account: string,
  transaction: string,
  deps: Pick<SettleDeps, "ledger" | "settlementNano" | "owner" | "leaseMs" | "clock">,
): Promise<void> {
  const { settlementNano } = deps;
  await fill(deps.ledger, { ...receipt, transaction, settlementNano }, account, lateRequest(receipt, deps));
}

async function chargeCall(receipt: Receipt & { readonly transaction: string }, deps: SettleDeps): Promise<void> {
  // A process that died after its posting has already charged it.
  const own = await deps.ledger.transaction(receipt.house, receipt.id);
  if (own === null || own.amountNano === ZERO)
    await chargeLate(deps.ledger, { ...receipt, settlementNano: deps.settlementNano }, lateRequest(receipt, deps));
}

function lateRequest(
  { id, house, amountNano }: Receipt,
  { owner, leaseMs, clock }: Pick<SettleDeps, "owner" | "leaseMs" | "clock">,
): ReserveRequest {
  return {
    ...HOUSE_HOLD,
    accountId: house,
    holdId: lateId(id),
    keyId: house,
    parentId: id,
    amountNano,
    owner,
    leaseMs,
    requestId: requestIdOf(id),
    operation: "run",
    asked: "x402",
    nowMs: clock.epochMs(),
  };
}

const OWN_MS = 60_000;

export type Reconciler = ReturnType<typeof createReconciler>;

export function createReconciler(deps: SettleDeps, onBroken: (error: unknown) => void) {
  return inDoubt({
    open: () => openReceipts(deps.records, deps.house),
    sinceMs: ({ receipt }) => receipt.sinceMs,
    stateOf: (stored) => settleReceipt(stored, deps),
    ownMs: OWN_MS,
    clock: deps.clock,
    onBroken,
  });
}
