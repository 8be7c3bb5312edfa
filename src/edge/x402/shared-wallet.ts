// The gas wallet as processes share it: one of them sends at a time, and the next knows what was sent.
import { setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "../../core/clock.ts";
import type { Hex } from "../../money/wallet/hex.ts";
import type { Records } from "../../platform/records/records.ts";

const KIND = "x402-gas-wallet";
/** Longer than sending a batch takes; a process that dies while sending blocks the wallet for this long. */
const TAKEN_MS = 15_000;
const TAKE_AGAIN_MS = 25;

/** A transaction that no known block includes yet. */
export interface Sent {
  readonly nonce: number;
  readonly to: string;
  readonly data: Hex;
  readonly gasMax: number;
  /** In wei, as text. */
  readonly feeWei: string;
  readonly atMs: number;
}

/** The wallet's shared state. `takenBy`: the process that is sending, and until when. */
export interface Shared {
  readonly takenBy: string | null;
  readonly takenUntilMs: number;
  readonly sent: readonly Sent[];
}

const NONE: Shared = { takenBy: null, takenUntilMs: 0, sent: [] };

export interface SharingParts {
  readonly records: Records;
  readonly clock: Clock;
  /** This process. */
  readonly owner: string;
}

/** Stores what was sent, while this process holds the wallet. Rejects once it does not. */
export type Keep = (sent: readonly Sent[]) => Promise<readonly Sent[]>;

/** Runs the work while no other process has the wallet. After a suspension two may have it: that costs gas and no money. */
export async function withWallet(
  { records, clock, owner }: SharingParts,
  address: string,
  work: (sent: readonly Sent[], keep: Keep) => Promise<void>,
): Promise<void> {
  const put = (shared: Shared, ifVersion: number) =>
    records.put({ kind: KIND, id: address, payer: null, value: JSON.stringify(shared), ttlMs: null, ifVersion });

  async function take() {
    for (;;) {
      const stored = await records.get(KIND, address);
      const shared = stored === null ? NONE : (JSON.parse(stored.value) as Shared);
      const nowMs = clock.epochMs();
      if (shared.takenBy === null || shared.takenUntilMs <= nowMs) {
        const version = await put({ ...shared, takenBy: owner, takenUntilMs: nowMs + TAKEN_MS }, stored?.version ?? 0);
        if (version !== null) return { shared, version };
      }
      await sleep(TAKE_AGAIN_MS);
    }
  }

  const taken = await take();
  let { version } = taken;
  let { sent } = taken.shared;
  async function keepAs(next: readonly Sent[], takenBy: string | null): Promise<readonly Sent[]> {
    const takenUntilMs = takenBy === null ? 0 : clock.epochMs() + TAKEN_MS;
    const kept = await put({ takenBy, takenUntilMs, sent: next }, version);
    if (kept === null) throw new Error("another process has the wallet");
    [version, sent] = [kept, next];
    return next;
  }
  try {
    await work(taken.shared.sent, (next) => keepAs(next, owner));
  } finally {
    await keepAs(sent, null).catch(() => {});
  }
}
