// Finds out what became of a payment that was tried: by the chain where it can be asked, else by trying again, which moves money once.
import type { Clock } from "../clock.ts";
import type { Audit, Money, ReserveRequest } from "../ledger/model/ledger.ts";
import { ZERO } from "../money.ts";
import type { Records } from "../records/records.ts";
import { chargeLate, HOUSE, lateId } from "./books.ts";
import type { Chain } from "./chain.ts";
import type { Facilitator } from "./facilitator.ts";
import { openReceipts, putReceipt, type Receipt, type StoredReceipt } from "./receipts.ts";

export interface SettleDeps {
  readonly ledger: Money & Pick<Audit, "transaction">;
  readonly records: Records;
  readonly clock: Clock;
  readonly owner: string;
  readonly leaseMs: number;
  readonly facilitator: Facilitator;
  readonly chain: Chain | null;
}

/** `open`: nobody can say yet. `refused`: it was not made. */
export type ReceiptState = Receipt["state"];

/** The transaction on chain; null: it was not made; "unknown": it may have been. */
async function transactionOf({ receipt }: StoredReceipt, deps: SettleDeps): Promise<string | null | "unknown"> {
  const { payment, asked, state } = receipt;
  const ended = deps.chain === null ? null : await deps.chain.ended(payment);
  if (ended?.state === "used") return ended.transaction;
  if (ended?.state === "canceled") return null;
  if (ended?.state === "unknown") return "unknown";
  const isOver = payment.validBefore * 1_000 <= deps.clock.epochMs();
  if (ended?.state === "open" && isOver) return null;
  const made = await deps.facilitator.settle(payment, asked);
  if (made === "unknown") return "unknown";
  if (made.settled) return made.transaction;
  // Without a chain to ask, one that may have been made before and is refused now may be refused because it was made.
  return ended === null && state === "open" ? "unknown" : null;
}

/** Settles a call that has ended, and charges it. Two who do so at once book it once. */
export async function settleReceipt(stored: StoredReceipt, deps: SettleDeps): Promise<ReceiptState> {
  const { receipt, version } = stored;
  const transaction = await transactionOf(stored, deps);
  if (transaction === "unknown") return "open";
  if (transaction === null) {
    await putReceipt(deps.records, { ...receipt, state: "refused" }, version);
    return "refused";
  }
  // A process that died behind its posting has charged it.
  const own = await deps.ledger.transaction(HOUSE, receipt.id);
  if (own === null || own.amountNano === ZERO)
    await chargeLate(deps.ledger, { ...receipt, transaction }, lateRequest(receipt, deps));
  await putReceipt(deps.records, { ...receipt, state: "settled", transaction }, null);
  return "settled";
}

function lateRequest({ id, amountNano }: Receipt, { owner, leaseMs, clock }: SettleDeps): ReserveRequest {
  return {
    accountId: HOUSE,
    holdId: lateId(id),
    keyId: HOUSE,
    parentId: id,
    amountNano,
    slots: [],
    inference: false,
    windows: [],
    owner,
    leaseMs,
    onExpire: "void",
    requestId: id.replace(/^tx_/, "req_"),
    operation: "run",
    asked: "x402",
    effect: "write",
    idempotency: null,
    nowMs: clock.epochMs(),
  };
}

const LOOK_MS = 30_000;
const OWN_MS = 60_000;

export interface Reconciler {
  start(): void;
  stop(): Promise<void>;
  /** Looks once at all that are open; answers what became of each. */
  look(): Promise<readonly ReceiptState[]>;
}

/** `ownMs`: how long a call's own settlement is left alone. */
export function createReconciler(deps: SettleDeps, onBroken: (error: unknown) => void, ownMs = OWN_MS): Reconciler {
  let timer: NodeJS.Timeout | undefined;
  let looking: Promise<readonly ReceiptState[]> | null = null;

  async function look(): Promise<readonly ReceiptState[]> {
    const nowMs = deps.clock.epochMs();
    const due = (await openReceipts(deps.records)).filter(({ receipt }) => nowMs - receipt.sinceMs >= ownMs);
    const states: ReceiptState[] = [];
    for (const stored of due) {
      try {
        states.push(await settleReceipt(stored, deps));
      } catch (error) {
        onBroken(error);
        states.push("open");
      }
    }
    return states;
  }
  const lookOnce = () => {
    looking ??= look().finally(() => {
      looking = null;
    });
    return looking;
  };
  return {
    look: lookOnce,
    start() {
      timer = setInterval(() => void lookOnce().catch(onBroken), LOOK_MS);
      timer.unref();
    },
    async stop() {
      clearInterval(timer);
      await looking?.catch(() => {});
    },
  };
}
