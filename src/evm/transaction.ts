// A transaction as a node takes it: signed bytes of the kind that names its highest fee (EIP-1559), in the encoding of EIP-2718.
import { bytesOf, hexOf, keccak256, signDigest } from "./secp256k1.ts";

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

/** Bytes with their length before them (RLP). `short` is where lengths up to 55 begin: 0x80 of a text, 0xc0 of a list. */
function withLength(bytes: Uint8Array, short: number): Uint8Array {
  if (bytes.length <= 55) return Buffer.concat([Uint8Array.of(short + bytes.length), bytes]);
  const length = numberBytes(BigInt(bytes.length));
  return Buffer.concat([Uint8Array.of(short + 55 + length.length), length, bytes]);
}

/** Without zeros in front; nothing is zero. */
function numberBytes(value: bigint): Uint8Array {
  if (value === 0n) return new Uint8Array(0);
  const hex = value.toString(16);
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, "hex");
}

function item(bytes: Uint8Array): Uint8Array {
  const [only = 0x80] = bytes;
  return bytes.length === 1 && only < 0x80 ? bytes : withLength(bytes, 0x80);
}

function list(items: readonly Uint8Array[]): Uint8Array {
  return withLength(Buffer.concat(items), 0xc0);
}

/** The signed bytes, and the hash that the chain knows the transaction by. */
export function signTransaction(transaction: Transaction, privateKey: Uint8Array) {
  const { chainId, nonce, tipWei, feeWeiMax, gasMax, to, data } = transaction;
  const numbers = [BigInt(chainId), BigInt(nonce), tipWei, feeWeiMax, gasMax].map((value) => item(numberBytes(value)));
  const fields = [...numbers, item(bytesOf(to)), item(new Uint8Array(0)), item(data), list([])];
  const { r, s, parity } = signDigest(keccak256(Buffer.concat([KIND, list(fields)])), privateKey);
  const signature = [BigInt(parity), BigInt(hexOf(r)), BigInt(hexOf(s))].map((value) => item(numberBytes(value)));
  const signed = Buffer.concat([KIND, list([...fields, ...signature])]);
  return { raw: hexOf(signed), hash: hexOf(keccak256(signed)) };
}
