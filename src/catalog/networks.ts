// The networks and coins that payments are made in, taken or given: one row each.
import { type Nano, nano } from "../money.ts";

/** A network of x402. */
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

/** A network of MPP's method `tempo`. */
export interface TempoNetwork {
  readonly chainId: number;
  /** The coins that a merchant may ask for there, in lower case; each is a dollar and has six decimals. */
  readonly coins: readonly string[];
}

export const TEMPO_NETWORKS = {
  tempo: {
    chainId: 4217,
    // USDC.e and pathUSD.
    coins: ["0x20c000000000000000000000b9537d11c60e8b50", "0x20c0000000000000000000000000000000000000"],
  },
  "tempo-testnet": { chainId: 42_431, coins: ["0x20c0000000000000000000000000000000000000"] },
} as const satisfies Readonly<Record<string, TempoNetwork>>;

const NANO_PER_UNIT = 1_000;

/** An amount in the coin's smallest unit, a millionth of a dollar; never less than the price. */
export function unitsOf(amountNano: Nano): string {
  return String(Math.ceil(amountNano / NANO_PER_UNIT));
}

/** The same the other way: what so many of them are, in nano-USD; null: more than a sum of money can be here. */
export function nanoOfUnits(units: bigint): Nano | null {
  const amount = Number(units) * NANO_PER_UNIT;
  return Number.isSafeInteger(amount) ? nano(amount) : null;
}
