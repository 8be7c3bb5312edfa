// The parts that every call needs, handed in by `gateway/`.
import type { Clock } from "../core/clock.ts";
import type { GatewayError } from "../core/errors.ts";
import type { Held, KeptHoldSpec, Payer } from "../core/plan.ts";
import type { Health } from "../core/route.ts";
import type { Records } from "../platform/records/records.ts";

/** Takes over holds that outlive their requests. */
export interface HoldKeeper {
  /** Writes a record before the hold is placed, so that it survives any crash after that. Not null: the hold is refused, without a record. */
  announce(holdId: string, hold: KeptHoldSpec, payer: Payer): Promise<GatewayError | null>;
  /** Removes the record: the hold was refused, or the launch failed. */
  dismiss(holdId: string, hold: KeptHoldSpec): Promise<void>;
  /** The hold is placed and the launch has succeeded: from now on the keeper ends the hold. */
  takeOver(held: Held, hold: KeptHoldSpec, payer: Payer): Promise<void>;
}

export interface KernelDeps {
  readonly clock: Clock;
  readonly records: Records;
  /** The most that an account's answers kept under Idempotency-Keys take together. */
  readonly keptBytesMax: number;
  readonly health: Health;
  readonly keeper: HoldKeeper;
  /** Reports a fault of the gateway; its caller gets only `internal_error`. */
  onBroken(error: unknown, id: string): void;
}
