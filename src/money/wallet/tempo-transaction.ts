// One transfer as a signed transaction of Tempo (type 0x76), which the one who is paid sends: we never send it ourselves.
import { keccak_256 } from "@noble/hashes/sha3.js";
import { bytesOf, type Hex, hexOf, word } from "./hex.ts";
import { signatureOf } from "./keys.ts";
import { type Item, NOTHING, number, rlp } from "./rlp.ts";

/** A transfer with its memo. Its nonce is one that expires, so that none has to be asked for, and the very same bytes move money once. */
export interface TempoTransfer {
  readonly chainId: number;
  readonly token: Hex;
  readonly to: Hex;
  /** In the coin's smallest unit. */
  readonly value: string;
  readonly memo: Hex;
  /** Seconds since the epoch: it is good strictly before. The chain refuses what is good for more than half a minute. */
  readonly validBefore: number;
  /** The one who is paid pays the network as well. */
  readonly sponsored: boolean;
}

const TYPE = 0x76;
/** `transferWithMemo(address,uint256,bytes32)` of TIP-20. */
const TRANSFER_WITH_MEMO = "0x95777d59";
/** The most that a transfer burns, to an account that holds the coin for the first time. What is not burned is not paid. */
const GAS = 1_000_000n;
/** In the chain's 10^-18 of a dollar for each gas: twice its fixed fee, so that the most a transfer pays the network is 4 cents. */
const FEE_PER_GAS = 40_000_000_000n;
const EXPIRING = 2n ** 256n - 1n;

function fieldsOf({ chainId, token, to, value, memo, validBefore, sponsored }: TempoTransfer): readonly Item[] {
  const data = Buffer.concat([bytesOf(TRANSFER_WITH_MEMO), word(to), word(BigInt(value)), word(memo)]);
  return [
    number(BigInt(chainId)),
    // Priority, which the chain has none of.
    NOTHING,
    number(FEE_PER_GAS),
    number(GAS),
    [[bytesOf(token), NOTHING, data]],
    [],
    number(EXPIRING),
    NOTHING,
    number(BigInt(validBefore)),
    NOTHING,
    // The coin that pays the network: the one that is moved.
    NOTHING,
    sponsored ? Buffer.of(0) : NOTHING,
    [],
  ];
}

const typed = (fields: readonly Item[]) => Buffer.concat([Buffer.of(TYPE), rlp(fields)]);

/** The signed transaction's bytes. */
export function signedTransfer(transfer: TempoTransfer, key: Hex): Hex {
  const fields = fieldsOf(transfer);
  const signature = signatureOf(keccak_256(typed(fields)), key);
  return hexOf(typed([...fields, bytesOf(signature)]));
}
