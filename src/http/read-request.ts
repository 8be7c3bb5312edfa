// Reads a request off a uWebSockets connection before it is gone: the head at once, the body as it comes.
import type { HttpRequest, HttpResponse } from "uWebSockets.js";
import { GatewayError } from "../errors.ts";
import type { Endpoint, GatewayRequest } from "../plan.ts";
import { addressText, clientAddress } from "./client-address.ts";
import type { SlowClient, SlowClients } from "./slow-clients.ts";

/** The request headers that anything in the gateway may read; the rest is dropped here. */
export const KEPT_HEADERS = [
  "authorization",
  "content-type",
  "content-length",
  "content-encoding",
  "transfer-encoding",
  "idempotency-key",
  "x-request-id",
  "x-forwarded-for",
  "host",
  "origin",
  "user-agent",
  "x-tollgate-trace",
  "x-tollgate-keepalive",
  "x-tollgate-sandbox-fault",
] as const;

const NO_BODY = Buffer.alloc(0);
const NO_QUERY = new URLSearchParams();
const NO_PARAMS: Readonly<Record<string, string>> = Object.freeze({});

/** A request while the edge is still filling it in. */
export type RequestDraft = { -readonly [Name in keyof GatewayRequest]: GatewayRequest[Name] };

/**
 * Copies what we keep of a request's head; the native request is dead once its handler has returned. `trustProxy` is the number
 * of proxies believed. Id, start, params and body are left to be filled in.
 */
export function readHead(res: HttpResponse, req: HttpRequest, trustProxy: number): RequestDraft {
  const headers = new Map<string, string>();
  for (const name of KEPT_HEADERS) {
    const value = req.getHeader(name);
    if (value !== "") headers.set(name, value);
  }
  const query = req.getQuery();
  const socketAddress = addressText(res.getRemoteAddress());
  return {
    id: "",
    startedMs: 0,
    method: req.getCaseSensitiveMethod(),
    path: req.getUrl(),
    query: query === "" ? NO_QUERY : new URLSearchParams(query),
    params: NO_PARAMS,
    headers,
    body: NO_BODY,
    address: clientAddress(socketAddress, headers.get("x-forwarded-for") ?? "", trustProxy),
  };
}

/** Whether a request has a body to wait for. A body of a GET means nothing (RFC 9110, 9.3.1) and is not read. */
export function hasBody({ method, headers }: GatewayRequest): boolean {
  if (method === "GET" || method === "HEAD") return false;
  return headers.has("transfer-encoding") || (headers.get("content-length") ?? "0") !== "0";
}

/** A request is not served. `rest` says what happens to the part of its body that has not come yet. */
export interface BodyRefusal {
  readonly error: GatewayError;
  readonly rest: "ignore" | "close";
}

/**
 * What is wrong with a body before a byte of it has come: compressed, not JSON, or announced as too large. A rest of up to the
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
  if (!isJson(type)) {
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

export interface BodyOptions {
  readonly res: HttpResponse;
  readonly bodyBytesMax: number;
  readonly slowClients: SlowClients;
  /** `clock.elapsedMs()` by which the whole body must have come. */
  readonly deadlineMs: number;
  readonly bodyMsMax: number;
  readonly done: (body: Buffer) => void;
  readonly refused: (refusal: BodyRefusal) => void;
}

/** Collects a body. `abandon` must be called when the client leaves; nothing is kept or called after that. */
export class BodyReader implements SlowClient {
  readonly deadlineMs: number;
  readonly #options: BodyOptions;
  #parts: Buffer[] = [];
  #bytes = 0;
  #over = false;

  constructor(options: BodyOptions) {
    this.#options = options;
    this.deadlineMs = options.deadlineMs;
    options.slowClients.watch(this);
    options.res.onData((part, isLast) => this.#take(part, isLast));
  }

  keepOpen(): void {
    this.#options.res.pause();
    this.#options.res.resume();
  }

  expired(): void {
    const detail = { seconds: Math.round(this.#options.bodyMsMax / 1_000) };
    this.#refuse({ error: new GatewayError("request_timeout", { detail }), rest: "close" });
  }

  abandon(): void {
    this.#over = true;
    this.#parts = [];
    this.#options.slowClients.forget(this);
  }

  /** uWebSockets takes `part` back when this returns, so it is copied, once. It goes on sending what comes after a refusal. */
  #take(part: ArrayBuffer, isLast: boolean): void {
    if (this.#over) return;
    this.#bytes += part.byteLength;
    if (this.#bytes > this.#options.bodyBytesMax) {
      this.#refuse({ error: tooLarge(this.#options.bodyBytesMax), rest: "close" });
      return;
    }
    const copy = Buffer.from(new Uint8Array(part));
    if (!isLast) {
      this.#parts.push(copy);
      return;
    }
    const body = this.#parts.length === 0 ? copy : Buffer.concat([...this.#parts, copy], this.#bytes);
    this.abandon();
    this.#options.done(body);
  }

  #refuse(refusal: BodyRefusal): void {
    this.abandon();
    this.#options.refused(refusal);
  }
}
