// The part of `doctor` that compares payments with their chains: how many were found there, and which were not.
import type { Finding } from "./model/ledger.ts";

export interface Proved {
  readonly of: string;
  readonly proved: number;
  /** Payments whose chain did not answer. */
  readonly unknown: number;
  readonly findings: readonly Finding[];
}

/** Payments proved at once: each needs a query to a node. */
export const PROVED_AT_ONCE = 16;
