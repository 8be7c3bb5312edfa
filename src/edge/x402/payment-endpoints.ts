// Admin endpoints for on-chain payments in doubt: lists them and resolves them.

import type { EndpointSpec } from "../../core/endpoint.ts";
import { usdText } from "../../core/money.ts";
import { adminEndpoint } from "../../money/accounts/admin-accounts.ts";
import type { Records } from "../../platform/records/records.ts";
import { HOUSE } from "./books.ts";
import { openReceipts, type StoredReceipt } from "./receipts.ts";
import type { Reconciler } from "./settle-receipt.ts";

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
