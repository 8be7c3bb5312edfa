// Finds out what became of payments that no good answer came to: each is asked for on its chain until it is there, or has lapsed.
import type { Rail } from "../../catalog/auth.ts";
import type { Clock } from "../../core/clock.ts";
import { type InDoubt, inDoubt } from "../../platform/records/in-doubt.ts";
import type { Records } from "../../platform/records/records.ts";
import type { WalletBooks } from "./books.ts";
import { onChain } from "./chain-log.ts";
import { openPaid, type PaidRecord, putPaid } from "./paid-records.ts";

/** What has just left is the call's own. */
const OWN_MS = 90_000;
/** Where there is no node to ask, what has lapsed for so long counts as made. And a charge that is not booked by then will never be. */
const UNTOLD_MS = 24 * 3_600_000;

export interface ReconcileParts {
  readonly records: Records;
  readonly books: Pick<WalletBooks, "unbook">;
  /** Gives its caller back what a call was charged, once, however often it is asked. False: no charge of it is booked, or not yet. */
  readonly giveBack: (callId: string) => Promise<boolean>;
  readonly clock: Clock;
  /** A node of each rail's network; null: none can be asked. */
  readonly nodes: Readonly<Record<Rail, string | null>>;
  /** How they are reached. Default: directly. */
  readonly fetchOut?: typeof fetch;
  readonly onBroken: (error: unknown) => void;
}

export type WalletReconciler = InDoubt<PaidRecord["state"]>;

export function walletReconciler(parts: ReconcileParts): WalletReconciler {
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
      // Given back first: a second look gives nothing back twice.
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
