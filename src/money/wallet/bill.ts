// A merchant's 402 in one form for every payment protocol: payee, amount, coin, and how to answer.
import type { Rail } from "../../catalog/auth.ts";
import type { Hex } from "./hex.ts";
import type { Signing } from "./signer.ts";

export interface Bill {
  readonly rail: Rail;
  /** CAIP-2 chain id. */
  readonly network: string;
  readonly asset: Hex;
  readonly payTo: Hex;
  /** In the coin's smallest unit. */
  readonly units: bigint;
  /** Null where the bill does not expire. */
  readonly expiresMs: number | null;
  /** True where the merchant pays the network fee. */
  readonly isSponsored: boolean;
  /** Prepares the payment for signing. */
  ready(from: Hex, nowMs: number): ReadyPayment;
}

export interface ReadyPayment {
  readonly signing: Signing;
  /** Topics of the chain event that this transfer emits. */
  readonly topics: readonly [event: Hex, ...indexed: Hex[]];
  /** Seconds since the epoch. The transfer is invalid from then on. */
  readonly validBefore: number;
  headers(signed: Hex): Readonly<Record<string, string>>;
}

export interface Bills {
  readonly bills: readonly Bill[];
  readonly faults: readonly string[];
}

/** Encodes an address as an event topic. */
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
