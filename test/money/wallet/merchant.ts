// A merchant on loopback that is paid per call, over MPP or x402, with its chain: honest, or lying in a way that a test picks.
import http, { type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { Rail } from "../../../src/catalog/auth.ts";
import { NETWORKS, TEMPO_NETWORKS } from "../../../src/catalog/networks.ts";
import { isRecord } from "../../../src/core/json.ts";
import type { Hex } from "../../../src/money/wallet/hex.ts";
import { signerOf } from "../../../src/money/wallet/keys.ts";
import { authorizationDigest, type TransferAuthorization } from "../../../src/money/wallet/typed-data.ts";

export const PAY_TO = "0x00000000000000000000000000000000000000aa";
export const OTHER = "0x00000000000000000000000000000000000000bb";
const NOWHERE = "0x0000000000000000000000000000000000000000";
const USED = "0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5";
const TRANSFERRED = "0x57bc7354aa85aed339e000bccffabbc529466af35f0772c8f8ee1145927de7f0";

/** `takes`: takes the money of a payment and then does not serve. */
export type Mood =
  | "honest"
  | "dear"
  | "asks to be paid elsewhere"
  | "asks for another coin"
  | "asks on another network"
  | "asks for what has lapsed"
  | "asks for nothing"
  | "names nobody"
  | "says nothing of how"
  | "writes nonsense"
  | "takes and asks again"
  | "asks again"
  | "finds the wallet empty"
  | "takes and fails"
  | "takes and hangs"
  | "takes and closes"
  | "takes and does not find";

export interface Seen {
  readonly method: string;
  readonly url: string;
  readonly body: string;
  readonly headers: http.IncomingHttpHeaders;
}

const base64url = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
const padded = (address: string): Hex => `0x${address.slice(2).toLowerCase().padStart(64, "0")}`;
const hash = (count: number): Hex => `0x${count.toString(16).padStart(64, "0")}`;

interface Log {
  readonly address: string;
  readonly topics: readonly string[];
  readonly transactionHash: Hex;
}

export class Merchant {
  readonly rail: Rail;
  mood: Mood = "honest";
  /** The price of the next thing, in millionths of a dollar. */
  units = 30_000n;
  /** Over MPP: the merchant bears the network fee. */
  sponsors = false;
  /** Answers a paid request. */
  answer: (seen: Seen) => { readonly status?: number; readonly body: unknown; readonly type?: string } | null = () => ({
    body: { ok: 1 },
  });
  /** Decides which requests are free. */
  isFree: (seen: Seen) => boolean = () => false;
  readonly seen: Seen[] = [];
  /** Requests left without an answer. */
  readonly hanging: ServerResponse[] = [];
  /** The payments taken, by their id on the chain. */
  readonly taken: Log[] = [];
  /** The chain's clock, in seconds. */
  nowS = () => Math.floor(Date.now() / 1_000);
  isNodeAway = false;
  onTaken: () => void = () => {};
  onAsk: () => void = () => {};
  #count = 0;
  readonly #server = http.createServer((request, response) => void this.#serve(request, response));

  constructor(rail: Rail) {
    this.rail = rail;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  listen(): Promise<void> {
    return new Promise((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
  }

  close(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    if (request.url === "/rpc") return this.#node(JSON.parse(body), response);
    const seen = { method: request.method ?? "", url: request.url ?? "", body, headers: request.headers };
    this.seen.push(seen);
    if (this.isFree(seen)) return this.#good(seen, response);
    const paid = this.rail === "mpp" ? this.#paidByMpp(seen) : this.#paidByX402(seen);
    const isRefused = this.mood === "asks again" || this.mood === "finds the wallet empty";
    if (paid === null || isRefused) return this.#ask(seen, response);
    this.#take(paid);
    if (this.mood === "takes and asks again") return this.#ask(seen, response);
    if (this.mood === "takes and fails") return this.#send(response, 500, { error: `broken by ${paid.shown}` });
    if (this.mood === "takes and does not find") return this.#send(response, 404, { error: "not found" });
    if (this.mood === "takes and closes") return void response.destroy();
    if (this.mood === "takes and hangs") return void this.hanging.push(response);
    const transaction = this.taken.at(-1)?.transactionHash;
    const receipt =
      this.rail === "mpp"
        ? { "payment-receipt": base64url({ method: "tempo", reference: transaction, status: "success" }) }
        : { "payment-response": Buffer.from(JSON.stringify({ success: true, transaction })).toString("base64") };
    this.#good(seen, response, receipt);
  }

  #good(seen: Seen, response: ServerResponse, headers: Record<string, string> = {}): void {
    const { status = 200, body = null, type = "application/json" } = this.answer(seen) ?? {};
    this.#send(response, status, body, { "content-type": type, ...headers });
  }

  #send(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify(body));
  }

  #take({ address, topics }: { readonly address: string; readonly topics: readonly string[] }): void {
    const transactionHash = hash(++this.#count);
    this.taken.push({ address: address.toLowerCase(), topics, transactionHash });
    this.onTaken();
  }

  get #payTo(): string {
    if (this.mood === "names nobody") return NOWHERE;
    return this.mood === "asks to be paid elsewhere" ? OTHER : PAY_TO;
  }

  get #amount(): string {
    if (this.mood === "asks for nothing") return "0";
    return String(this.mood === "dear" ? this.units + 1n : this.units);
  }

  /** The challenge for a request, the same for each repeat. */
  #mppChallenge({ url, body }: Seen): Record<string, string> {
    const { chainId, coins } = TEMPO_NETWORKS.tempo;
    const request = base64url({
      amount: this.#amount,
      currency: this.mood === "asks for another coin" ? OTHER : coins[0],
      recipient: this.#payTo,
      methodDetails: {
        chainId: this.mood === "asks on another network" ? 1 : chainId,
        ...(this.sponsors ? { feePayer: true } : {}),
      },
    });
    const lifeMs = this.mood === "asks for what has lapsed" ? -1_000 : 60_000;
    const id = Buffer.from(`${url} ${body} ${this.seen.length}`).toString("base64url").slice(0, 200);
    const expires = new Date(Date.now() + lifeMs).toISOString();
    return { id, realm: "merchant", method: "tempo", intent: "charge", request, expires };
  }

  #x402Challenge() {
    const { asset, caip2, domain } = NETWORKS.base;
    return {
      scheme: "exact",
      network: this.mood === "asks on another network" ? "eip155:1" : caip2,
      amount: this.#amount,
      asset: this.mood === "asks for another coin" ? OTHER : asset,
      payTo: this.#payTo,
      maxTimeoutSeconds: 60,
      extra: domain,
    };
  }

  #ask(seen: Seen, response: ServerResponse): void {
    this.onAsk();
    if (this.mood === "says nothing of how") return this.#send(response, 402, {});
    const nonsense = this.mood === "writes nonsense";
    if (this.rail === "x402") {
      const isEmpty = this.mood === "finds the wallet empty" && seen.headers["payment-signature"] !== undefined;
      const error = isEmpty ? { error: "insufficient_funds" } : {};
      const asked = { x402Version: 2, ...error, resource: { url: seen.url }, accepts: [this.#x402Challenge()] };
      const header = nonsense ? "ey!" : Buffer.from(JSON.stringify(asked)).toString("base64");
      return this.#send(response, 402, { error: "payment required" }, { "payment-required": header });
    }
    const challenge = this.#mppChallenge(seen);
    this.#asked.set(challenge.id ?? "", challenge);
    const params = Object.entries(challenge).map(([name, value]) => `${name}="${value}"`);
    const header = nonsense ? 'Payment id="' : `Payment ${params.join(", ")}`;
    this.#send(response, 402, { title: "Payment Required" }, { "www-authenticate": header });
  }

  readonly #asked = new Map<string, Record<string, string>>();

  #paidByMpp({ headers }: Seen) {
    const shown = /^Payment (.+)$/.exec(headers.authorization ?? "")?.[1];
    if (shown === undefined) return null;
    const { challenge, payload, source } = JSON.parse(Buffer.from(shown, "base64url").toString("utf8"));
    const asked = this.#asked.get(challenge.id);
    // Each challenge is valid once, and must come back unchanged.
    this.#asked.delete(challenge.id);
    if (JSON.stringify(asked) !== JSON.stringify(challenge) || payload.type !== "transaction") return null;
    const { currency, recipient, amount } = JSON.parse(Buffer.from(challenge.request, "base64url").toString("utf8"));
    const call = `95777d59${padded(recipient).slice(2)}${BigInt(amount).toString(16).padStart(64, "0")}`;
    const signed = String(payload.signature);
    const at = signed.indexOf(call);
    if (!signed.startsWith("0x76") || at < 0 || !signed.includes(currency.slice(2))) return null;
    const memo = `0x${signed.slice(at + call.length, at + call.length + 64)}`;
    const from = String(source).split(":").at(-1) ?? "";
    return { address: currency, topics: [TRANSFERRED, padded(from), padded(recipient), memo], shown };
  }

  #paidByX402({ headers }: Seen) {
    const shown = headers["payment-signature"];
    if (typeof shown !== "string") return null;
    const { accepted, payload } = JSON.parse(Buffer.from(shown, "base64").toString("utf8"));
    const authorization = payload.authorization as TransferAuthorization;
    const asked = this.#x402Challenge();
    const { name, version } = asked.extra;
    const domain = { name, version, chainId: 8453, asset: asked.asset as Hex };
    const by = signerOf(authorizationDigest(authorization, domain), payload.signature);
    const isGood =
      JSON.stringify(accepted) === JSON.stringify(asked) &&
      by === authorization.from &&
      authorization.to === asked.payTo &&
      authorization.value === asked.amount &&
      !this.taken.some(({ topics }) => topics[2] === authorization.nonce);
    if (!isGood) return null;
    return { address: asked.asset, topics: [USED, padded(authorization.from), authorization.nonce], shown };
  }

  #node({ method, params }: { readonly method: string; readonly params: unknown[] }, response: ServerResponse): void {
    if (this.isNodeAway) return this.#send(response, 500, {});
    if (method === "eth_getTransactionReceipt") {
      const logs = this.taken.filter(({ transactionHash }) => transactionHash === params[0]);
      return this.#send(response, 200, { result: logs.length === 0 ? null : { status: "0x1", logs } });
    }
    const [filter] = params;
    const logs = this.taken.filter(
      ({ address, topics }) =>
        isRecord(filter) &&
        String(filter.address).toLowerCase() === address &&
        JSON.stringify(filter.topics) === JSON.stringify(topics),
    );
    const result = method === "eth_getLogs" ? logs : { number: "0x10", timestamp: `0x${this.nowS().toString(16)}` };
    this.#send(response, 200, { jsonrpc: "2.0", id: 1, result });
  }
}
