// A merchant's 402 in one form for every payment protocol: payee, amount, coin, and how to answer.
import type { z } from "zod";
import type { Rail } from "../../catalog/auth.ts";
import { parsedJson } from "../../core/json.ts";
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

/** Reads each entry of a 402 as a bill, or as a fault: a sentence that says why it cannot be paid. */
export function readBills<Asked>(
  entries: readonly unknown[],
  schema: z.ZodType<Asked>,
  billOf: (asked: Asked) => Bill | string,
): Bills {
  const bills: Bill[] = [];
  const faults: string[] = [];
  for (const entry of entries) {
    const read = schema.safeParse(entry);
    const where = read.error?.issues[0]?.path.join(".");
    const bill = read.success ? billOf(read.data) : `asks in a form that is not understood (${where})`;
    if (typeof bill === "string") faults.push(bill);
    else bills.push(bill);
  }
  return { bills, faults };
}

/** Encodes an address as an event topic. */
export function topicOf(address: Hex): Hex {
  return `0x${address.slice(2).toLowerCase().padStart(64, "0")}`;
}

export function jsonIn(base64: string): unknown {
  return parsedJson(Buffer.from(base64, "base64").toString("utf8"));
}
