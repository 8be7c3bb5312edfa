// The dependencies of every call, supplied by `gateway/`.
import type { Clock } from "../core/clock.ts";
import type { GatewayError } from "../core/errors.ts";
import type { Held, KeptHoldSpec, Payer } from "../core/plan.ts";
import type { Health } from "../core/route.ts";
import type { Records } from "../platform/records/records.ts";

/** Takes over holds that outlive their requests. */
export interface HoldKeeper {
  /** Writes a record before the hold is placed, so that it survives any crash. On an error, the hold is refused and no record remains. */
  announce(holdId: string, hold: KeptHoldSpec, payer: Payer): Promise<GatewayError | null>;
  /** Removes the record after the hold was refused or the launch failed. */
  dismiss(holdId: string, hold: KeptHoldSpec): Promise<void>;
  /** The hold is placed and the launch succeeded: from now on the keeper ends the hold. */
  takeOver(held: Held, hold: KeptHoldSpec, payer: Payer): Promise<void>;
}

export interface KernelDeps {
  readonly clock: Clock;
  readonly records: Records;
  /** The most bytes an account may store under its Idempotency-Keys. */
  readonly keptBytesMax: number;
  readonly health: Health;
  readonly keeper: HoldKeeper;
  /** Reports an internal fault; the caller gets only `internal_error`. */
  onBroken(error: unknown, id: string): void;
}
