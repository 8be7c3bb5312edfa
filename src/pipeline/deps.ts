// What the pipeline is given: every part that a paid request meets, handed in by the composition root.
import type { Clock } from "../clock.ts";
import type { GatewayError } from "../errors.ts";
import type { HoldRef, Ledger } from "../ledger/model/ledger.ts";
import type { WindowState } from "../limits/request-windows.ts";
import type { Observer } from "../observe/observer.ts";
import type { AttemptFailure, Caller, Route } from "../plan.ts";
import type { Records } from "../records/records.ts";

/** Leases of this process's running holds: renewed until released. */
export interface Leases {
  keep(hold: HoldRef): void;
  release(hold: HoldRef): void;
}

/** What the pipeline needs to know of the routes' health. */
export interface Health {
  order(routes: readonly Route[]): Route[];
  trying(route: Route): void;
  good(route: Route): void;
  bad(route: Route, failure: AttemptFailure): void;
  unknown(route: Route): void;
}

export interface PipelineDeps {
  readonly clock: Clock;
  readonly observer: Observer;
  readonly ledger: Ledger;
  readonly records: Records;
  readonly leases: Leases;
  readonly health: Health;
  /** A caller by its Authorization header. */
  authenticate(authorization: string | undefined): Caller | GatewayError | Promise<Caller | GatewayError>;
  /** The admin token of the admin listener. */
  isAdmin(authorization: string | undefined): boolean;
  /** Counts a request of an account, or of an address without a good credential. */
  takeWindow(kind: "account" | "address", key: string, limit: number): WindowState;
  /** The same without counting it. */
  peekWindow(kind: "account" | "address", key: string, limit: number): WindowState;
  readonly addressRequestsPerMinute: number;
  /** The ledger counts paid calls against the account's window, for all processes together. */
  readonly countsPaidCalls?: boolean;
  /** This process, as the owner of its holds. */
  readonly owner: string;
  readonly leaseMs: number;
  draining(): boolean;
  /** Something is broken in the gateway itself; the caller is told `internal_error` and no more. */
  onBroken(error: unknown, requestId: string): void;
}
