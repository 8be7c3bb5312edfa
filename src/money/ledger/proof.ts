// The part of `doctor` that compares payments with their chains: how many were found there, and which were not.
import type { Finding } from "./model/ledger.ts";

export interface Proved {
  readonly of: string;
  readonly proved: number;
  /** Payments whose chain did not answer. */
  readonly unknown: number;
  readonly findings: readonly Finding[];
}

const AT_ONCE = 16;

/** Processes all rows, a few at a time: each needs a query to a node. */
export async function inChunks<Row>(rows: readonly Row[], look: (row: Row) => Promise<void>): Promise<void> {
  for (let at = 0; at < rows.length; at += AT_ONCE) await Promise.all(rows.slice(at, at + AT_ONCE).map(look));
}
