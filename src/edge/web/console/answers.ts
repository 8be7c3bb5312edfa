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
