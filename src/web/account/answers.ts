// What the endpoints of an account answer, as far as its pages show it. Types, tied to the rows that the endpoints make where they can be; and what a call is named.
import type { keyRow, ownAccountRow, transactionRow, wholeTransactionRow } from "../../accounts/rows.ts";

export type OwnAccount = ReturnType<typeof ownAccountRow>;
export type KeyShown = ReturnType<typeof keyRow>;
export interface KeysShown {
  readonly agents: readonly KeyShown[];
  readonly next_cursor: string | null;
}
export type KeyMade = KeyShown & { readonly api_key: string };

/** What refuses a key's calls now, and the least that bounds one. */
export interface WhyShown {
  readonly label: string;
  readonly reasons: readonly {
    readonly code: string;
    readonly message: string;
    readonly hint: string;
    readonly until?: string;
  }[];
  readonly bounded_by: string;
}

/** Fields that depend on what was called. */
interface Called {
  readonly model?: string | undefined;
  readonly service?: string | undefined;
  readonly action?: string | undefined;
}
export type TransactionShown = ReturnType<typeof transactionRow> & Called;
export type WholeTransaction = ReturnType<typeof wholeTransactionRow> & Called;
export interface TransactionsShown {
  readonly transactions: readonly TransactionShown[];
  readonly next_cursor: string | null;
}

/** A call that was not charged. */
export interface FailedShown {
  readonly request_id: string;
  readonly kind: string;
  readonly created_at: string;
  readonly key_id: string;
  readonly key_label?: string | null;
  readonly account_id?: string;
  readonly account_name?: string | null;
  readonly endpoint: string;
  readonly asked: string | null;
  readonly status: number;
  readonly code: string | null;
  readonly ms: number;
  readonly tags?: readonly string[];
  readonly attempts: readonly {
    readonly vendor: string;
    readonly model: string;
    readonly status: number;
    readonly reason: string | null;
    readonly ms: number;
  }[];
}

export interface GroupShown {
  readonly id: string;
  readonly name: string;
  readonly ceiling_cents: number | null;
  readonly ceiling_period: string | null;
  readonly keys: readonly string[];
}

export interface BudgetShown {
  readonly of: string;
  readonly id: string;
  readonly name: string;
  readonly ceiling_cents: number;
  readonly ceiling_period: string;
  readonly lower_at: number | null;
  readonly spent_cents: number;
  readonly held_cents: number;
  readonly absorbed_cents: number;
  readonly marks_passed: readonly number[];
  readonly lowered: boolean;
  readonly resets_at: string;
}

export interface EventShown {
  readonly id: string;
  readonly kind: string;
  readonly account_id: string | null;
  readonly at: string;
  readonly data: Readonly<Record<string, unknown>>;
}
export interface EventsShown {
  readonly events: readonly EventShown[];
  readonly next_cursor: string | null;
}
export interface WebhookShown {
  readonly id: string;
  readonly url: string;
  readonly kinds: readonly string[] | null;
  readonly created_at: string;
}

export function calledName({ model, service, action }: Called): string {
  return model ?? (service === undefined ? "" : `${service}/${action}`);
}
