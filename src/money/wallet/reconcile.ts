// Resolves payments that got no good answer: asks each one's chain until the payment appears or expires.
import type { Rail } from "../../catalog/auth.ts";
import type { Clock } from "../../core/clock.ts";
import { inDoubt } from "../../platform/records/in-doubt.ts";
import type { Records } from "../../platform/records/records.ts";
import type { WalletBooks } from "./books.ts";
import { onChain } from "./chain-log.ts";
import { openPaid, type PaidRecord, putPaid } from "./paid-records.ts";

/** Younger payments still belong to their running call. */
const OWN_MS = 90_000;
/** Without a node to ask, a payment this long expired counts as made. A charge not booked by then never will be. */
const UNTOLD_MS = 24 * 3_600_000;

export interface ReconcileParts {
  readonly records: Records;
  readonly books: Pick<WalletBooks, "unbook">;
  /** Refunds a call's charge to its caller, once, however often it is called. False where no charge is booked yet. */
  readonly giveBack: (callId: string) => Promise<boolean>;
  readonly clock: Clock;
  /** A node for each rail's network; null where none is configured. */
  readonly nodes: Readonly<Record<Rail, string | null>>;
  /** How to reach the nodes. Default: directly. */
  readonly fetchOut?: typeof fetch;
  readonly onBroken: (error: unknown) => void;
}

export type WalletReconciler = ReturnType<typeof walletReconciler>;

export function walletReconciler(parts: ReconcileParts) {
  const { records, books, giveBack, clock, nodes, fetchOut, onBroken } = parts;

  async function stateOf(paid: PaidRecord): Promise<PaidRecord["state"]> {
    const node = nodes[paid.rail];
    const found = node === null ? "unknown" : await onChain(node, paid, fetchOut);
    const isOld = paid.validBefore * 1_000 + UNTOLD_MS <= clock.epochMs();
    if (node === null && isOld) {
      await putPaid(records, { ...paid, state: "made" });
      return "made";
    }
    if (found === "open" || found === "unknown") return "open";
    if (found === "lapsed") {
      // Refund the booking first: a second run refunds nothing twice.
      await books.unbook(paid.callId);
      if (paid.chargedAnyway === true && !(await giveBack(paid.callId)) && !isOld) return "open";
      await putPaid(records, { ...paid, state: "unmade" });
      return "unmade";
    }
    await putPaid(records, { ...paid, state: "made", transaction: found.transaction });
    return "made";
  }

  const open = () => openPaid(records);
  return inDoubt({ open, sinceMs: (paid) => paid.sinceMs, stateOf, ownMs: OWN_MS, clock, onBroken });
}
