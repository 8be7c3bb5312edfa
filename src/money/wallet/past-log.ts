// Searches a chain's past for an event, in block ranges that nodes accept, from the earliest to the latest possible time.
import { z } from "zod";

/** Blocks per query; nodes refuse more. */
const BLOCKS_MAX = 9_000;
/** Queries per search. A few minutes of any chain fit in one or two ranges, so a longer search has gone wrong. */
const RANGES_MAX = 40;

const mined = z
  .object({
    status: z.string(),
    logs: z.array(z.object({ address: z.string(), topics: z.array(z.string()), data: z.string().default("0x") })),
  })
  .nullable();
const block = z.object({ number: z.string(), timestamp: z.string() });

/** Calls a node's JSON-RPC method. Rejects where the node does not answer or refuses. */
export type AskNode = (method: string, params: readonly unknown[]) => Promise<unknown>;

export interface Block {
  readonly number: number;
  /** Seconds since the epoch. */
  readonly timestamp: number;
}

/** An event by contract and topics, with the earliest and latest times, in seconds since the epoch, at which it can have happened. */
export interface Sought {
  readonly address: string;
  /** A list as a topic matches any of its members. */
  readonly topics: readonly (string | readonly string[])[];
  readonly fromS: number;
  readonly untilS: number;
}

const hexOfNumber = (number: number): string => `0x${number.toString(16)}`;

/** Reads a block's number and time; "latest" is the node's newest. */
export async function blockAt(ask: AskNode, at: number | "latest"): Promise<Block> {
  const told = block.parse(await ask("eth_getBlockByNumber", [at === "latest" ? at : hexOfNumber(at), false]));
  return { number: Number(told.number), timestamp: Number(told.timestamp) };
}

export interface Log {
  readonly address: string;
  readonly topics: readonly string[];
  readonly data: string;
}

/** A transaction's logs; empty where it failed. Null where the node does not know it, which proves nothing. Rejects where it is silent. */
export async function logsOf(ask: AskNode, transaction: string): Promise<readonly Log[] | null> {
  const told = mined.parse((await ask("eth_getTransactionReceipt", [transaction])) ?? null);
  if (told === null) return null;
  return BigInt(told.status) === 1n ? told.logs : [];
}

/** The first log of this contract with these topics, or null. */
export function logIn(logs: readonly Log[], address: string, topics: readonly string[]): Log | null {
  const same = (one: string, other: string | undefined) => one.toLowerCase() === other?.toLowerCase();
  const found = logs.find(
    (log) => same(address, log.address) && topics.every((topic, at) => same(topic, log.topics[at])),
  );
  return found ?? null;
}

/** Finds a block shortly before the time: steps back in doubling steps, then bisects the last interval. */
async function blockBefore(ask: AskNode, fromS: number, latest: number): Promise<number> {
  let after = latest;
  let before = Math.max(0, latest - BLOCKS_MAX);
  for (let step = BLOCKS_MAX; before > 0 && (await blockAt(ask, before)).timestamp > fromS; step *= 2) {
    after = before;
    before = Math.max(0, before - step);
  }
  while (after - before > BLOCKS_MAX) {
    const middle = Math.floor((before + after) / 2);
    if ((await blockAt(ask, middle)).timestamp > fromS) after = middle;
    else before = middle;
  }
  return before;
}

/** The first matching logs up to block `latest`; empty where all blocks of that time have none. Rejects where the node is silent. */
export async function pastLogs(ask: AskNode, { address, topics, fromS, untilS }: Sought, latest: number) {
  let from = await blockBefore(ask, fromS, latest);
  for (let ranges = 0; ranges < RANGES_MAX; ranges++) {
    const to = Math.min(latest, from + BLOCKS_MAX);
    const filter = { address, fromBlock: hexOfNumber(from), toBlock: hexOfNumber(to), topics };
    const logs = z.array(z.unknown()).parse(await ask("eth_getLogs", [filter]));
    if (logs.length > 0 || to === latest || (await blockAt(ask, to)).timestamp > untilS) return logs;
    from = to + 1;
  }
  throw new Error("the event is not where it could be");
}
