// The networks and coins that payments are made in, taken or given: one row each.
import { type Nano, nano } from "../core/money.ts";

/** A network of x402. */
export interface Network {
  /** Its name in the first version of x402. */
  readonly name: string;
  /** Its name in the second (CAIP-2). */
  readonly caip2: string;
  readonly chainId: number;
  /** The contract of USDC there, which has six decimals. */
  readonly asset: string;
  /** What a signature is made over beside the payment (EIP-712): a wrong name makes a bad signature and no better error. */
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

/**
 * The sandbox's chain, which is of this program alone: what is signed for it moves nothing anywhere else. A signature is good for one
 * chain and one contract. No chain has this number, and no contract can ever have this address or anybody its payee's, since both are words.
 */
export const PLAY_NETWORK: Network = {
  name: "tollgate-sandbox",
  caip2: "eip155:4020402402",
  chainId: 4_020_402_402,
  asset: wordAddress("play money is no coin"),
  domain: { name: "Tollgate play money", version: "1" },
};
export const PLAY_PAY_TO = wordAddress("payee of the sandbox");

/** The first 20 letters as an address. */
function wordAddress(words: string): string {
  return `0x${Buffer.from(words.padEnd(20)).subarray(0, 20).toString("hex")}`;
}

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
