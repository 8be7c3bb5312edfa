// The operator's endpoints for the wallet: paid today, the daily limit, and payments in doubt.

import type { EndpointSpec } from "../../core/endpoint.ts";
import { usdText } from "../../core/money.ts";
import type { Records } from "../../platform/records/records.ts";
import { adminEndpoint } from "../accounts/admin-accounts.ts";
import type { WalletBooks } from "./books.ts";
import { endedPaid, openPaid, type PaidRecord } from "./paid-records.ts";
import type { WalletReconciler } from "./reconcile.ts";
import type { Signers } from "./signer.ts";

/** Younger payments still belong to their running call. */
const OPEN_MS_MIN = 1_000;
const ENDED_SHOWN = 50;

export function paidRow({ callId, amountNano, sinceMs, validBefore, topics: _, ...paid }: PaidRecord) {
  const { merchant, url, rail, network, payTo, state, status, transaction } = paid;
  return {
    transaction_id: callId,
    merchant,
    url,
    rail,
    network,
    pay_to: payTo,
    amount_usd: usdText(amountNano),
    state,
    answered_status: status === 0 ? null : status,
    transaction,
    paid_at: new Date(sinceMs).toISOString(),
    lapses_at: new Date(validBefore * 1_000).toISOString(),
  };
}

export function walletEndpoints(parts: {
  readonly records: Records;
  readonly books: WalletBooks;
  readonly signers: Signers;
  readonly reconciler: Pick<WalletReconciler, "look">;
}): readonly EndpointSpec[] {
  const { records, books, signers, reconciler } = parts;
  const shown = async () => ({
    addresses: { mpp: signers.mpp?.address ?? null, x402: signers.x402?.address ?? null },
    spent_today_usd: usdText(await books.spentToday()),
    most_a_day_usd: usdText(books.maxNano),
    in_doubt: (await openPaid(records)).map(paidRow),
    last: (await endedPaid(records, ENDED_SHOWN)).map(paidRow),
  });
  return [
    adminEndpoint("GET", "/admin/v1/wallet", async () => ({ status: 200, body: await shown() })),
    adminEndpoint("POST", "/admin/v1/wallet/reconcile", async () => {
      const states = await reconciler.look(OPEN_MS_MIN);
      const count = (state: PaidRecord["state"]) => states.filter((one) => one === state).length;
      return { status: 200, body: { made: count("made"), unmade: count("unmade"), ...(await shown()) } };
    }),
  ];
}
