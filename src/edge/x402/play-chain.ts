// The sandbox's chain and facilitator in one: moves play money by USDC's rules, in records, without any outside effect.
import { createHash } from "node:crypto";
import { PLAY_NETWORK } from "../../catalog/networks.ts";
import type { Clock } from "../../core/clock.ts";
import type { Records } from "../../platform/records/records.ts";
import { takeFrom } from "../../platform/records/shared-window.ts";
import type { Chain } from "./chain.ts";
import type { Facilitator } from "./facilitator.ts";
import { signedBySender } from "./own-facilitator.ts";
import { nameOf, type Payment, signedIn } from "./read-payment.ts";

/** The initial play balance of every address, in millionths of a dollar. A new address starts with the same. */
export const PLAY_UNITS = 10_000_000;
const SPENT = "x402-play-spent";
const USED = "x402-play-used";
const KEPT_MS = 24 * 3_600_000;
/** Of all used authorizations: an evicted one could be reused, which only moves play money. */
const USED_SHARE = { bytesMax: 16 * 1024 * 1024, full: "oldest_leave" } as const;

export interface PlayChain extends Facilitator, Chain {
  /** The remaining balance of an address, in millionths of a play dollar. */
  balance(address: string): Promise<number>;
}

export function createPlayChain({ records, clock }: { readonly records: Records; readonly clock: Clock }): PlayChain {
  const idOf = (payment: Pick<Payment, "network" | "asset" | "from" | "nonce">) =>
    createHash("sha256").update(nameOf(payment)).digest("hex");
  /** The same for the same authorization: each has one transaction. */
  const transactionOf = (payment: Parameters<typeof idOf>[0]) => `0x${idOf(payment)}`;

  async function spentOf(address: string): Promise<number> {
    return Number((await records.get(SPENT, address))?.value ?? 0);
  }

  /** Why the payment is refused, as the reference facilitator words it; null: it can be made. */
  async function reasonAgainst(payment: Payment): Promise<string | null> {
    const { validAfter, validBefore } = signedIn(payment).authorization;
    const nowSeconds = clock.epochMs() / 1_000;
    if (Number(validAfter) >= nowSeconds) return "invalid_exact_evm_payload_authorization_valid_after";
    if (Number(validBefore) <= nowSeconds) return "invalid_exact_evm_payload_authorization_valid_before";
    // After the cheap checks, because the elliptic curve check takes longest.
    if (signedBySender(payment, PLAY_NETWORK) !== true) return "invalid_exact_evm_signature";
    if ((await records.get(USED, idOf(payment))) !== null) return "invalid_exact_evm_nonce_already_used";
    return (await spentOf(payment.from)) + Number(payment.value) > PLAY_UNITS ? "insufficient_funds" : null;
  }

  /** False: the balance is too low. Concurrent payments are counted one after the other. */
  async function spend({ from, value }: Payment): Promise<boolean> {
    const units = Number(value);
    const place = { kind: SPENT, id: from, ttlMs: KEPT_MS };
    return (await takeFrom(records, place, (spent) => (spent + units > PLAY_UNITS ? 0 : units))) === units;
  }

  return {
    async verify(payment) {
      const reason = await reasonAgainst(payment);
      return reason === null ? { valid: true } : { valid: false, reason };
    },
    async settle(payment) {
      const refused = (reason: string) => ({ settled: false, reason, mayBe: false }) as const;
      const reason = await reasonAgainst(payment);
      if (reason !== null) return refused(reason);
      const transaction = transactionOf(payment);
      const id = idOf(payment);
      const used = { kind: USED, id, payer: USED, value: transaction, ttlMs: KEPT_MS, ifVersion: 0, share: USED_SHARE };
      if ((await records.put(used)) === null) return refused("invalid_exact_evm_nonce_already_used");
      if (await spend(payment)) return { settled: true, transaction };
      await records.delete(USED, id);
      return refused("insufficient_funds");
    },
    async ended({ asset, from, nonce }) {
      const payment = { network: PLAY_NETWORK.caip2, asset, from, nonce };
      const stored = await records.get(USED, idOf(payment));
      return stored === null ? { state: "open" } : { state: "used", transaction: stored.value };
    },
    balance: async (address) => PLAY_UNITS - (await spentOf(address.toLowerCase())),
  };
}
