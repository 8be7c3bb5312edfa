// What the ledger tells of money: written in the transaction that causes it, and kept until a process has taken it further.
import { hash } from "node:crypto";

export type LedgerEventKind = "budget.mark" | "balance.low" | "key.first_use";

export interface LedgerEvent {
  /** The same for the same cause, however often it is told. */
  readonly id: string;
  readonly kind: LedgerEventKind;
  readonly accountId: string;
  readonly atMs: number;
  readonly data: Readonly<Record<string, string | number>>;
}

/** What is kept at most until it is taken: of all accounts in a file, of each account in Redis. */
export const EVENTS_KEPT_MAX = 100_000;

/** An id of these words. Scripts make theirs in the same shape. */
export function eventId(...words: readonly (string | number)[]): string {
  return `evt_${hash("sha1", words.join(" ")).slice(0, 32)}`;
}
