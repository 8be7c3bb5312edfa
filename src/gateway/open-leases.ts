// The holds of this process: renewed while it lives, and ended by the sweep of another when it has died.
import { systemClock } from "../clock.ts";
import { type KeptLeases, keepLeases } from "../ledger/sweep.ts";
import { LEASE_MS, type Stores } from "../stores.ts";
import type { TellBroken } from "./store-outage.ts";

const RECORDS_SWEPT_MAX = 1_000;

/** Begins with the holds that an earlier process of this store has left: nothing may be reserved before they have ended. */
export async function openLeases({ ledger, records, owner }: Stores, broken: TellBroken): Promise<KeptLeases> {
  const leases = keepLeases({
    ledger,
    clock: systemClock,
    owner,
    leaseMs: LEASE_MS,
    onBroken: (error) => broken(error, "leases"),
    alsoSweep: async () => (await records.sweep(RECORDS_SWEPT_MAX)) === RECORDS_SWEPT_MAX,
  });
  await leases.recover();
  return leases;
}
