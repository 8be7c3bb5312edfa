// How answers of actions look: the success envelope of the contract, part 2.1, around the vendor's JSON as it came.

import type { Frame, Reply } from "../../../core/endpoint.ts";
import { centsDown, usdText } from "../../../core/money.ts";
import type { Charge, Cost } from "../../../core/plan.ts";
import type { Candidate, FinalPart, Leg } from "../../../core/route.ts";

const BEFORE_DATA = '{"ok":true,"data":';

/** What goes out before an answer that is passed on as it comes. */
export const PREAMBLE = Buffer.from(BEFORE_DATA);

/** What follows the data: what was charged, what is left, and the receipt. */
function afterData({ chargedCents, balanceNano, transactionId }: Charge): string {
  const balance = balanceNano === null ? "" : `,"balance_remaining_cents":${centsDown(balanceNano)}`;
  const receipt = transactionId === null ? "" : `,"transaction_id":${JSON.stringify(transactionId)}`;
  return `,"charged_cents":${chargedCents}${balance}${receipt}}`;
}

export const envelopeFrame: Frame = {
  head(reply: Reply, _served: Candidate, attempts: readonly Leg[], charge: Charge | null): void {
    reply.header("content-type", "application/json");
    // Where the answer begins before its price is known, the attempt that gives it is not among them yet.
    reply.header("x-tollgate-attempts", String(attempts.length + (charge === null ? 1 : 0)));
    if (charge !== null) reply.header("x-tollgate-cost-usd", usdText(charge.chargedNano));
  },
  last(final: FinalPart, _cost: Cost, charge: Charge): string {
    const after = afterData(charge);
    return final.kind === "stream" ? after : `${BEFORE_DATA}${String(final.body.json)}${after}`;
  },
  // Half of an answer must not be taken for a whole one, and no bytes could tell inside of foreign JSON.
  broken: () => null,
  keepAlive: null,
};
