// A signed Ethereum transaction with a maximum fee (EIP-1559 in an EIP-2718 envelope).
import { keccak_256 } from "@noble/hashes/sha3.js";
import { bytesOf, type Hex, hexOf } from "./hex.ts";
import { signatureOf } from "./keys.ts";
import { NOTHING, number, rlp } from "./rlp.ts";

/** A contract call that moves none of the chain's own coin. Large numbers are strings: it crosses to the wallet's process as JSON. */
export interface Transaction {
  readonly chainId: number;
  /** How many transactions the sender has sent before. */
  readonly nonce: number;
  /** In wei per unit of gas: the validator's tip, and the maximum in all. */
  readonly tipWei: string;
  readonly feeWeiMax: string;
  readonly gasMax: number;
  readonly to: string;
  readonly data: Hex;
}

const KIND = Uint8Array.of(2);

export function signedTransaction(transaction: Transaction, key: Hex): Hex {
  const { chainId, nonce, tipWei, feeWeiMax, gasMax, to, data } = transaction;
  const numbers = [chainId, nonce, tipWei, feeWeiMax, gasMax].map((value) => number(BigInt(value)));
  const fields = [...numbers, bytesOf(to), NOTHING, bytesOf(data), []];
  const signature = signatureOf(keccak_256(Buffer.concat([KIND, rlp(fields)])), key);
  const [r, s, v] = [signature.slice(2, 66), signature.slice(66, 130), Number(`0x${signature.slice(130)}`)];
  const signed = [BigInt(v - 27), BigInt(`0x${r}`), BigInt(`0x${s}`)].map(number);
  return hexOf(Buffer.concat([KIND, rlp([...fields, ...signed])]));
}

export function transactionHash(signed: Hex): Hex {
  return hexOf(keccak_256(bytesOf(signed)));
}
