// The fields of the operator endpoints' answers that the console shows: only types.

import type { NanoSum } from "../../../core/money.ts";
import type { accountRow, operatorTransactionRow } from "../../../money/accounts/rows.ts";
import type { WholeTransaction } from "../account/answers.ts";
import type { UsageLine } from "../spending.ts";

export type AccountShown = ReturnType<typeof accountRow>;

/** With the figures that only the operator sees. */
export interface OperatorLine extends UsageLine {
  readonly upstream_nano_usd: NanoSum;
  readonly absorbed_nano_usd: NanoSum;
  readonly margin_nano_usd: NanoSum;
}
export interface Usage {
  readonly usage: readonly OperatorLine[];
}

/** With the fields that only the operator sees. */
export type AnyTransaction = WholeTransaction & ReturnType<typeof operatorTransactionRow>;

/** An entry of the operator log. */
export interface DoneShown {
  readonly at: string;
  readonly by: string;
  /** Absent in entries of an earlier release, which knew only typed names. */
  readonly proven?: boolean;
  readonly method: string;
  readonly path: string;
  readonly body: string;
  /** Null: the change was requested, and its result is unknown. */
  readonly status: number | null;
}

/** A vendor's last `tollgate certify` result; null: no gateway with these books has stored one. */
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
  /** The adapter's statements that no call has confirmed yet. */
  readonly unconfirmed: readonly { readonly of: string; readonly why: string }[];
}
