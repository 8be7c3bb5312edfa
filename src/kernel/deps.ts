// What the kernel is given: the parts that every call meets, handed in by the composition root.
import type { Clock } from "../core/clock.ts";
import type { GatewayError } from "../core/errors.ts";
import type { Held, KeptHoldSpec, Payer } from "../core/plan.ts";
import type { Health } from "../core/route.ts";
import type { Records } from "../platform/records/records.ts";

/** Goes on with holds that outlive their requests. */
export interface HoldKeeper {
  /** A hold is about to be placed: whatever dies from now on, its record is there. Not null: why it must not be, and there is no record. */
  announce(holdId: string, hold: KeptHoldSpec, payer: Payer): Promise<GatewayError | null>;
  /** The hold was refused, or it was given back because the launch failed: there is nothing to go on with. */
  dismiss(holdId: string, hold: KeptHoldSpec): Promise<void>;
  /** The hold is placed and its launch has been answered for: from now on it is the keeper's to end. */
  takeOver(held: Held, hold: KeptHoldSpec, payer: Payer): Promise<void>;
}

export interface KernelDeps {
  readonly clock: Clock;
  readonly records: Records;
  /** What the answers that are kept of an account under their Idempotency-Keys may have together. */
  readonly keptBytesMax: number;
  readonly health: Health;
  readonly keeper: HoldKeeper;
  /** Something is broken in the gateway itself; the caller is told `internal_error` and no more. */
  onBroken(error: unknown, id: string): void;
}
