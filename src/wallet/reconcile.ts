// Finds out what became of payments that no good answer came to: each is asked for on its chain until it is there, or has lapsed.
import type { Rail } from "../catalog/auth.ts";
import type { Clock } from "../clock.ts";
import type { Records } from "../records/records.ts";
import type { WalletBooks } from "./books.ts";
import { onChain } from "./chain-log.ts";
import { openPaid, type PaidRecord, putPaid } from "./paid-records.ts";

const LOOK_MS = 30_000;
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
  readonly onBroken: (error: unknown) => void;
}

export interface WalletReconciler {
  start(): void;
  stop(): Promise<void>;
  /** Looks once at all that have been open for so long; answers what became of each. */
  look(openMsMin?: number): Promise<readonly PaidRecord["state"][]>;
  /** As the last look left it. */
  seen(): { readonly count: number; readonly oldestMs: number };
}

export function walletReconciler(parts: ReconcileParts): WalletReconciler {
  const { records, books, giveBack, clock, nodes, onBroken } = parts;
  let timer: NodeJS.Timeout | undefined;
  let looking: Promise<readonly PaidRecord["state"][]> | null = null;
  let open: { readonly count: number; readonly oldestAtMs: number | null } = { count: 0, oldestAtMs: null };

  async function stateOf(paid: PaidRecord): Promise<PaidRecord["state"]> {
    const node = nodes[paid.rail];
    const found = node === null ? "unknown" : await onChain(node, paid);
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

  async function look(openMsMin: number): Promise<readonly PaidRecord["state"][]> {
    const nowMs = clock.epochMs();
    const due = (await openPaid(records)).filter(({ sinceMs }) => nowMs - sinceMs >= openMsMin);
    const states: PaidRecord["state"][] = [];
    const left: number[] = [];
    for (const paid of due) {
      const state = await stateOf(paid).catch((error: unknown) => {
        onBroken(error);
        return "open" as const;
      });
      states.push(state);
      if (state === "open") left.push(paid.sinceMs);
    }
    open = { count: left.length, oldestAtMs: left.length === 0 ? null : Math.min(...left) };
    return states;
  }

  const lookOnce = (openMsMin = OWN_MS) => {
    looking ??= look(openMsMin).finally(() => {
      looking = null;
    });
    return looking;
  };
  return {
    look: lookOnce,
    seen: () => {
      const { count, oldestAtMs } = open;
      return { count, oldestMs: oldestAtMs === null ? 0 : Math.max(0, clock.epochMs() - oldestAtMs) };
    },
    start() {
      timer = setInterval(() => void lookOnce().catch(onBroken), LOOK_MS);
      timer.unref();
    },
    async stop() {
      clearInterval(timer);
      await looking?.catch(() => {});
    },
  };
}
