// Calls that are metered while they run, as long sessions are: the hold starts small and grows, and its use is recorded.
import { GatewayError } from "../../src/core/errors.ts";
import { type Nano, nano, ZERO } from "../../src/core/money.ts";
import type { HoldRef, Ledger, ReserveOutcome } from "../../src/money/ledger/model/ledger.ts";
import type { World } from "./network.ts";
import type { CallPlan } from "./scenario.ts";
import { LEASE_MS } from "./store.ts";
import type { Owner } from "./virtual-time.ts";

/** From the last record of use to the end of the call. */
const LAST_MS_MAX = 20_000;

/** The call of a hold id, which begins with the call's number. */
export function callOf(calls: readonly CallPlan[], holdId: string): CallPlan | undefined {
  const number = Number(/^tx_(\d+)-/.exec(holdId)?.[1]);
  return calls.find(({ id }) => id === number);
}

/**
 * Wraps the ledger for a pipeline that does not know metered calls: for those it places half and grows it, and records a part before the
 * post.
 */
export function meteredLedger<Given extends Ledger>(
  ledger: Given,
  calls: readonly CallPlan[],
  { owner, world }: { owner: Owner; world: World },
): Given {
  const { time, chance } = world;
  const isMetered = ({ holdId }: HoldRef) => callOf(calls, holdId)?.metered === true;
  return {
    ...ledger,
    async reserve(request): Promise<ReserveOutcome> {
      if (!isMetered(request)) return ledger.reserve(request);
      const amountNano = nano(Math.floor(request.amountNano / 2));
      const placed = await ledger.reserve({ ...request, amountNano, onExpire: "post-accrued" });
      if (placed.outcome !== "held") return placed;
      const grown = await ledger.extend(request, request.amountNano, ZERO, request.leaseMs);
      if (grown.outcome === "extended") return placed;
      if (grown.outcome === "gone") throw new GatewayError("ledger_unavailable", { retryAfterSeconds: 1 });
      await ledger.void(request, "it could not grow");
      return grown;
    },
    async post(request) {
      if (!isMetered(request)) return ledger.post(request);
      const used = Math.floor(request.amountNano * chance.next()) as Nano;
      await ledger.extend(request, ZERO, used, LEASE_MS).catch(() => {});
      await time.sleep(chance.between(0, LAST_MS_MAX), owner);
      return ledger.post(request);
    },
  };
}
