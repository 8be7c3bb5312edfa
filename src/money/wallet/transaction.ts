// A transaction as a node of Ethereum's kind takes it: signed bytes that name their highest fee (EIP-1559, in the envelope of EIP-2718).
import { keccak_256 } from "@noble/hashes/sha3.js";
import { bytesOf, type Hex, hexOf } from "./hex.ts";
import { signatureOf } from "./keys.ts";
import { NOTHING, number, rlp } from "./rlp.ts";

/** A call of a contract, which moves nothing of the chain's own coin. Large numbers are text, because it goes to the wallet's process as JSON. */
export interface Transaction {
  readonly chainId: number;
  /** How many its sender has sent before. */
  readonly nonce: number;
  /** In wei for each unit of gas: what the block's maker gets, and the most in all. */
  readonly tipWei: string;
  readonly feeWeiMax: string;
  readonly gasMax: number;
  readonly to: string;
  readonly data: Hex;
}

const KIND = Uint8Array.of(2);

/** The signed bytes. */
export function signedTransaction(transaction: Transaction, key: Hex): Hex {
  const { chainId, nonce, tipWei, feeWeiMax, gasMax, to, data } = transaction;
  const numbers = [chainId, nonce, tipWei, feeWeiMax, gasMax].map((value) => number(BigInt(value)));
  const fields = [...numbers, bytesOf(to), NOTHING, bytesOf(data), []];
  const signature = signatureOf(keccak_256(Buffer.concat([KIND, rlp(fields)])), key);
  const [r, s, v] = [signature.slice(2, 66), signature.slice(66, 130), Number(`0x${signature.slice(130)}`)];
  const signed = [BigInt(v - 27), BigInt(`0x${r}`), BigInt(`0x${s}`)].map(number);
  return hexOf(Buffer.concat([KIND, rlp([...fields, ...signed])]));
}

/** The hash that the chain knows a signed transaction by. */
export function transactionHash(signed: Hex): Hex {
  return hexOf(keccak_256(bytesOf(signed)));
}
