// Reads a request: the head at once, the body as it arrives.
import type { Endpoint, GatewayRequest, IncomingBody } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import { KEY_BEGINS } from "../../money/accounts/secrets.ts";
import type { BodyShare } from "../../platform/limits/body-bytes.ts";
import { addressText, clientAddress } from "./client-address.ts";
import { copyOf, type EngineRequest, type EngineResponse } from "./engine.ts";
import { HeaderGuard } from "./guarded-headers.ts";
import type { HttpReply } from "./http-reply.ts";
import type { Edge } from "./server.ts";
import type { SlowClient } from "./slow-clients.ts";

/** The request headers that the gateway reads; all others are dropped here. */
export const KEPT_HEADERS = [
  "authorization",
  "idempotency-key",
  "if-none-match",
  "anthropic-version",
  "user-agent",
  "traceparent",
  "x-tollgate-trace",
  "x-tollgate-keepalive",
  "x-tollgate-max-cost-cents",
  "x-tollgate-sandbox",
  "x-tollgate-sandbox-fault",
  "x-tollgate-run",
  "x-tollgate-run-budget-cents",
  "x-tollgate-run-parent",
] as const;

/** Additional headers of requests that can have no body. */
export const BARE_HEADERS = ["accept-encoding", "x-goog-api-client"] as const;

/** Additional headers of requests with a streamed answer. */
export const STREAM_HEADERS = ["range", "if-range", "accept", "last-event-id"] as const;

/** Additional headers of requests that browsers send. */
export const COOKIE_HEADERS = ["cookie", "origin", "sec-fetch-site", "x-csrf-token"] as const;

/** Headers of requests that can have a body. */
export const BODY_HEADERS = [
  "accept",
  "content-type",
  "content-length",
  "content-encoding",
  "transfer-encoding",
  "x-tollgate-tags",
  "x-tollgate-cache",
  "anthropic-beta",
  // What MCP says of a call outside its body, and the page that made it.
  "mcp-protocol-version",
  "mcp-method",
  "mcp-name",
  "mcp-session-id",
  "origin",
  "host",
  // A payment without an account: version 2 of x402, and version 1.
  "payment-signature",
  "x-payment",
  // The names of a conversation in clients.
  "x-session-id",
  "session_id",
  "session-id",
  "x-claude-code-session-id",
] as const;

/** Headers in which some clients put their bare key. It is read as a bearer token, and takes precedence over another credential. */
const API_KEY_HEADERS: ReadonlySet<string> = new Set(["x-api-key", "x-goog-api-key"]);
/** The query parameter in which the simplest of them put it. */
const KEY_IN_QUERY = "key";

const CLOSES = /\bclose\b/i;
const FORWARDED = "x-forwarded-for";

const NO_BODY = Buffer.alloc(0);
const NO_HEADERS = new Map<string, string>();
const NO_QUERY = new URLSearchParams();
const NO_PARAMS: Readonly<Record<string, string>> = Object.freeze({});

/** What we, not the sender, determine of a request. */
export interface RequestMade {
  readonly id: string;
  readonly startedMs: number;
  readonly trustProxy: number;
  /** The headers kept of a request without a body, and of one that can have one. */
  readonly bareHeaders: ReadonlySet<string>;
  readonly allHeaders: ReadonlySet<string>;
}

/** Headers that determine where a request ends and which host it is for: of duplicates, each server on the way may use another. */
const ONE_LINE: ReadonlySet<string> = new Set(["content-length", "transfer-encoding", "host"]);

/** A request as the edge read it; params and body are set once known. */
export class EdgeRequest implements GatewayRequest {
  readonly id: string;
  readonly method: string;
  path: string;
  readonly query: URLSearchParams;
  readonly startedMs: number;
  params: Readonly<Record<string, string>> = NO_PARAMS;
  body: Buffer = NO_BODY;
  incoming?: IncomingBody;
  /** The memory reserved for its body; null where it came with the head. */
  share: BodyShare | null = null;
  isScreened = false;
  isChunked = false;
  /** Its sender closes the connection after the answer. */
  isLast = false;
  readonly #peer: Pick<HttpReply, "remoteAddress">;
  readonly #trustProxy: number;
  #headers = new Map<string, string>();
  /** An error in its head that makes its end uncertain, so its connection must close. Null: none. */
  fault: GatewayError | null = null;
  /** Why the request is refused in any case: an invalid header that guards money. Null: it is not. */
  refusal: GatewayError | null = null;
  #address: string | null = null;

  /** Copies the kept parts of a request's head; `req` is invalid once its handler has returned. */
  constructor(req: EngineRequest, peer: Pick<HttpReply, "remoteAddress">, made: RequestMade) {
    const method = req.getCaseSensitiveMethod();
    this.#keepAll(req, method === "GET" || method === "HEAD" ? made.bareHeaders : made.allHeaders, made.trustProxy > 0);
    const query = req.getQuery();
    this.id = made.id;
    this.startedMs = made.startedMs;
    this.method = method;
    this.path = req.getUrl();
    this.query = query ? new URLSearchParams(query) : NO_QUERY;
    const key = query ? this.query.get(KEY_IN_QUERY) : null;
    if (key?.startsWith(KEY_BEGINS) === true) this.#keepFirst("authorization", `Bearer ${key}`);
    this.#peer = peer;
    this.#trustProxy = made.trustProxy;
  }

  /** A key that came outside the headers; a header takes precedence. */
  useKey(key: string): void {
    if (key !== "") this.#keepFirst("authorization", `Bearer ${key}`);
  }

  get headers(): ReadonlyMap<string, string> {
    return this.#headers;
  }

  /** Drops all headers but the one that the address depends on. */
  dropHeaders(): void {
    const forwarded = this.#headers.get(FORWARDED);
    this.#headers = forwarded === undefined ? NO_HEADERS : new Map([[FORWARDED, forwarded]]);
  }

  /** A single pass over the head: native look-ups of each possible name would cost as much and return only the first line of each. */
  #keepAll(req: EngineRequest, names: ReadonlySet<string>, proxied: boolean): void {
    let coding: string | null = null;
    let apiKey = "";
    let seen = 0;
    const guard = new HeaderGuard();
    req.forEach((name, value) => {
      guard.see(name, value);
      if (ONE_LINE.has(name)) {
        const bit = name === "host" ? 1 : name === "content-length" ? 2 : 4;
        if ((seen & bit) !== 0) this.fault ??= badHead(`The request has more than one ${name} header.`);
        seen |= bit;
        if (bit === 4) coding = value;
        else if (bit === 2 && !LENGTH.test(value))
          this.fault ??= badHead(`Content-Length ${JSON.stringify(value.slice(0, 40))} is not a number.`);
      }
      if (names.has(name)) this.#keepFirst(name, value);
      else if (API_KEY_HEADERS.has(name)) apiKey ||= value;
      else if (name === "connection") this.isLast ||= CLOSES.test(value);
      else if (proxied && name === FORWARDED) this.#append(name, value);
    });
    if (apiKey !== "") this.#keepFirst("authorization", `Bearer ${apiKey}`);
    this.refusal = guard.refusal();
    if (coding === null) return;
    this.isChunked = true;
    this.fault ??=
      (seen & 2) === 0 ? codingFault(coding) : badHead("The request has both Content-Length and Transfer-Encoding.");
  }

  /** An empty header counts as missing, except an idempotency key: its sender wants protection from being charged twice. */
  #keepFirst(name: string, value: string): void {
    if ((value !== "" || name === "idempotency-key") && !this.#headers.has(name)) this.#headers.set(name, value);
  }

  /** Joins a header with several lines into the equivalent single one (RFC 9110, 5.3). */
  #append(name: string, value: string): void {
    const before = this.#headers.get(name);
    this.#headers.set(name, before === undefined ? value : `${before}, ${value}`);
  }

  /** Keeps further headers of the head; call while its handler runs. */
  keep(req: EngineRequest, names: readonly string[]): void {
    for (const name of names) {
      const value = req.getHeader(name);
      if (value !== "") this.#headers.set(name, value);
    }
  }

  /**
   * Determined on first use, since it costs a system call that most requests, having a key, can avoid. Empty if first used after the
   * request was answered or its client has left.
   */
  get address(): string {
    this.#address ??= clientAddress(
      addressText(this.#peer.remoteAddress()),
      this.headers.get(FORWARDED) ?? "",
      this.#trustProxy,
    );
    return this.#address;
  }
}

const LENGTH = /^\d{1,15}$/;

function badHead(detail: string): GatewayError {
  return new GatewayError("bad_request", { detail });
}

/** uWebSockets takes any transfer coding for chunked. */
function codingFault(coding: string): GatewayError | null {
  if (coding.toLowerCase() === "chunked") return null;
  const detail = `A body with Transfer-Encoding ${coding.slice(0, 40)} is not read.`;
  return new GatewayError("unsupported_media", { detail });
}

/** Whether a request has a body to wait for. The body of a GET has no meaning (RFC 9110, 9.3.1), so its length is ignored. */
export function hasBody({ headers }: GatewayRequest): boolean {
  return headers.has("transfer-encoding") || (headers.get("content-length") ?? "0") !== "0";
}

/** A request is refused. `rest`: what happens to the part of its body that has not arrived. */
export interface BodyRefusal {
  readonly error: GatewayError;
  readonly rest: "ignore" | "close";
}

/**
 * Why a body is refused before a byte of it arrives: compressed, not JSON where it must be, or announced as too large. A rest of up to the
 * limit's own size is skipped to keep the connection; a larger one is not.
 */
export function refuseBody(headers: ReadonlyMap<string, string>, endpoint: Endpoint): BodyRefusal | null {
  const lengthText = headers.get("content-length") ?? "0";
  const length = Number(lengthText);
  const rest = length <= 2 * endpoint.bodyBytesMax && !headers.has("transfer-encoding") ? "ignore" : "close";
  const unsupported = (detail: string): BodyRefusal => ({
    error: new GatewayError("unsupported_media", { detail }),
    rest,
  });
  const coding = headers.get("content-encoding") ?? "identity";
  if (coding.toLowerCase() !== "identity")
    return unsupported(`A body with Content-Encoding ${coding.slice(0, 40)} is not read.`);
  const type = headers.get("content-type") ?? JSON_TYPE;
  if (!handsOn(endpoint) && !isJson(type) && !(endpoint.form === true && FORM_TYPE.test(type))) {
    const name = type.slice(0, 80);
    return unsupported(`Content-Type ${name} is not JSON; with curl, add -H 'Content-Type: application/json'.`);
  }
  return length > endpoint.bodyBytesMax ? { error: tooLarge(endpoint.bodyBytesMax), rest } : null;
}

export function handsOn(endpoint: Endpoint): boolean {
  return ("stream" in endpoint && endpoint.bodyWhole !== true) || endpoint.upload === true;
}

const FORM_TYPE = /^application\/x-www-form-urlencoded\s*(?:;|$)/i;
const JSON_TYPE = "application/json";

function isJson(type: string): boolean {
  return type === JSON_TYPE || /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(type);
}

function tooLarge(bodyBytesMax: number): GatewayError {
  const limit_mib = Math.round((bodyBytesMax / 1_048_576) * 1_000) / 1_000;
  return new GatewayError("body_too_large", { detail: { limit_mib } });
}

export interface BodyOptions {
  readonly request: EdgeRequest;
  readonly bodyBytesMax: number;
  /** The body does not arrive in one piece: the caller may now decide whether to continue, before much of it is stored. */
  readonly long: (reader: BodyReader) => void;
  /** Called once, unless the body is abandoned. */
  readonly done: (body: Buffer | BodyRefusal) => void;
}

/** Fills blocks of 4 KiB: a buffer takes more than a hundred bytes, even for a part of one byte. */
function append(parts: Buffer[], bytes: Uint8Array): void {
  let last = parts.pop() ?? NO_BODY;
  if (last.length + bytes.length > last.buffer.byteLength) {
    parts.push(last);
    last = Buffer.allocUnsafeSlow(Math.max(4_096, bytes.length)).subarray(0, 0);
  }
  const longer = Buffer.from(last.buffer, 0, last.length + bytes.length);
  longer.set(bytes, last.length);
  parts.push(longer);
}

/**
 * Collects a body. Most arrive whole with their head, so watching for slow senders begins with the first part that is not the last; for a
 * body of known length uWebSockets passes what it has at once, even if that is nothing. Call `abandon` when the client leaves; nothing is
 * stored or called after that.
 */
export class BodyReader implements SlowClient {
  readonly deadlineMs: number;
  readonly #res: EngineResponse;
  readonly #limits: Edge;
  readonly #options: BodyOptions;
  #parts: Buffer[] | null = null;
  #bytes = 0;
  #over = false;
  /** Reading is paused. */
  #held = false;

  constructor(res: EngineResponse, limits: Edge, options: BodyOptions) {
    this.#res = res;
    this.#limits = limits;
    this.#options = options;
    this.deadlineMs = options.request.startedMs + limits.bodyMsMax;
    if (options.request.headers.has("transfer-encoding")) this.#watch();
    res.onData((part, isLast) => this.#take(part, isLast));
  }

  keepOpen(): void {
    // A paused response has no timeout, and must not be resumed here.
    if (this.#held) return;
    this.#res.pause();
    this.#res.resume();
  }

  /** Pauses the sender until it is known whether it may continue. */
  hold(): void {
    if (this.#over) return;
    this.#held = true;
    this.#res.pause();
  }

  /** Resumes the sender, or refuses it. The rest of a refused body is skipped where its end is known. */
  goOn(refusal: GatewayError | null): void {
    if (this.#over) return;
    this.#letGo();
    this.#options.request.isScreened = refusal === null;
    const rest = this.#options.request.headers.has("transfer-encoding") ? "close" : "ignore";
    if (refusal !== null) this.#end({ error: refusal, rest });
  }

  expired(): void {
    const detail = { seconds: Math.round(this.#limits.bodyMsMax / 1_000) };
    this.#end({ error: new GatewayError("request_timeout", { detail }), rest: "close" });
  }

  abandon(): void {
    if (this.#over) return;
    this.#stop();
    this.#options.request.share?.close();
  }

  #watch(): Buffer[] {
    this.#limits.slowClients.watch(this);
    this.#parts = [];
    this.#options.long(this);
    return this.#parts;
  }

  /** uWebSockets reuses `part`'s memory after this returns, so it is copied, once. uWebSockets keeps passing parts after a refusal. */
  #take(part: ArrayBuffer | Uint8Array, isLast: boolean): void {
    if (this.#over) return;
    this.#bytes += part.byteLength;
    const { request, bodyBytesMax } = this.#options;
    const full = request.isChunked ? request.share?.grow(part.byteLength) : null;
    const error = this.#bytes > bodyBytesMax ? tooLarge(bodyBytesMax) : full;
    if (error != null) return this.#end({ error, rest: "close" });
    const bytes = part instanceof ArrayBuffer ? new Uint8Array(part) : part;
    if (!isLast) append(this.#parts ?? this.#watch(), bytes);
    else this.#end(this.#parts === null ? copyOf(part) : Buffer.concat([...this.#parts, bytes], this.#bytes));
  }

  #letGo(): void {
    if (this.#held) this.#res.resume();
    this.#held = false;
  }

  /** Resumes a paused sender: parts already buffered still arrive, and its connection can serve more requests. */
  #end(ending: Buffer | BodyRefusal): void {
    this.#letGo();
    if ("error" in ending) this.abandon();
    else this.#stop();
    this.#options.done(ending);
  }

  #stop(): void {
    this.#over = true;
    if (this.#parts !== null) this.#limits.slowClients.forget(this);
    this.#parts = null;
  }
}
