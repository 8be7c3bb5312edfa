// What a merchant's 402 asks for, whichever protocol it speaks: whom to pay how much of which coin, and how that is answered.
import type { Rail } from "../../catalog/auth.ts";
import type { Hex } from "./hex.ts";
import type { Signing } from "./signer.ts";

/** One way to pay, which the wallet could take. */
export interface Bill {
  readonly rail: Rail;
  /** CAIP-2. */
  readonly network: string;
  readonly asset: Hex;
  readonly payTo: Hex;
  /** In the coin's smallest unit. */
  readonly units: bigint;
  /** Null: it does not say when it lapses. */
  readonly expiresMs: number | null;
  /** The merchant bears what the network takes. */
  readonly isSponsored: boolean;
  /** The payment for it, made ready to be signed. */
  ready(from: Hex, nowMs: number): ReadyPayment;
}

export interface ReadyPayment {
  readonly signing: Signing;
  /** Where the chain tells of it: the topics of the event that a transfer with it makes. */
  readonly topics: readonly [event: Hex, ...indexed: Hex[]];
  /** Seconds since the epoch: from then on it can be made no more. */
  readonly validBefore: number;
  headers(signed: Hex): Readonly<Record<string, string>>;
}

/** A 402's bills, and what was wrong with what it asked beside them. */
export interface Bills {
  readonly bills: readonly Bill[];
  readonly faults: readonly string[];
}

/** An address as an event's topic has it. */
export function topicOf(address: Hex): Hex {
  return `0x${address.slice(2).toLowerCase().padStart(64, "0")}`;
}

export function jsonIn(base64: string): unknown {
  try {
    return JSON.parse(Buffer.from(base64, "base64").toString("utf8"));
  } catch {
    return undefined;
  }
}
