// A chain with one coin, its facilitator and its node, on loopback: it refuses what the real ones refuse. Wallets sign with a keyed hash
// instead of a curve; the clients lane tests the real signatures.
import { createHmac, randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { json as jsonOf } from "node:stream/consumers";
import { NETWORKS } from "../../../src/catalog/networks.ts";

export const PAY_TO = "0x00000000000000000000000000000000000000aa";
const { asset: ASSET, caip2, name: NETWORK } = NETWORKS.base;
const TRANSFERRED = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
const topic = (address: string) => `0x${address.slice(2).padStart(64, "0")}`;
const USED = "0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5";

export interface Authorization {
  readonly from: string;
  readonly to: string;
  readonly value: string;
  readonly validAfter: string;
  readonly validBefore: string;
  readonly nonce: string;
}

/** What the facilitator does with the next settlements. */
export type Mood =
  | "well"
  | "away"
  | "500"
  | "hangs"
  | "moves and is not heard"
  | "refuses"
  | "says so and moves nothing"
  | "moves and says that it failed";

const secrets = new Map<string, Buffer>();
const signatureOf = (by: string, authorization: Authorization, domain: unknown) =>
  `0x${createHmac("sha512", secrets.get(by) ?? randomBytes(32))
    .update(JSON.stringify([authorization, domain]))
    .digest("hex")}01`;

export interface Wallet {
  readonly address: string;
  /** Signs what a challenge asks for; `more` replaces fields before signing, `after` after it. */
  pay(accepts: Asked, more?: Partial<Authorization>, after?: Partial<Authorization>): string;
  payV1(accepts: Asked): string;
}

export interface Asked {
  readonly scheme: string;
  readonly network: string;
  readonly amount: string;
  readonly asset: string;
  readonly payTo: string;
  readonly maxTimeoutSeconds: number;
  readonly extra: unknown;
}

const inHeader = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64");

export class TestChain {
  readonly balances = new Map<string, bigint>();
  readonly used = new Map<string, string>();
  /** Each transaction's transfer. */
  readonly moved = new Map<string, Authorization>();
  mood: Mood = "well";
  /** Its node does not answer. */
  isNodeAway = false;
  /** The time of the newest block, in seconds. */
  nowS = () => Math.floor(Date.now() / 1_000);
  /** Called at each step of a payment, before the step is answered. */
  onStep: (step: "verify" | "settle" | "moved" | "node") => void = () => {};
  /** Steps whose next answer is lost because the connection breaks. */
  readonly breaks = new Set<string>();
  /** Milliseconds that the facilitator and its node take to answer. */
  answeringMs = 0;
  verifies = 0;
  settles = 0;
  readonly #server: http.Server;

  constructor() {
    this.#server = http.createServer((request, response) => void this.#answer(request, response));
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
  }

  close(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** A wallet with a balance in millionths of a dollar. */
  wallet(units: number): Wallet {
    const address = `0x${randomBytes(20).toString("hex")}`;
    secrets.set(address, randomBytes(32));
    this.balances.set(address, BigInt(units));
    const sign = (asked: Asked, more: Partial<Authorization> = {}, after: Partial<Authorization> = {}) => {
      const validBefore = String(Math.floor(Date.now() / 1_000) + asked.maxTimeoutSeconds);
      const nonce = `0x${randomBytes(32).toString("hex")}`;
      const plain = { from: address, to: asked.payTo, value: asked.amount, validAfter: "0", validBefore, nonce };
      const authorization = { ...plain, ...more };
      return {
        signature: signatureOf(address, authorization, asked.extra),
        authorization: { ...authorization, ...after },
      };
    };
    return {
      address,
      pay: (accepted, more, after) => inHeader({ x402Version: 2, accepted, payload: sign(accepted, more, after) }),
      payV1: (asked) => inHeader({ x402Version: 1, scheme: "exact", network: NETWORK, payload: sign(asked) }),
    };
  }

  balance(address: string): number {
    return Number(this.balances.get(address.toLowerCase()) ?? 0n);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const beganMs = performance.now();
    await this.#answered(request, response);
    this.answeringMs += performance.now() - beganMs;
  }

  async #answered(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = (await jsonOf(request)) as Record<string, unknown>;
    if (this.breaks.delete(String(request.url))) return void response.destroy();
    const send = (value: unknown) => response.setHeader("content-type", "application/json").end(JSON.stringify(value));
    if (request.url === "/rpc") this.onStep("node");
    if (request.url === "/rpc" && this.isNodeAway) return void response.destroy();
    if (request.url === "/rpc") return void send({ jsonrpc: "2.0", id: body.id, result: this.#node(body) });
    if (this.mood === "away") return void response.destroy();
    if (this.mood === "hangs") return;
    if (this.mood === "500") return void response.writeHead(500).end("<html>");
    const isSettle = request.url === "/settle";
    if (isSettle) this.settles += 1;
    else this.verifies += 1;
    this.onStep(isSettle ? "settle" : "verify");
    const reason = this.#reason(body);
    const { authorization } = (body.paymentPayload as { payload: { authorization: Authorization } }).payload;
    if (!isSettle)
      return void send({
        isValid: reason === null,
        ...(reason === null ? {} : { invalidReason: reason }),
        payer: authorization.from,
      });
    const transaction = `0x${randomBytes(32).toString("hex")}`;
    if (reason !== null || this.mood === "refuses")
      return void send({
        success: false,
        errorReason: reason ?? "unexpected_settle_error",
        transaction: "",
        network: caip2,
      });
    if (this.mood !== "says so and moves nothing") this.#move(authorization, transaction);
    this.onStep("moved");
    if (this.mood === "moves and is not heard") return void response.destroy();
    if (this.mood === "moves and says that it failed")
      return void send({
        success: false,
        errorReason: "invalid_exact_evm_transfer_event_mismatch",
        transaction,
        network: caip2,
      });
    send({ success: true, transaction, network: caip2, payer: authorization.from });
  }

  #move(authorization: Authorization, transaction: string): void {
    const { from, to, value, nonce } = authorization;
    this.used.set(`${from} ${nonce}`, transaction);
    this.moved.set(transaction, authorization);
    this.balances.set(from, (this.balances.get(from) ?? 0n) - BigInt(value));
    this.balances.set(to, (this.balances.get(to) ?? 0n) + BigInt(value));
  }

  /** Why a payment cannot be made, in the reference's words. */
  #reason(body: Record<string, unknown>): string | null {
    const { paymentPayload, paymentRequirements: asked } = body as {
      paymentPayload: { x402Version: number; payload: { signature: string; authorization: Authorization } };
      paymentRequirements: Asked & { maxAmountRequired?: string };
    };
    const { signature, authorization } = paymentPayload.payload;
    const isV1 = paymentPayload.x402Version === 1;
    if (asked.network !== (isV1 ? NETWORK : caip2)) return "invalid_network";
    if (asked.asset !== ASSET) return "invalid_asset";
    if (signature !== signatureOf(authorization.from, authorization, asked.extra)) return "invalid_exact_evm_signature";
    if (authorization.to.toLowerCase() !== asked.payTo.toLowerCase())
      return "invalid_exact_evm_payload_recipient_mismatch";
    if (authorization.value !== (isV1 ? asked.maxAmountRequired : asked.amount))
      return "invalid_exact_evm_payload_authorization_value_mismatch";
    if (Number(authorization.validBefore) * 1_000 <= Date.now())
      return "invalid_exact_evm_payload_authorization_valid_before";
    if (this.used.has(`${authorization.from} ${authorization.nonce}`)) return "invalid_exact_evm_nonce_already_used";
    if ((this.balances.get(authorization.from) ?? 0n) < BigInt(authorization.value)) return "insufficient_funds";
    return null;
  }

  #receipt(transaction: string) {
    const authorization = this.moved.get(transaction);
    if (authorization === undefined) return null;
    const { from, to, nonce, value } = authorization;
    const data = `0x${BigInt(value).toString(16).padStart(64, "0")}`;
    const logs = [
      { address: ASSET, topics: [USED, topic(from), nonce], data: "0x" },
      { address: ASSET, topics: [TRANSFERRED, topic(from), topic(to)], data },
    ];
    return { status: "0x1", logs };
  }

  #node({ method, params }: Record<string, unknown>): unknown {
    if (method === "eth_blockNumber") return "0x10";
    if (method === "eth_getBlockByNumber") return { number: "0x10", timestamp: `0x${this.nowS().toString(16)}` };
    if (method === "eth_getTransactionReceipt") return this.#receipt(String((params as unknown[])[0]));
    const [first] = params as [{ data?: string; topics?: [string[], string, string] }];
    if (method === "eth_call") {
      const data = String(first.data);
      const key = `0x${data.slice(34, 74)} 0x${data.slice(74)}`;
      return `0x${(this.used.has(key) ? "1" : "0").padStart(64, "0")}`;
    }
    const [, from = "", nonce = ""] = first.topics ?? [];
    const transactionHash = this.used.get(`0x${from.slice(26)} ${nonce}`);
    return transactionHash === undefined ? [] : [{ topics: [USED, from, nonce], transactionHash }];
  }
}
