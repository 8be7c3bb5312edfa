// Frames answers of actions: the contract's success envelope (part 2.1) around the vendor's own JSON.

import type { Frame, Reply } from "../../../core/endpoint.ts";
import { centsDown, usdText } from "../../../core/money.ts";
import type { Charge, Cost } from "../../../core/plan.ts";
import type { Candidate, FinalPart, Leg } from "../../../core/route.ts";

const BEFORE_DATA = '{"ok":true,"data":';

/** Sent before a passed-through answer. */
export const PREAMBLE = Buffer.from(BEFORE_DATA);

/** Follows the data: the charge, the balance and the receipt. */
function afterData({ chargedCents, balanceNano, transactionId }: Charge): string {
  const balance = balanceNano === null ? "" : `,"balance_remaining_cents":${centsDown(balanceNano)}`;
  const receipt = transactionId === null ? "" : `,"transaction_id":${JSON.stringify(transactionId)}`;
  return `,"charged_cents":${chargedCents}${balance}${receipt}}`;
}

export const envelopeFrame: Frame = {
  head(reply: Reply, _served: Candidate, attempts: readonly Leg[], charge: Charge | null): void {
    reply.header("content-type", "application/json");
    // If the answer starts before its price is known, the list does not contain its attempt yet.
    reply.header("x-tollgate-attempts", String(attempts.length + (charge === null ? 1 : 0)));
    if (charge !== null) reply.header("x-tollgate-cost-usd", usdText(charge.chargedNano));
  },
  last(final: FinalPart, _cost: Cost, charge: Charge): string {
    const after = afterData(charge);
    return final.kind === "stream" ? after : `${BEFORE_DATA}${String(final.body.json)}${after}`;
  },
  // An error cannot be signalled inside a vendor's JSON, so abort.
  broken: () => null,
  keepAlive: null,
};
