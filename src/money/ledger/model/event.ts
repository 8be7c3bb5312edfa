// Ledger events: written in the transaction that causes them, and kept until a process has delivered them.
import { hash } from "node:crypto";

export type LedgerEventKind = "budget.mark" | "run.mark" | "balance.low" | "key.first_use";

export interface LedgerEvent {
  /** The same for the same cause, so that repeats are recognized. */
  readonly id: string;
  readonly kind: LedgerEventKind;
  readonly accountId: string;
  readonly atMs: number;
  readonly data: Readonly<Record<string, string | number>>;
}

/** The most events kept for delivery: per file in SQLite, per account in Redis. */
export const EVENTS_KEPT_MAX = 100_000;

/** Makes an id from these words. Redis scripts make ids of the same form. */
export function eventId(...words: readonly (string | number)[]): string {
  return `evt_${hash("sha1", words.join(" ")).slice(0, 32)}`;
}
