// The payment networks and coins that we pay in or accept, one row each.
import { type Nano, nano } from "../core/money.ts";

export interface Network {
  /** Its name in x402 version 1. */
  readonly name: string;
  /** Its name in x402 version 2 (CAIP-2). */
  readonly caip2: string;
  readonly chainId: number;
  /** Its USDC contract, with six decimals. */
  readonly asset: string;
  /** The EIP-712 domain that is signed with the payment: a wrong name produces an invalid signature without a helpful error. */
  readonly domain: { readonly name: string; readonly version: string };
}

export const NETWORKS = {
  base: {
    name: "base",
    caip2: "eip155:8453",
    chainId: 8_453,
    asset: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
    domain: { name: "USD Coin", version: "2" },
  },
  "base-sepolia": {
    name: "base-sepolia",
    caip2: "eip155:84532",
    chainId: 84_532,
    asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
    domain: { name: "USDC", version: "2" },
  },
} as const satisfies Readonly<Record<string, Network>>;

/** A network of MPP's `tempo` method. */
export interface TempoNetwork {
  readonly chainId: number;
  /** The coins that a merchant may request there, in lower case; each is worth one dollar and has six decimals. */
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

/**
 * The sandbox's chain exists only in this program, so a signature for it moves no money elsewhere. A signature is valid for one chain and
 * one contract. No real chain has this number, and no real contract or payee can have these addresses, because they spell words.
 */
export const PLAY_NETWORK: Network = {
  name: "tollgate-sandbox",
  caip2: "eip155:4020402402",
  chainId: 4_020_402_402,
  asset: wordAddress("play money is no coin"),
  domain: { name: "Tollgate play money", version: "1" },
};
export const PLAY_PAY_TO = wordAddress("payee of the sandbox");

function wordAddress(words: string): string {
  return `0x${Buffer.from(words.padEnd(20)).subarray(0, 20).toString("hex")}`;
}

const NANO_PER_UNIT = 1_000;

/** An amount in the coin's smallest unit, a millionth of a dollar, rounded up. */
export function unitsOf(amountNano: Nano): string {
  return String(Math.ceil(amountNano / NANO_PER_UNIT));
}

/** The inverse, in nano-USD; null if it exceeds the largest amount of money. */
export function nanoOfUnits(units: bigint): Nano | null {
  const amount = Number(units) * NANO_PER_UNIT;
  return Number.isSafeInteger(amount) ? nano(amount) : null;
}
