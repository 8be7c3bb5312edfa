// What the operator's endpoints answer, as far as the console shows it. Types and nothing else.

import type { NanoSum } from "../../../core/money.ts";
import type { accountRow, operatorTransactionRow } from "../../../money/accounts/rows.ts";
import type { WholeTransaction } from "../account/answers.ts";

export type AccountShown = ReturnType<typeof accountRow>;

export interface UsageLine {
  readonly account_id?: string | null;
  readonly account_name?: string | null;
  readonly model?: string | null;
  readonly provider?: string | null;
  readonly day?: string;
  readonly key_id?: string | null;
  readonly key_label?: string | null;
  readonly calls: number;
  readonly charged_nano_usd: NanoSum;
  readonly upstream_nano_usd: NanoSum;
  readonly absorbed_nano_usd: NanoSum;
  readonly margin_nano_usd: NanoSum;
}
export interface Usage {
  readonly usage: readonly UsageLine[];
}

/** With what is kept for the operator alone. */
export type AnyTransaction = WholeTransaction & ReturnType<typeof operatorTransactionRow>;

/** What an operator has done. */
export interface DoneShown {
  readonly at: string;
  readonly by: string;
  /** Absent: an earlier release has written it, which knew typed names alone. */
  readonly proven?: boolean;
  readonly method: string;
  readonly path: string;
  readonly body: string;
  /** Null: it was asked for, and how it ended is not known. */
  readonly status: number | null;
}

/** What `tollgate certify` found when a vendor was last asked; null: it never was, by a gateway of these books. */
export interface VendorShown {
  readonly provider: string;
  readonly on: boolean;
  readonly certificate: {
    readonly at: string;
    readonly version: string;
    readonly fine: number;
    readonly not_asked: number;
    readonly differs: readonly {
      readonly asked: string;
      readonly kind: string;
      readonly status: number;
      readonly detail: string;
    }[];
  } | null;
  /** What no call has confirmed of it yet. */
  readonly unconfirmed: readonly { readonly of: string; readonly why: string }[];
}
