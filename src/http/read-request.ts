// Reads a request off a uWebSockets connection before it is gone: the head at once, the body as it comes.
import type { HttpRequest, HttpResponse } from "uWebSockets.js";
import type { Endpoint, GatewayRequest, IncomingBody } from "../endpoint.ts";
import { GatewayError } from "../errors.ts";
import { addressText, clientAddress } from "./client-address.ts";
import type { SlowClient, SlowClients } from "./slow-clients.ts";

/** The request headers that anything in the gateway may read; the rest is dropped here. Each costs a native call. */
export const KEPT_HEADERS = [
  "authorization",
  "idempotency-key",
  "if-none-match",
  "user-agent",
  "x-tollgate-trace",
  "x-tollgate-keepalive",
  "x-tollgate-max-cost-cents",
  "x-tollgate-sandbox-fault",
] as const;

/** Those kept besides of requests whose answer is streamed. */
export const STREAM_HEADERS = ["range", "if-range"] as const;

/** Those kept of requests that can have a body. */
export const BODY_HEADERS = [
  "content-type",
  "content-length",
  "content-encoding",
  "transfer-encoding",
  "x-tollgate-tags",
] as const;

const NO_BODY = Buffer.alloc(0);
const NO_QUERY = new URLSearchParams();
const NO_PARAMS: Readonly<Record<string, string>> = Object.freeze({});

/** Who knows the address of the other end of a connection, as bytes. */
export interface Peer {
  /** Empty once the connection is no longer ours. */
  remoteAddress(): ArrayBuffer;
}

/** What a request is given by us rather than by its sender. */
export interface RequestMade {
  readonly id: string;
  readonly startedMs: number;
  readonly trustProxy: number;
  /** Which headers are kept of a request that has no body, and of one that can have one. */
  readonly bareHeaders: readonly string[];
  readonly allHeaders: readonly string[];
}

/** A request as the edge read it; params and body are filled in when they are known. */
export class EdgeRequest implements GatewayRequest {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly startedMs: number;
  params: Readonly<Record<string, string>> = NO_PARAMS;
  body: Buffer = NO_BODY;
  incoming?: IncomingBody;
  readonly #peer: Peer;
  readonly #trustProxy: number;
  readonly #headers = new Map<string, string>();
  #address: string | null = null;

  /** Copies what we keep of a request's head; `req` is dead once its handler has returned. */
  constructor(req: HttpRequest, peer: Peer, made: RequestMade) {
    const method = req.getCaseSensitiveMethod();
    this.keep(req, method === "GET" || method === "HEAD" ? made.bareHeaders : made.allHeaders);
    if (made.trustProxy > 0) this.#headers.set("x-forwarded-for", allLines(req, "x-forwarded-for"));
    // Unlike its type says, this is undefined where there is no question mark.
    const query: string | undefined = req.getQuery();
    this.id = made.id;
    this.startedMs = made.startedMs;
    this.method = method;
    this.path = req.getUrl();
    this.query = query ? new URLSearchParams(query) : NO_QUERY;
    this.#peer = peer;
    this.#trustProxy = made.trustProxy;
  }

  get headers(): ReadonlyMap<string, string> {
    return this.#headers;
  }

  /** Keeps more headers of the head, as long as its handler runs. */
  keep(req: HttpRequest, names: readonly string[]): void {
    for (const name of names) {
      const value = req.getHeader(name);
      if (value !== "") this.#headers.set(name, value);
    }
  }

  /**
   * Found out when first asked for, since it costs a system call that most requests, having a key, can do without. It is empty if that is
   * only after the request was answered or its client has left.
   */
  get address(): string {
    this.#address ??= clientAddress(
      addressText(this.#peer.remoteAddress()),
      this.headers.get("x-forwarded-for") ?? "",
      this.#trustProxy,
    );
    return this.#address;
  }
}

/** A header that came in several lines, as the one that it means (RFC 9110, 5.3); `getHeader` knows but the first. */
function allLines(req: HttpRequest, wanted: string): string {
  const lines: string[] = [];
  req.forEach((name, value) => {
    if (name === wanted) lines.push(value);
  });
  return lines.join(", ");
}

/** Whether a request has a body to wait for. A body of a GET means nothing (RFC 9110, 9.3.1), so its length is not even read. */
export function hasBody({ headers }: GatewayRequest): boolean {
  return headers.has("transfer-encoding") || (headers.get("content-length") ?? "0") !== "0";
}

/** A request is not served. `rest` says what happens to the part of its body that has not come yet. */
export interface BodyRefusal {
  readonly error: GatewayError;
  readonly rest: "ignore" | "close";
}

/**
 * What is wrong with a body before a byte of it has come: compressed, not JSON where it must be, or announced as too large. A rest of up to the
 * limit's own size is worth reading past for the sake of the connection; a larger one is not.
 */
export function refuseBody(headers: ReadonlyMap<string, string>, endpoint: Endpoint): BodyRefusal | null {
  const lengthText = headers.get("content-length") ?? "0";
  const length = Number(lengthText);
  const rest = length <= 2 * endpoint.bodyBytesMax && !headers.has("transfer-encoding") ? "ignore" : "close";
  const unsupported = (detail: string): BodyRefusal => ({
    error: new GatewayError("unsupported_media", { detail: { detail } }),
    rest,
  });
  const coding = headers.get("content-encoding") ?? "identity";
  if (coding.toLowerCase() !== "identity")
    return unsupported(`A body with Content-Encoding ${coding.slice(0, 40)} is not read.`);
  const transfer = headers.get("transfer-encoding") ?? "chunked";
  if (transfer.toLowerCase() !== "chunked")
    return unsupported(`A body with Transfer-Encoding ${transfer.slice(0, 40)} is not read.`);
  const type = headers.get("content-type") ?? JSON_TYPE;
  if (!("stream" in endpoint) && !isJson(type)) {
    const name = type.slice(0, 80);
    return unsupported(`Content-Type ${name} is not JSON; with curl, add -H 'Content-Type: application/json'.`);
  }
  return length > endpoint.bodyBytesMax ? { error: tooLarge(endpoint.bodyBytesMax), rest } : null;
}

const JSON_TYPE = "application/json";

function isJson(type: string): boolean {
  return type === JSON_TYPE || /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(type);
}

function tooLarge(bodyBytesMax: number): GatewayError {
  const limit_mib = Math.round((bodyBytesMax / 1_048_576) * 1_000) / 1_000;
  return new GatewayError("body_too_large", { detail: { limit_mib } });
}

export interface BodyLimits {
  readonly slowClients: SlowClients;
  /** How long a whole body may take. */
  readonly bodyMsMax: number;
}

export interface BodyOptions {
  readonly request: GatewayRequest;
  readonly bodyBytesMax: number;
  /** The body does not come in one piece: whether to go on reading may be asked now, before much of it is kept. */
  readonly long: (reader: BodyReader) => void;
  /** Called once, unless the body is abandoned. */
  readonly done: (body: Buffer | BodyRefusal) => void;
}

/**
 * Collects a body. Most come whole with their head, so watching for slowness begins with the first part that is not the last; of a
 * body of known length uWebSockets hands over what it has at once, even if that is nothing. `abandon` must be called
 * when the client leaves; nothing is kept or called after that.
 */
export class BodyReader implements SlowClient {
  readonly deadlineMs: number;
  readonly #res: HttpResponse;
  readonly #limits: BodyLimits;
  readonly #options: BodyOptions;
  #parts: Buffer[] | null = null;
  #bytes = 0;
  #over = false;

  constructor(res: HttpResponse, limits: BodyLimits, options: BodyOptions) {
    this.#res = res;
    this.#limits = limits;
    this.#options = options;
    this.deadlineMs = options.request.startedMs + limits.bodyMsMax;
    if (options.request.headers.has("transfer-encoding")) this.#watch();
    res.onData((part, isLast) => this.#take(part, isLast));
  }

  keepOpen(): void {
    this.#res.pause();
    this.#res.resume();
  }

  expired(): void {
    const detail = { seconds: Math.round(this.#limits.bodyMsMax / 1_000) };
    this.#end({ error: new GatewayError("request_timeout", { detail }), rest: "close" });
  }

  abandon(): void {
    this.#over = true;
    if (this.#parts !== null) this.#limits.slowClients.forget(this);
    this.#parts = null;
  }

  /** The sender is turned away in mid-body. What still comes is read past where its end is known. */
  refuse(error: GatewayError): void {
    if (this.#over) return;
    this.#end({ error, rest: this.#options.request.headers.has("transfer-encoding") ? "close" : "ignore" });
  }

  #watch(): Buffer[] {
    this.#limits.slowClients.watch(this);
    const parts: Buffer[] = [];
    this.#parts = parts;
    this.#options.long(this);
    return parts;
  }

  /** uWebSockets takes `part` back when this returns, so it is copied, once. It goes on sending what comes after a refusal. */
  #take(part: ArrayBuffer, isLast: boolean): void {
    if (this.#over) return;
    this.#bytes += part.byteLength;
    const { bodyBytesMax } = this.#options;
    if (this.#bytes > bodyBytesMax) {
      this.#end({ error: tooLarge(bodyBytesMax), rest: "close" });
      return;
    }
    const copy = Buffer.from(new Uint8Array(part));
    if (!isLast) (this.#parts ?? this.#watch()).push(copy);
    else if (!this.#over) this.#end(this.#parts === null ? copy : Buffer.concat([...this.#parts, copy], this.#bytes));
  }

  #end(ending: Buffer | BodyRefusal): void {
    this.abandon();
    this.#options.done(ending);
  }
}
