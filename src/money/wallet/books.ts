// Books wallet payments in the ledger, on a house account. Its window is the wallet's daily limit across all processes.
import type { PaidCall } from "../../catalog/auth.ts";
import type { Accounts } from "../../core/account-rows.ts";
import type { Clock } from "../../core/clock.ts";
import { requestIdOf } from "../../core/ids.ts";
import { type Nano, nano, part, ZERO } from "../../core/money.ts";
import { HOUSE_HOLD, HOUSE_POST, openHouseAccount } from "../accounts/house-account.ts";
import type { Audit, Money } from "../ledger/model/ledger.ts";
import type { Window } from "../ledger/model/window-list.ts";

export const HOUSE = "wallet";
const SCOPE = "wallet";
/** Payments to merchants that callers name share a part of the daily limit, so that the rest is left for catalog merchants. */
const NAMED = "wallet:named";
const NAMED_PART = 2;
/** Each account gets a quarter: a payment that a merchant never takes is free for the caller, but uses the limit until the day ends. */
const ACCOUNT_PART = 4;
/** Four million dollars, with headroom for refunds. */
const CREDIT_NANO = nano(4_000_000_000_000_000);
/** The hold is posted at once. */
const LEASE_MS = 60_000;

/** A play-money account, because its postings are not income: the call's own posting has the cost. */
export function openHouse(accounts: Pick<Accounts, "openAccount">): Promise<void> {
  const account = { accountId: HOUSE, kind: "sandbox", creditNano: CREDIT_NANO, label: "wallet" } as const;
  return openHouseAccount(accounts, { ...account, name: "payments to merchants (the wallet)" });
}

export type WalletBooks = ReturnType<typeof walletBooks>;

export const bookingId = (callId: string): string => `${callId}_wallet`;

export function walletBooks(
  ledger: Money & Pick<Audit, "spentToday">,
  { maxNano, owner, clock }: { readonly maxNano: Nano; readonly owner: string; readonly clock: Clock },
) {
  const id = bookingId;
  const window = (scope: string, parts: number): Window => {
    return { scope, period: "day", max: part(maxNano, parts), code: "merchant_unpaid", counts: "charge" };
  };
  return {
    maxNano,
    /** Books a payment before it is sent; it counts against the day whatever happens. Else the limit that is used up until midnight. */
    async book(
      callId: string,
      amountNano: Nano,
      { merchant, namedBy }: Pick<PaidCall, "merchant" | "namedBy">,
    ): Promise<"booked" | "again" | { readonly fullUntilMs: number; readonly isWhole: boolean }> {
      const named =
        namedBy === undefined ? [] : [window(NAMED, NAMED_PART), window(`${NAMED}:${namedBy}`, ACCOUNT_PART)];
      const hold = { accountId: HOUSE, holdId: id(callId) };
      const reserved = await ledger.reserve({
        ...HOUSE_HOLD,
        ...hold,
        keyId: HOUSE,
        parentId: callId,
        amountNano,
        windows: [window(SCOPE, 1), ...named],
        owner,
        leaseMs: LEASE_MS,
        requestId: requestIdOf(callId),
        operation: "wallet",
        asked: merchant,
        nowMs: clock.epochMs(),
      });
      if (reserved.outcome === "exists") return "again";
      if (reserved.outcome === "window_full")
        return { fullUntilMs: reserved.resetsAtMs, isWhole: reserved.scope === SCOPE };
      if (reserved.outcome !== "held") throw new Error(`the wallet's booking was refused: ${reserved.outcome}`);
      const posted = await ledger.post({
        ...HOUSE_POST,
        ...hold,
        amountNano,
        upstreamNano: ZERO,
        provider: merchant,
        served: merchant,
        priceVersion: "wallet",
      });
      if (posted.outcome !== "posted") throw new Error(`the wallet's booking came to nothing: ${posted.outcome}`);
      return posted.repeat ? "again" : "booked";
    },
    /** Refunds a payment that was not made. Its share of the daily limit stays used. */
    async unbook(callId: string) {
      await ledger.refund(id(callId), `${id(callId)}_back`, "the payment was not made");
    },
    async spentToday(): Promise<Nano> {
      const [spent = ZERO] = await ledger.spentToday(HOUSE, [SCOPE]);
      return spent;
    },
  };
}
