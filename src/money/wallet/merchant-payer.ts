// Pays a merchant's 402: checks the bill against every spending limit, books it, records it, signs it, and sends it once.
import type {
  MerchantPayer,
  PaidAnswer,
  PaidCall,
  PayingBy,
  Payment,
  PaymentWanted,
  Rail,
  Unpaid,
  UnsignedRequest,
} from "../../catalog/auth.ts";
import { type Network, nanoOfUnits, type TempoNetwork } from "../../catalog/networks.ts";
import type { Clock } from "../../core/clock.ts";
import { GatewayError } from "../../core/errors.ts";
import type { FailureKind } from "../../core/failures.ts";
import { putLast } from "../../core/maps.ts";
import { add, centsUp, type Nano, usdText, ZERO } from "../../core/money.ts";
import type { Records } from "../../platform/records/records.ts";
import type { Bill, Bills, ReadyPayment } from "./bill.ts";
import { jsonIn } from "./bill.ts";
import type { WalletBooks } from "./books.ts";
import { mppBills } from "./mpp-bills.ts";
import { type PaidRecord, putPaid } from "./paid-records.ts";
import type { Signer, Signers } from "./signer.ts";
import { x402Bills } from "./x402-bills.ts";

/** A bill that expires sooner could expire in transit. */
const LIFE_MS_MIN = 2_000;
/** How long a merchant is not paid after it refused a payment, or left several unanswered: it may be taking money for nothing. */
const REST_MS = 60_000;
const IN_VAIN_MAX = 3;
const RESTING_MAX = 1_000;
const NOWHERE = "0x0000000000000000000000000000000000000000";

/** How a payment ended; `unanswered` where it is unknown whether the merchant took it. */
export type PaidOutcome = "paid" | "refused" | "unanswered" | "unpaid";

/** Where bills may be paid, and by whom. */
export interface Payable {
  readonly signers: Signers;
  readonly tempo: TempoNetwork;
  readonly x402: Network;
  readonly clock: Clock;
}

export interface MerchantPayerParts extends Payable {
  readonly records: Records;
  readonly books: WalletBooks;
  readonly onBroken: (error: unknown) => void;
  readonly told: (rail: Rail | "none", outcome: PaidOutcome) => void;
}

interface Chosen {
  readonly bill: Bill;
  readonly signer: Signer;
  readonly amountNano: Nano;
}

function refusal(kind: FailureKind, detail: string, more: { retryAfterSeconds?: number } = {}): Unpaid {
  const told = new GatewayError("merchant_unpaid", { detail, ...more });
  return { unpaid: { kind, status: 402, message: detail, retryAfterMs: null, told, mayHaveRun: false } };
}

function tooDear(askedNano: Nano, call: PaidCall): Unpaid {
  const neededNano = add(askedNano, call.feeNano ?? ZERO);
  const needed_usd = usdText(neededNano);
  if (!call.isCallers)
    return refusal("provider_malformed", `it asks for ${needed_usd} USD, and ${usdText(call.mostNano)} USD is listed`);
  const told = new GatewayError("max_cost_exceeded", {
    detail: { needed_usd },
    param: "max_cost_cents",
    data: { needed_cents: centsUp(neededNano) },
  });
  const message = `it asks for ${needed_usd} USD`;
  return { unpaid: { kind: "caller_invalid", status: 402, message, retryAfterMs: null, told, mayHaveRun: false } };
}

function billsOf(wanted: PaymentWanted, rails: readonly Rail[], { tempo, x402 }: Payable): Bills {
  const read = rails.map((rail) => (rail === "mpp" ? mppBills(wanted, tempo) : x402Bills(wanted, x402)));
  return { bills: read.flatMap(({ bills }) => bills), faults: read.flatMap(({ faults }) => faults) };
}

/** Why a bill may not be paid, apart from its amount; null where it may. */
function misfit(
  bill: Bill,
  { address }: Signer,
  payTo: string | null,
  by: { nowMs: number; call: PaidCall },
): string | null {
  // Callers are not charged network fees, so a merchant run by a caller could burn ours for nothing.
  if (by.call.namedBy !== undefined && !bill.isSponsored)
    return "it leaves to us what the network takes of the payment";
  const to = bill.payTo.toLowerCase();
  if (to === NOWHERE || to === address) return "it names nobody to pay";
  if (payTo?.startsWith("0x") && to !== payTo.toLowerCase())
    return "it wants another to be paid than the operator knows";
  if (bill.expiresMs !== null && bill.expiresMs - by.nowMs < LIFE_MS_MIN) return "what it asks has lapsed";
  return bill.units === 0n ? "it asks for nothing" : null;
}

/** The cheapest payable bill, or the reason that none is. */
function choose(wanted: PaymentWanted, { rails, payTo }: PayingBy, call: PaidCall, payable: Payable): Chosen | Unpaid {
  const { bills, faults } = billsOf(wanted, rails, payable);
  const problems = faults.map((fault) => `it ${fault}`);
  const fit: Chosen[] = [];
  for (const bill of bills) {
    const signer = payable.signers[bill.rail];
    const amountNano = nanoOfUnits(bill.units);
    if (signer === null) problems.push("there is no wallet for the way in which it wants to be paid");
    else {
      const problem = misfit(bill, signer, payTo, { nowMs: payable.clock.epochMs(), call });
      if (problem !== null || amountNano === null) problems.push(problem ?? "it asks for more than there is");
      else fit.push({ bill, signer, amountNano });
    }
  }
  const [first] = fit.sort((one, other) => one.amountNano - other.amountNano);
  if (first === undefined) return refusal("provider_malformed", problems[0] ?? "it does not say how it is paid");
  if (call.priced !== undefined) {
    call.priced(first.amountNano);
    return refusal("gateway_stopped", "only its price was asked");
  }
  return first.amountNano > call.mostNano ? tooDear(first.amountNano, call) : first;
}

function recordOf(
  call: PaidCall,
  request: UnsignedRequest,
  chosen: Chosen,
  { ready, nowMs }: { readonly ready: ReadyPayment; readonly nowMs: number },
): PaidRecord {
  const { bill, signer, amountNano } = chosen;
  const { rail, network, asset, payTo } = bill;
  return {
    callId: call.callId,
    merchant: call.merchant,
    url: request.origin + (request.path.split("?", 1)[0] ?? ""),
    rail,
    network,
    asset,
    from: signer.address,
    payTo,
    amountNano,
    topics: ready.topics,
    validBefore: ready.validBefore,
    state: "open",
    status: 0,
    transaction: null,
    sinceMs: Math.floor(nowMs),
    ...(call.namedBy === undefined ? {} : { chargedAnyway: true }),
  };
}

/** The transaction hash in a receipt, or null where it has none or the value cannot be one. */
function transactionIn({ headers }: PaidAnswer): string | null {
  const receipt = headers["payment-response"] ?? headers["payment-receipt"];
  const told = typeof receipt === "string" ? jsonIn(receipt) : null;
  const named = told as { readonly transaction?: unknown; readonly reference?: unknown } | null | undefined;
  const transaction = named?.transaction ?? named?.reference;
  return typeof transaction === "string" && /^0x[0-9a-f]{64}$/i.test(transaction) ? transaction : null;
}

/** Pays with a worthless key: the sandbox's merchants ask for payment like real ones. */
export function playMerchantPayer(call: PaidCall, payable: Payable): MerchantPayer {
  return {
    async pay(wanted, by) {
      const chosen = choose(wanted, by, call, payable);
      if ("unpaid" in chosen) return chosen;
      const { bill, signer, amountNano } = chosen;
      const ready = bill.ready(signer.address, payable.clock.epochMs());
      const signed = await signer.sign(ready.signing);
      return { headers: ready.headers(signed), costNano: amountNano };
    },
  };
}

/** The operator's wallet, shared by all calls of this process. */
export class Wallets {
  readonly #parts: MerchantPayerParts;
  /** Merchants whose last payments failed: how many, and until when they are not paid. */
  readonly #inVain = new Map<string, { readonly count: number; readonly untilMs: number }>();

  constructor(parts: MerchantPayerParts) {
    this.#parts = parts;
  }

  merchantPayer(call: PaidCall): MerchantPayer {
    return { pay: (wanted, by) => this.#pay(wanted, by, call) };
  }

  async #pay(wanted: PaymentWanted, by: PayingBy, call: PaidCall): Promise<Payment | Unpaid> {
    const { clock, told } = this.#parts;
    const nowMs = clock.epochMs();
    const restMs = (this.#inVain.get(call.merchant)?.untilMs ?? 0) - nowMs;
    if (restMs > 0) {
      const retryAfterSeconds = Math.ceil(restMs / 1_000);
      return refusal("gateway_stopped", "it has taken no payment just now", { retryAfterSeconds });
    }
    const chosen = choose(wanted, by, call, this.#parts);
    if ("unpaid" in chosen) {
      told("none", "unpaid");
      return chosen;
    }
    try {
      return await this.#book(wanted.request, chosen, call);
    } catch (error) {
      this.#parts.onBroken(error);
      told(chosen.bill.rail, "unpaid");
      return refusal("gateway_stopped", "the wallet cannot be asked", { retryAfterSeconds: 60 });
    }
  }

  /** The payment counts from its booking on, and may have been made from its record on. */
  async #book(request: UnsignedRequest, chosen: Chosen, call: PaidCall): Promise<Payment | Unpaid> {
    const { books, clock, told } = this.#parts;
    const { bill, signer, amountNano } = chosen;
    const booked = await books.book(call.callId, amountNano, call);
    if (booked === "again") return refusal("gateway_stopped", "this call has paid it once");
    if (booked !== "booked") {
      told(bill.rail, "unpaid");
      const retryAfterSeconds = Math.max(1, Math.ceil((booked.fullUntilMs - clock.epochMs()) / 1_000));
      const whose = booked.isWhole ? "" : " for addresses that callers name, or that this account names";
      return refusal("gateway_stopped", `the wallet has paid its most of the day${whose}`, { retryAfterSeconds });
    }
    const nowMs = clock.epochMs();
    const ready = bill.ready(signer.address, nowMs);
    const record = recordOf(call, request, chosen, { ready, nowMs });
    if (!(await this.#keep(record))) return refusal("gateway_stopped", "this call has paid it once");
    const signed = await this.#sign(signer, ready, record);
    return {
      headers: ready.headers(signed),
      costNano: amountNano,
      secrets: [signed],
      answered: (came) => this.#answered(record, came),
    };
  }

  /** A payment without a record is not signed, and so not paid. */
  async #keep(record: PaidRecord): Promise<boolean> {
    const { records, books, onBroken } = this.#parts;
    try {
      return await putPaid(records, record, true);
    } catch (error) {
      await books.unbook(record.callId).catch(onBroken);
      throw error;
    }
  }

  /** A payment that cannot be signed was not made. */
  async #sign(signer: Signer, ready: ReadyPayment, record: PaidRecord) {
    try {
      return await signer.sign(ready.signing);
    } catch (error) {
      const { records, books } = this.#parts;
      await books.unbook(record.callId);
      await putPaid(records, { ...record, state: "unmade" });
      throw error;
    }
  }

  /** A good answer confirms the payment. After any other answer, the merchant may have it, or may still take it until it expires. */
  async #answered(record: PaidRecord, came: PaidAnswer | null): Promise<void> {
    const { records, told, onBroken } = this.#parts;
    const status = came?.status ?? 0;
    const isGood = came !== null && status >= 200 && status < 300;
    if (isGood) this.#inVain.delete(record.merchant);
    else if (came === null || status === 402 || status >= 500) this.#noteVain(record.merchant, status === 402);
    told(record.rail, isGood ? "paid" : status === 402 ? "refused" : "unanswered");
    try {
      const transaction = came === null ? null : transactionIn(came);
      await putPaid(records, { ...record, status, transaction, state: isGood ? "made" : "open" });
    } catch (error) {
      // The record stays open, so the reconciler checks it again.
      onBroken(error);
    }
  }

  #noteVain(merchant: string, isRefused: boolean): void {
    const count = (this.#inVain.get(merchant)?.count ?? 0) + (isRefused ? IN_VAIN_MAX : 1);
    const untilMs = count < IN_VAIN_MAX ? 0 : this.#parts.clock.epochMs() + REST_MS;
    // Callers can name any number of merchants.
    putLast(this.#inVain, merchant, { count, untilMs }, RESTING_MAX);
  }
}
