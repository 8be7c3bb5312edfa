// Looks for an event in a chain's past, in ranges that a node answers: from when it could first have been made to when it could last.
import { z } from "zod";

/** Blocks of one question; nodes give no more in one answer. */
const BLOCKS_MAX = 9_000;
/** Questions of one search. A few minutes of any chain are one range or two, so a search that needs more has gone wrong. */
const RANGES_MAX = 40;

const mined = z
  .object({
    status: z.string(),
    logs: z.array(z.object({ address: z.string(), topics: z.array(z.string()), data: z.string().default("0x") })),
  })
  .nullable();
const block = z.object({ number: z.string(), timestamp: z.string() });

/** Asks a node; rejects where it does not answer, or says no. */
export type AskNode = (method: string, params: readonly unknown[]) => Promise<unknown>;

export interface Block {
  readonly number: number;
  /** Seconds since the epoch. */
  readonly timestamp: number;
}

/** An event by its contract and topics, and the times, in seconds since the epoch, between which it must have been made. */
export interface Sought {
  readonly address: string;
  /** A list in place of a topic: any of them. */
  readonly topics: readonly (string | readonly string[])[];
  readonly fromS: number;
  readonly untilS: number;
}

const hexOfNumber = (number: number): string => `0x${number.toString(16)}`;

/** A block with its time; "latest" is the newest that the node has. */
export async function blockAt(ask: AskNode, at: number | "latest"): Promise<Block> {
  const told = block.parse(await ask("eth_getBlockByNumber", [at === "latest" ? at : hexOfNumber(at), false]));
  return { number: Number(told.number), timestamp: Number(told.timestamp) };
}

export interface Log {
  readonly address: string;
  readonly topics: readonly string[];
  readonly data: string;
}

/**
 * What a transaction has logged; empty: it failed. Null: the node does not know it, which says nothing, as nodes prune what is old and fall
 * behind what is new. Rejects where the node does not tell.
 */
export async function logsOf(ask: AskNode, transaction: string): Promise<readonly Log[] | null> {
  const told = mined.parse((await ask("eth_getTransactionReceipt", [transaction])) ?? null);
  if (told === null) return null;
  return BigInt(told.status) === 1n ? told.logs : [];
}

/** The first of these that is of this contract and has these topics; null: none. */
export function logIn(logs: readonly Log[], address: string, topics: readonly string[]): Log | null {
  const same = (one: string, other: string | undefined) => one.toLowerCase() === other?.toLowerCase();
  const found = logs.find(
    (log) => same(address, log.address) && topics.every((topic, at) => same(topic, log.topics[at])),
  );
  return found ?? null;
}

/** A block from before the time, and not long before it: steps back that double, then halves between the last two. */
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

/**
 * The first logs of what is sought up to the block `latest`; empty: all blocks of its time were asked, and it is in none. Rejects where the
 * node does not tell.
 */
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
