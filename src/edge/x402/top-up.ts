// POST /api/v1/topup: an account adds credit by an on-chain payment, credited once.

import { z } from "zod";
import type { Answer, Call, EndpointSpec } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import { transactionIdOf } from "../../core/ids.ts";
import { centsDown, minus, nanoFromCents, ZERO } from "../../core/money.ts";
import type { Caller } from "../../core/plan.ts";
import { readBody } from "../../money/accounts/read-body.ts";
import type { Claim } from "./claim.ts";
import { claim, PENDING } from "./claim.ts";
import { type PayPerCallParts, paymentOf, receiptHeaders } from "./pay-per-call.ts";
import { putReceipt, type Receipt, receiptOf } from "./receipts.ts";
import { fillAccount, makePayment } from "./settle-receipt.ts";

const PATH = "/api/v1/topup";
const BODY_BYTES_MAX = 1_024;
const CENTS_MAX = 100_000;

const bodySchema = z.strictObject({
  cents: z
    .int("must be a whole number of cents")
    .min(1, "must be at least 1")
    .max(CENTS_MAX, `must be at most ${CENTS_MAX}`),
});

interface Filling extends Pick<Claim, "payment" | "paidFor" | "requestId" | "refused"> {
  readonly caller: Caller;
  readonly cents: number;
}

export function topUpEndpoint(parts: PayPerCallParts): EndpointSpec {
  async function answer({ request, caller }: Call): Promise<Answer> {
    if (caller === null) throw new GatewayError("invalid_token");
    if (caller.frozen) throw new GatewayError("account_frozen");
    if (caller.sandbox) throw new GatewayError("bad_request", { detail: "A sandbox account's credit is play money." });
    const { cents } = readBody(bodySchema, request.body);
    const resource = { url: parts.publicUrl() + PATH, description: "Credit for an account", bazaar: null };
    const paid = paymentOf(request, nanoFromCents(cents), resource, parts);
    if (paid instanceof GatewayError) throw paid;
    return fill({ ...paid, caller, cents }, parts);
  }

  return { method: "POST", path: PATH, auth: "key", bodyBytesMax: BODY_BYTES_MAX, answer };
}

async function fill(filling: Filling, parts: PayPerCallParts): Promise<Answer> {
  const { caller, cents, ...paid } = filling;
  const id = transactionIdOf(paid.requestId);
  const what = { operation: "topup", asked: "x402", effect: "write", slots: [], workMsMax: 0 } as const;
  const fingerprint = `topup ${caller.payer.accountId} ${cents}`;
  const claimed = await claim({ ...what, ...paid, id, fingerprint }, parts);
  if (claimed instanceof GatewayError) throw claimed;
  return claimed === "claimed" ? credit(id, filling, parts) : credited(filling, parts);
}

/** Settles the payment and credits it. Ends the claim in every case. */
async function credit(id: string, filling: Filling, parts: PayPerCallParts): Promise<Answer> {
  const { caller, payment, cents, paidFor, refused } = filling;
  const { house, ledger, records, leases, clock } = parts;
  const hold = { accountId: house, holdId: id };
  const account = caller.payer.accountId;
  const now = { state: "open", transaction: null, sinceMs: Math.floor(clock.epochMs()) } as const;
  const receipt: Receipt = { id, payment, house, account, amountNano: nanoFromCents(cents), asked: paidFor, ...now };
  try {
    await putReceipt(records, receipt, null);
    const made = await makePayment(receipt, parts);
    if (made === "unknown") throw PENDING;
    if ("refused" in made) {
      await putReceipt(records, { ...receipt, state: "refused" }, null);
      throw refused(made.refused);
    }
    const { transaction } = made;
    await fillAccount(receipt, account, transaction, parts);
    await putReceipt(records, { ...receipt, state: "settled", transaction }, null);
    return await credited(filling, parts);
  } finally {
    leases.release(hold);
    // The receipt has the outcome, however often the same payment is sent.
    await ledger.void(hold, "a top-up holds nothing");
  }
}

async function credited({ caller, payment, cents }: Filling, { records, ledger }: PayPerCallParts): Promise<Answer> {
  const stored = await receiptOf(records, payment);
  const { account, transaction, id } = stored?.receipt ?? {};
  // It paid for a call, or topped up another account.
  if (account !== caller.payer.accountId || typeof transaction !== "string" || id === undefined)
    throw new GatewayError("idempotency_mismatch");
  const row = await ledger.account(account);
  const balance = row === null ? ZERO : minus(row.grantedNano, row.spentNano);
  const balance_cents = centsDown(balance);
  const body = { credited_cents: cents, balance_cents, transaction_id: `${id}_in`, transaction };
  return { status: 200, body, headers: receiptHeaders(payment, transaction) };
}
