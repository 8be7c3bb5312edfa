// A transaction as a node of Ethereum's kind takes it: signed bytes that name their highest fee (EIP-1559, in the envelope of EIP-2718).
import { keccak_256 } from "@noble/hashes/sha3.js";
import { bytesOf, type Hex, hexOf } from "./hex.ts";
import { signatureOf } from "./keys.ts";
import { NOTHING, number, rlp } from "./rlp.ts";

export interface Transaction {
  readonly chainId: number;
  /** How many its sender has sent before. */
  readonly nonce: number;
  /** In wei for each unit of gas: what the block's maker gets, and the most in all. */
  readonly tipWei: bigint;
  readonly feeWeiMax: bigint;
  readonly gasMax: bigint;
  readonly to: string;
  readonly data: Uint8Array;
}

const KIND = Uint8Array.of(2);

/** The signed bytes, and the hash that the chain knows the transaction by. */
export function signTransaction(transaction: Transaction, key: Hex): { readonly raw: Hex; readonly hash: Hex } {
  const { chainId, nonce, tipWei, feeWeiMax, gasMax, to, data } = transaction;
  const numbers = [BigInt(chainId), BigInt(nonce), tipWei, feeWeiMax, gasMax].map(number);
  const fields = [...numbers, bytesOf(to), NOTHING, data, []];
  const signature = signatureOf(keccak_256(Buffer.concat([KIND, rlp(fields)])), key);
  const [r, s, v] = [signature.slice(2, 66), signature.slice(66, 130), Number(`0x${signature.slice(130)}`)];
  const signed = [BigInt(v - 27), BigInt(`0x${r}`), BigInt(`0x${s}`)].map(number);
  const bytes = Buffer.concat([KIND, rlp([...fields, ...signed])]);
  return { raw: hexOf(bytes), hash: hexOf(keccak_256(bytes)) };
}
