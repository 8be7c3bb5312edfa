// A facilitator in this process: verifies a payment with a node, and settles it by a transaction of its own wallet.
import { z } from "zod";
import type { Network } from "../../catalog/networks.ts";
import type { Clock } from "../../core/clock.ts";
import { bytesOf, type Hex, hexOf, word } from "../../money/wallet/hex.ts";
import { signerOf } from "../../money/wallet/keys.ts";
import { NodeRefusal, type NodeRpc } from "../../money/wallet/node-rpc.ts";
import { authorizationDigest } from "../../money/wallet/typed-data.ts";
import type { Facilitator, Settlement, Verdict } from "./facilitator.ts";
import type { GasWallet } from "./gas-wallet.ts";
import { type Payment, signedIn } from "./read-payment.ts";

/** The length for a wallet that is a key. A longer signature belongs to a contract wallet, which only its chain can verify. */
const KEY_SIGNATURE_CHARACTERS = 2 + 65 * 2;

/** `contract`: the sender would be a contract. */
export function signedBySender(payment: Payment, { domain, chainId, asset }: Network): boolean | "contract" {
  const { signature, authorization } = signedIn(payment);
  if (signature.length !== KEY_SIGNATURE_CHARACTERS) return "contract";
  try {
    const digest = authorizationDigest(authorization, { ...domain, chainId, asset: asset as Hex });
    return signerOf(digest, signature) === payment.from;
  } catch {
    return false;
  }
}

/** `transferWithAuthorization`, with a key's signature (v, r, s), and with one that a contract verifies. */
const BY_KEY = "0xe3ee160e";
const BY_CONTRACT = "0xcf092995";
const BALANCE = "0x70a08231";
const STATE = "0xe94a0102";
/** The gas limit of a transfer. Unused gas is not paid. */
const KEY_GAS_MAX = 150_000;
const CONTRACT_GAS_MAX = 400_000;
/** A payment about to expire would not get into a block in time. */
const SECONDS_LEFT_MIN = 6;
const NONCE_USED = "invalid_exact_evm_nonce_already_used";

export interface OwnFacilitatorParts {
  readonly network: Network;
  readonly node: NodeRpc;
  readonly wallet: GasWallet;
  readonly clock: Clock;
}

function transferData(payment: Payment): { readonly data: Hex; readonly gasMax: number } {
  const { signature, authorization } = signedIn(payment);
  const { from, to, value, validAfter, validBefore, nonce } = authorization;
  const numbers = [value, validAfter, validBefore].map((text) => word(BigInt(text)));
  const words = Buffer.concat([word(from), word(to), ...numbers, word(nonce)]);
  const bytes = bytesOf(signature);
  if (bytes.length === 65) {
    const ending = [word(BigInt(bytes[64] ?? 0)), bytes.subarray(0, 64)];
    return { data: hexOf(Buffer.concat([bytesOf(BY_KEY), words, ...ending])), gasMax: KEY_GAS_MAX };
  }
  const padded = Buffer.concat([bytes, Buffer.alloc((32 - (bytes.length % 32)) % 32)]);
  // The offset of the signature, after the call's seven words.
  const ending = [word(7n * 32n), word(BigInt(bytes.length)), padded];
  return { data: hexOf(Buffer.concat([bytesOf(BY_CONTRACT), words, ...ending])), gasMax: CONTRACT_GAS_MAX };
}

export function ownFacilitator({ network, node, wallet, clock }: OwnFacilitatorParts): Facilitator {
  const { asset } = network;
  const ask = async (data: string) =>
    BigInt(z.string().parse(await node.call("eth_call", [{ to: asset, data }, "latest"])));

  async function diagnosis({ from, nonce, value }: Payment): Promise<string> {
    const sender = hexOf(word(from)).slice(2);
    const [state, balance] = await Promise.all([ask(`${STATE}${sender}${nonce.slice(2)}`), ask(`${BALANCE}${sender}`)]);
    if (state !== 0n) return NONCE_USED;
    return balance < BigInt(value) ? "insufficient_funds" : "invalid_exact_evm_transaction_simulation_failed";
  }

  /** Null: it can be settled. A transaction that reverts costs gas and moves nothing, however often it is sent. */
  async function whyNotMade(payment: Payment, data: Hex): Promise<Settlement | null> {
    try {
      await simulate(data);
      return null;
    } catch (error) {
      if (!(error instanceof NodeRefusal)) return "unknown";
      const reason = await diagnosis(payment).catch(() => null);
      return reason === null ? "unknown" : { settled: false, reason, mayBe: reason === NONCE_USED };
    }
  }

  /** Rejects with a NodeRefusal where the transfer would revert. */
  const simulate = (data: Hex) => node.call("eth_call", [{ from: wallet.address, to: asset, data }, "latest"]);

  async function verdictOfChain(payment: Payment): Promise<Verdict> {
    const { data } = transferData(payment);
    try {
      const [isReady] = await Promise.all([wallet.isReady().catch(() => false), simulate(data)]);
      return isReady ? { valid: true } : "away";
    } catch (error) {
      if (!(error instanceof NodeRefusal)) return "away";
      return { valid: false, reason: await diagnosis(payment) };
    }
  }

  return {
    async verify(payment) {
      const refused = (reason: string): Verdict => ({ valid: false, reason });
      const { validAfter, validBefore } = signedIn(payment).authorization;
      const nowSeconds = clock.epochMs() / 1_000;
      if (Number(validAfter) >= nowSeconds) return refused("invalid_exact_evm_payload_authorization_valid_after");
      if (Number(validBefore) < nowSeconds + SECONDS_LEFT_MIN)
        return refused("invalid_exact_evm_payload_authorization_valid_before");
      // Last, because the elliptic curve check takes longest.
      if (!signedBySender(payment, network)) return refused("invalid_exact_evm_signature");
      return verdictOfChain(payment).catch(() => "away");
    },
    async settle(payment) {
      const call = { to: asset, ...transferData(payment) };
      const refused = await whyNotMade(payment, call.data);
      if (refused !== null) return refused;
      const mined = await wallet.send(call);
      if (mined === "unknown") return mined;
      if (mined.isDone) return { settled: true, transaction: mined.transaction, inBlock: true };
      return { settled: false, reason: "invalid_exact_evm_transaction_failed", mayBe: false };
    },
  };
}
