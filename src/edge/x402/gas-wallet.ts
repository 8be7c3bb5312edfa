// The facilitator's wallet for gas: sends transactions in the order of their nonces, from any process, until a block has them.

import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import type { Clock } from "../../core/clock.ts";
import type { Hex } from "../../money/wallet/hex.ts";
import { NodeRefusal, type NodeRpc } from "../../money/wallet/node-rpc.ts";
import type { Signer, Signing } from "../../money/wallet/signer.ts";
import { transactionHash } from "../../money/wallet/transaction.ts";
import type { Records } from "../../platform/records/records.ts";

const KIND = "x402-gas-wallet";
/** Longer than sending a batch takes; a process that dies while sending blocks the wallet for this long. */
const TAKEN_MS = 15_000;
const TAKE_AGAIN_MS = 25;

/** A transaction that no known block includes yet. */
interface Sent {
  readonly nonce: number;
  readonly to: string;
  readonly data: Hex;
  readonly gasMax: number;
  /** In wei, as text. */
  readonly feeWei: string;
  readonly atMs: number;
}

/** The wallet's shared state. `takenBy`: the process that is sending, and until when. */
interface Shared {
  readonly takenBy: string | null;
  readonly takenUntilMs: number;
  readonly sent: readonly Sent[];
}

const NONE: Shared = { takenBy: null, takenUntilMs: 0, sent: [] };

interface SharingParts {
  readonly records: Records;
  readonly clock: Clock;
  readonly owner: string;
}

/** Stores what was sent, while this process holds the wallet. Rejects once it does not. */
type Keep = (sent: readonly Sent[]) => Promise<readonly Sent[]>;

/** Runs the work while no other process has the wallet. After a suspension two may have it: that costs gas and no money. */
async function withWallet(
  { records, clock, owner }: SharingParts,
  address: string,
  work: (sent: readonly Sent[], keep: Keep) => Promise<void>,
): Promise<void> {
  const put = (shared: Shared, ifVersion: number) =>
    records.put({ kind: KIND, id: address, payer: null, value: JSON.stringify(shared), ttlMs: null, ifVersion });

  async function take() {
    for (;;) {
      const stored = await records.get(KIND, address);
      const shared = stored === null ? NONE : (JSON.parse(stored.value) as Shared);
      const nowMs = clock.epochMs();
      if (shared.takenBy === null || shared.takenUntilMs <= nowMs) {
        const version = await put({ ...shared, takenBy: owner, takenUntilMs: nowMs + TAKEN_MS }, stored?.version ?? 0);
        if (version !== null) return { shared, version };
      }
      await sleep(TAKE_AGAIN_MS);
    }
  }

  const taken = await take();
  let { version } = taken;
  let { sent } = taken.shared;
  async function keepAs(next: readonly Sent[], takenBy: string | null): Promise<readonly Sent[]> {
    const takenUntilMs = takenBy === null ? 0 : clock.epochMs() + TAKEN_MS;
    const kept = await put({ takenBy, takenUntilMs, sent: next }, version);
    if (kept === null) throw new Error("another process has the wallet");
    [version, sent] = [kept, next];
    return next;
  }
  try {
    await work(taken.shared.sent, (next) => keepAs(next, owner));
  } finally {
    await keepAs(sent, null).catch(() => {});
  }
}

const BATCH_MAX = 50;
/** The most transactions outside any block: at this number the chain is not accepting any. */
const WAITING_MAX = 200;
/** A node that lags behind may return a used nonce: ask again this often. */
const TRIES_MAX = 3;
const STUCK_MS = 20_000;
const LOOK_MS_MIN = 50;
const LOOK_MS_MAX = 1_000;
const MINED_MS_MAX = 25_000;
const READY_MS = 5_000;
const MUTE_MS = 30_000;
/** The longest wait to be sent, behind other payments and other processes. */
const TURN_MS_MAX = 20_000;
/** The gas of twenty transfers. Below it the wallet reports that it is empty, while running calls can still be settled. */
const READY_GAS = 20n * 150_000n;

export interface GasCall {
  readonly to: string;
  readonly data: Hex;
  readonly gasMax: number;
}

/** `unknown`: a block may still include it, or it is sent again. */
export type Mined = { readonly transaction: string; readonly isDone: boolean } | "unknown";

export interface GasWalletParts extends SharingParts {
  readonly signer: Signer;
  readonly chainId: number;
  readonly node: NodeRpc;
  /** The highest price of a unit of gas, in wei. */
  readonly feeWeiMax: bigint;
}

interface Waiting {
  readonly call: GasCall;
  tries: number;
  done(hash: string | null): void;
}

const receipt = z.object({ status: z.string() }).nullable();

export class GasWallet {
  readonly address: Hex;
  readonly #parts: GasWalletParts;
  readonly #queue: Waiting[] = [];
  #isSending = false;
  /** The signer failed to sign: until then no call is accepted whose payment this wallet would settle. */
  #muteUntilMs = 0;
  #ready: { readonly atMs: number; readonly is: Promise<boolean> } | null = null;

  constructor(parts: GasWalletParts) {
    this.#parts = parts;
    this.address = parts.signer.address;
  }

  /** Whether the wallet can pay the gas of a number of transfers at the current price. Rejects where the node is unreachable. */
  isReady(): Promise<boolean> {
    const nowMs = this.#parts.clock.elapsedMs();
    if (nowMs < this.#muteUntilMs) return Promise.resolve(false);
    if (this.#ready === null || nowMs - this.#ready.atMs > READY_MS) {
      const is = this.#askReady();
      this.#ready = { atMs: nowMs, is };
      // Do not cache a failure.
      is.catch(() => {
        this.#ready = null;
      });
    }
    return this.#ready.is;
  }

  /** Sends a transaction and waits until a block includes it. */
  async send(call: GasCall): Promise<Mined> {
    const { promise, resolve: done } = Promise.withResolvers<string | null>();
    const waiting: Waiting = { call, done, tries: 0 };
    this.#queue.push(waiting);
    const timer = setTimeout(() => this.#leave(waiting), TURN_MS_MAX);
    if (!this.#isSending) void this.#sendAll();
    const hash = await promise.finally(() => clearTimeout(timer));
    return hash === null ? "unknown" : this.#mined(hash);
  }

  /** Gives up a transaction that waited too long; one that is being sent continues. */
  #leave(waiting: Waiting): void {
    const at = this.#queue.indexOf(waiting);
    if (at < 0) return;
    this.#queue.splice(at, 1);
    waiting.done(null);
  }

  async #askReady(): Promise<boolean> {
    const [price, balance] = await Promise.all([
      this.#number("eth_gasPrice", []),
      this.#number("eth_getBalance", [this.address, "latest"]),
    ]);
    const { feeWeiMax } = this.#parts;
    return price <= feeWeiMax && balance >= READY_GAS * least(price * 2n, feeWeiMax);
  }

  async #number(method: string, params: readonly unknown[]): Promise<bigint> {
    return BigInt(z.string().parse(await this.#parts.node.call(method, params)));
  }

  /** Sends what waits in batches, each while this process holds the wallet exclusively. Never rejects. */
  async #sendAll(): Promise<void> {
    this.#isSending = true;
    while (this.#queue.length > 0) {
      const batch = this.#queue.splice(0, BATCH_MAX);
      try {
        await withWallet(this.#parts, this.address, (sent, keep) => this.#sendBatch(batch, sent, keep));
      } catch {
        // Only the chain knows whether it was sent.
      }
      for (const waiting of batch) if (!this.#queue.includes(waiting)) waiting.done(null);
    }
    this.#isSending = false;
  }

  async #sendBatch(batch: readonly Waiting[], before: readonly Sent[], keep: Keep): Promise<void> {
    const counts = ["latest", "pending"].map((at) => this.#number("eth_getTransactionCount", [this.address, at]));
    const [price, latest = 0n, pending = 0n] = await Promise.all([this.#number("eth_gasPrice", []), ...counts]);
    const open = before.filter(({ nonce }) => nonce >= latest);
    const sent = await this.#sendStuck(open, price);
    // A transaction sent earlier, by a process that died or stopped waiting, keeps its nonce: wait for it.
    const news: Waiting[] = [];
    for (const one of batch) {
      const was = sent.find(({ data }) => data === one.call.data);
      if (was === undefined) news.push(one);
      else one.done(await this.#sendOne(was));
    }
    const room = news.slice(0, Math.max(0, WAITING_MAX - sent.length));
    const first = Math.max(Number(pending), ...sent.map(({ nonce }) => nonce + 1));
    const feeWei = String(least(price * 2n, this.#parts.feeWeiMax));
    const atMs = Math.floor(this.#parts.clock.epochMs());
    const fresh = room.map(({ call }, at): Sent => ({ ...call, nonce: first + at, feeWei, atMs }));
    // Store before sending: if this process dies in between, the next one sends these nonces.
    const kept = await keep([...sent, ...fresh]);
    const refusedAt = await this.#sendFresh(fresh, room);
    if (refusedAt === null) return;
    // An unused nonce blocks all later ones: they are given back together.
    const refused = first + refusedAt;
    await keep(kept.filter(({ nonce }) => nonce < refused));
    this.#queue.unshift(...room.slice(refusedAt).filter((waiting) => ++waiting.tries < TRIES_MAX));
  }

  /** Null: the node accepted all; else the index of the first that it refused. */
  async #sendFresh(fresh: readonly Sent[], waiting: readonly Waiting[]): Promise<number | null> {
    for (const [at, one] of fresh.entries()) {
      const hash = await this.#sendOne(one);
      if (hash === null) return at;
      waiting[at]?.done(hash);
    }
    return null;
  }

  /** Sends the same transactions with higher fees, which replaces those that no block includes and fills nonces that were never sent. */
  async #sendStuck(sent: readonly Sent[], price: bigint): Promise<readonly Sent[]> {
    const nowMs = Math.floor(this.#parts.clock.epochMs());
    const now: Sent[] = [];
    for (const one of sent) {
      const more = (BigInt(one.feeWei) * 5n) / 4n;
      const feeWei = String(least(more > price * 2n ? more : price * 2n, this.#parts.feeWeiMax));
      const resent = nowMs - one.atMs < STUCK_MS ? one : { ...one, feeWei, atMs: nowMs };
      now.push(resent === one || (await this.#sendOne(resent)) === null ? one : resent);
    }
    return now;
  }

  /** The transaction's hash; null: the node refused it. */
  async #sendOne({ nonce, to, data, gasMax, feeWei }: Sent): Promise<string | null> {
    const { chainId, node } = this.#parts;
    const prices = { gasMax, feeWeiMax: feeWei, tipWei: String(BigInt(feeWei) / 2n) };
    const signed = await this.#signed({ kind: "transaction", transaction: { chainId, nonce, to, data, ...prices } });
    const hash = transactionHash(signed);
    try {
      await node.call("eth_sendRawTransaction", [signed]);
      return hash;
    } catch (error) {
      if (!(error instanceof NodeRefusal)) throw error;
      return /known transaction|already known/i.test(error.message) ? hash : null;
    }
  }

  async #signed(signing: Signing): Promise<Hex> {
    try {
      const signed = await this.#parts.signer.sign(signing);
      this.#muteUntilMs = 0;
      return signed;
    } catch (error) {
      this.#muteUntilMs = this.#parts.clock.elapsedMs() + MUTE_MS;
      throw error;
    }
  }

  async #mined(hash: string): Promise<Mined> {
    const { clock, node } = this.#parts;
    const endMs = clock.elapsedMs() + MINED_MS_MAX;
    for (let lookMs = LOOK_MS_MIN; ; lookMs = Math.min(LOOK_MS_MAX, lookMs * 2)) {
      const found = receipt.safeParse(await node.call("eth_getTransactionReceipt", [hash]).catch(() => null));
      if (found.data) return { transaction: hash, isDone: BigInt(found.data.status) === 1n };
      if (clock.elapsedMs() >= endMs) return "unknown";
      await sleep(lookMs);
    }
  }
}

function least(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}
