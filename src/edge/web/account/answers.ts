// The fields of the account endpoints' answers that the pages show, as types derived from the endpoints' rows where possible; and a call's
// display name.

import type { FailedCall } from "../../../core/usage-rows.ts";
import type { Naming } from "../../../money/accounts/names.ts";
import type { keyRow, ownAccountRow, transactionRow, wholeTransactionRow } from "../../../money/accounts/rows.ts";
import type { failedRow } from "../../../money/accounts/usage-endpoints.ts";
import type { hookRow } from "../../../money/events/event-endpoints.ts";
import type { eventRow } from "../../../money/events/event-log.ts";
import type { Reckoned } from "../../../money/runs/bill.ts";
import type { RunCallRow } from "../../../money/runs/bill-calls.ts";
import type { RunShown } from "../../../money/runs/run-endpoints.ts";
import type { Paged } from "../kit/ask.ts";

export type OwnAccount = ReturnType<typeof ownAccountRow>;
export type KeyShown = ReturnType<typeof keyRow>;
export type KeysShown = Paged<"agents", KeyShown>;
export type KeyMade = KeyShown & { readonly api_key: string };

/** Fields that depend on the kind of call. */
interface Called {
  readonly model?: string | undefined;
  readonly service?: string | undefined;
  readonly action?: string | undefined;
}
export type TransactionShown = ReturnType<typeof transactionRow> & Called & Naming & { readonly account_id?: string };
export type WholeTransaction = ReturnType<typeof wholeTransactionRow> & Called & Naming;
export type TransactionsShown = Paged<"transactions", TransactionShown>;

/** A call that was not charged. */
export type FailedShown = Omit<ReturnType<typeof failedRow>, "attempts" | "account_id"> &
  Naming & {
    readonly account_id?: string;
    /** Only for the operator, as the provider's words (`refusal`) of an attempt. */
    readonly reason?: string | null;
    readonly attempts: readonly Omit<FailedCall["attempts"][number], "upstreamNano">[];
  };

/** In a list, without the runs below it. */
export type RunListed = Omit<RunShown, "children">;
export type RunsShown = Paged<"runs", RunListed>;
type RunCall = RunCallRow & Called & Naming;
/** Pages after the first have only calls. */
export type BillShown = RunShown &
  Partial<Reckoned> & { readonly calls: readonly RunCall[]; readonly next_cursor: string | null };

export type EventShown = ReturnType<typeof eventRow>;
export type EventsShown = Paged<"events", EventShown>;
export type WebhookShown = ReturnType<typeof hookRow>;

export function calledName({ model, service, action }: Called): string {
  return model ?? (service === undefined ? "" : `${service}/${action}`);
}
