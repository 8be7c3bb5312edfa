// A transfer as a signed Tempo transaction (type 0x76). The payee submits it; we never do.
import { keccak_256 } from "@noble/hashes/sha3.js";
import { bytesOf, type Hex, hexOf, word } from "./hex.ts";
import { signatureOf } from "./keys.ts";
import { type Item, NOTHING, number, rlp } from "./rlp.ts";

/** A transfer with its memo. It uses an expiring nonce, so no node has to be asked for one, and the same bytes move money only once. */
export interface TempoTransfer {
  readonly chainId: number;
  readonly token: Hex;
  readonly to: Hex;
  /** In the coin's smallest unit. */
  readonly value: string;
  readonly memo: Hex;
  /** Seconds since the epoch; valid strictly before. The chain refuses more than 30 seconds. */
  readonly validBefore: number;
  /** The payee pays the network fee. */
  readonly sponsored: boolean;
}

const TYPE = 0x76;
/** `transferWithMemo(address,uint256,bytes32)` of TIP-20. */
const TRANSFER_WITH_MEMO = "0x95777d59";
/** The most gas a transfer uses, to an account new to the coin. Unused gas is not paid for. */
const GAS = 1_000_000n;
/** In 10^-18 dollars per unit of gas: twice the chain's fixed fee, so that a transfer's fee is at most 4 cents. */
const FEE_PER_GAS = 40_000_000_000n;
const EXPIRING = 2n ** 256n - 1n;

function fieldsOf({ chainId, token, to, value, memo, validBefore, sponsored }: TempoTransfer): readonly Item[] {
  const data = Buffer.concat([bytesOf(TRANSFER_WITH_MEMO), word(to), word(BigInt(value)), word(memo)]);
  return [
    number(BigInt(chainId)),
    // Priority fee: the chain has none.
    NOTHING,
    number(FEE_PER_GAS),
    number(GAS),
    [[bytesOf(token), NOTHING, data]],
    [],
    number(EXPIRING),
    NOTHING,
    number(BigInt(validBefore)),
    NOTHING,
    // Fee token: the coin that is transferred.
    NOTHING,
    sponsored ? Buffer.of(0) : NOTHING,
    [],
  ];
}

const typed = (fields: readonly Item[]) => Buffer.concat([Buffer.of(TYPE), rlp(fields)]);

export function signedTransfer(transfer: TempoTransfer, key: Hex): Hex {
  const fields = fieldsOf(transfer);
  const signature = signatureOf(keccak_256(typed(fields)), key);
  return hexOf(typed([...fields, bytesOf(signature)]));
}
