// The networks and coins that payments are made in, taken or given: one row each.
import type { Nano } from "../money.ts";

export interface Network {
  /** Its name in the first version of x402. */
  readonly name: string;
  /** Its name in the second (CAIP-2). */
  readonly caip2: string;
  /** The contract of USDC there, which has six decimals. */
  readonly asset: string;
  /** What a signature is made over beside the payment (EIP-712): a wrong name makes a bad signature and no better error. */
  readonly domain: { readonly name: string; readonly version: string };
}

export const NETWORKS = {
  base: {
    name: "base",
    caip2: "eip155:8453",
    asset: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
    domain: { name: "USD Coin", version: "2" },
  },
  "base-sepolia": {
    name: "base-sepolia",
    caip2: "eip155:84532",
    asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
    domain: { name: "USDC", version: "2" },
  },
} as const satisfies Readonly<Record<string, Network>>;

const NANO_PER_UNIT = 1_000;

/** An amount in the coin's smallest unit, a millionth of a dollar; never less than the price. */
export function unitsOf(amountNano: Nano): string {
  return String(Math.ceil(amountNano / NANO_PER_UNIT));
}
