// The holds of this process: renewed while it lives, and ended by the sweep of another when it has died.
import { systemClock } from "../core/clock.ts";
import { type KeptLeases, keepLeases } from "../money/ledger/sweep.ts";
import { doesWork } from "../platform/config.ts";
import type { Foundation } from "./open-foundation.ts";
import { LEASE_MS } from "./stores.ts";

const RECORDS_SWEPT_MAX = 1_000;

/** Begins with the holds that an earlier process of this store has left: nothing may be reserved before they have ended. */
export async function openLeases({
  config,
  stores: { ledger, records, owner },
  broken,
}: Pick<Foundation, "config" | "stores" | "broken">): Promise<KeptLeases> {
  const leases = keepLeases({
    ledger,
    clock: systemClock,
    owner,
    leaseMs: LEASE_MS,
    sweeps: doesWork(config),
    onBroken: (error) => broken(error, "leases"),
    alsoSweep: async () => (await records.sweep(RECORDS_SWEPT_MAX)) === RECORDS_SWEPT_MAX,
  });
  await leases.recover();
  return leases;
}
