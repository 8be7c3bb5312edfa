// The facilitator's own wallet on the chain, which pays for gas: it sends transactions one number after the other, whichever process has
// them, and sends again what does not get into a block.
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import type { Hex } from "../../money/wallet/hex.ts";
import type { Signer, Signing } from "../../money/wallet/signer.ts";
import { transactionHash } from "../../money/wallet/transaction.ts";
import { NodeRefusal, type NodeRpc } from "./node-rpc.ts";
import { type Keep, type Sent, type SharingParts, withWallet } from "./shared-wallet.ts";

const BATCH_MAX = 50;
/** Transactions in no block yet: with so many the chain is not taking any. */
const WAITING_MAX = 200;
/** A node that is behind another names a number that is used: it is asked again. */
const TRIES_MAX = 3;
/** What is in no block by then is sent again, for a quarter more. */
const STUCK_MS = 20_000;
const LOOK_MS_MIN = 50;
const LOOK_MS_MAX = 1_000;
const MINED_MS_MAX = 25_000;
const READY_MS = 5_000;
/** After a signature that did not come calls are served again by then, the first of which brings the next. */
const MUTE_MS = 30_000;
/** For its turn to be sent, behind what other payments and other processes send. */
const TURN_MS_MAX = 20_000;
/** What twenty transfers may take: a wallet with less is told to be empty while those that are being served can still be settled. */
const READY_GAS = 20n * 150_000n;

export interface GasCall {
  readonly to: string;
  readonly data: Hex;
  readonly gasMax: number;
}

/** `unknown`: it may be in a block yet, or be sent again. */
export type Mined = { readonly transaction: string; readonly isDone: boolean } | "unknown";

export interface GasWalletParts extends SharingParts {
  /** With its key, which is in a process of its own. */
  readonly signer: Signer;
  readonly chainId: number;
  readonly node: NodeRpc;
  /** The most that a unit of gas may cost, in wei. */
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
  /** Its signer has not signed: until then no call is served for a payment that it would have to make. */
  #muteUntilMs = 0;
  #ready: { readonly atMs: number; readonly is: Promise<boolean> } | null = null;

  constructor(parts: GasWalletParts) {
    this.#parts = parts;
    this.address = parts.signer.address;
  }

  /** Whether gas of a number of transfers can be paid for at what they would be sent for now. Rejects where the node cannot be asked. */
  isReady(): Promise<boolean> {
    const nowMs = this.#parts.clock.elapsedMs();
    if (nowMs < this.#muteUntilMs) return Promise.resolve(false);
    if (this.#ready === null || nowMs - this.#ready.atMs > READY_MS) {
      const is = this.#askReady();
      this.#ready = { atMs: nowMs, is };
      // What could not be asked is asked again.
      is.catch(() => {
        this.#ready = null;
      });
    }
    return this.#ready.is;
  }

  /** Sends a transaction and waits until it is in a block. */
  async send(call: GasCall): Promise<Mined> {
    const { promise, resolve: done } = Promise.withResolvers<string | null>();
    const waiting: Waiting = { call, done, tries: 0 };
    this.#queue.push(waiting);
    const timer = setTimeout(() => this.#leave(waiting), TURN_MS_MAX);
    if (!this.#isSending) void this.#sendAll();
    const hash = await promise.finally(() => clearTimeout(timer));
    return hash === null ? "unknown" : this.#mined(hash);
  }

  /** Its turn has not come; what is just being sent is waited for. */
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

  /** Sends what waits, a batch at a time, each while the wallet is this process's alone. Never rejects. */
  async #sendAll(): Promise<void> {
    this.#isSending = true;
    while (this.#queue.length > 0) {
      const batch = this.#queue.splice(0, BATCH_MAX);
      try {
        await withWallet(this.#parts, this.address, (sent, keep) => this.#sendBatch(batch, sent, keep));
      } catch {
        // Whether it was sent is the chain's to say.
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
    // What was sent before, by a process that died or did not wait for it, is waited for and not sent under another number.
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
    // Kept before it is sent: a process that dies in between leaves its numbers to be sent by the next.
    const kept = await keep([...sent, ...fresh]);
    const refusedAt = await this.#sendFresh(fresh, room);
    if (refusedAt === null) return;
    // A number that was not used stops all after it: they are given back together.
    const refused = first + refusedAt;
    await keep(kept.filter(({ nonce }) => nonce < refused));
    this.#queue.unshift(...room.slice(refusedAt).filter((waiting) => ++waiting.tries < TRIES_MAX));
  }

  /** Null: all were taken; else the first that the node does not take. */
  async #sendFresh(fresh: readonly Sent[], waiting: readonly Waiting[]): Promise<number | null> {
    for (const [at, one] of fresh.entries()) {
      const hash = await this.#sendOne(one);
      if (hash === null) return at;
      waiting[at]?.done(hash);
    }
    return null;
  }

  /** The same transactions for more, so that they replace those that no block takes, and fill a number that was never sent. */
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

  /** Its hash; null: the node does not take it. */
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
