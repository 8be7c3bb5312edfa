// What `doctor` says of payments that chains know as well: how many were found there, and which were not.
import type { Finding } from "./model/ledger.ts";

export interface Proved {
  /** What was looked at, for the operator. */
  readonly of: string;
  readonly proved: number;
  /** Their chain could not be asked, or does not say. */
  readonly unknown: number;
  readonly findings: readonly Finding[];
}

const AT_ONCE = 16;

/** Looks at all of them, some at a time: a node is asked for each. */
export async function inChunks<Row>(rows: readonly Row[], look: (row: Row) => Promise<void>): Promise<void> {
  for (let at = 0; at < rows.length; at += AT_ONCE) await Promise.all(rows.slice(at, at + AT_ONCE).map(look));
}
