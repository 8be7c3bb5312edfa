// What sessions need from the rest of the gateway.

import type { Adapter } from "../../catalog/catalog.ts";
import type { SessionContext } from "../../catalog/session.ts";
import type { Clock } from "../../core/clock.ts";
import type { Ledger } from "../../money/ledger/model/ledger.ts";
import type { Records } from "../../platform/records/records.ts";
import type { ScriptOrder } from "../../upstream/vendor-script.ts";
import type { Jobs } from "../jobs/jobs.ts";

export interface SessionsDeps {
  readonly records: Records;
  readonly clock: Clock;
  readonly ledger: Pick<Ledger, "standing">;
  readonly jobs: () => Pick<Jobs, "find" | "cancel">;
  /** The current adapter for live or sandbox accounts; null where that id no longer exists. */
  adapter(id: string, sandbox: boolean): Adapter | null;
  /** Throws VendorFailure, or what the script throws. */
  vendorScript<T>(script: (context: SessionContext) => Promise<T>, order: ScriptOrder): Promise<T>;
  /** Returns after this many milliseconds of the clock, or once the signal is aborted. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
  onBroken(error: unknown, id: string): void;
}
