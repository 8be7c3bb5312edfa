// What the edge needs of an HTTP server. The interfaces are those of uWebSockets.js, so that engine needs no wrapper.
import type { Endpoint } from "../../core/endpoint.ts";
import type { Certificate } from "./certificate.ts";

export type EngineName = "uws" | "node";

/** The head of a request. Valid only until its handler returns. */
export interface EngineRequest {
  getCaseSensitiveMethod(): string;
  getUrl(): string;
  /** Undefined where the target has no question mark, although uWebSockets.js' types say otherwise. */
  getQuery(): string | undefined;
  /** Empty if the request does not have the header. */
  getHeader(lowerCaseName: string): string;
  forEach(see: (lowerCaseName: string, value: string) => void): void;
}

/** A response, and the body of its request. Must not be used after it has ended or was aborted. */
export interface EngineResponse {
  onAborted(handler: () => void): unknown;
  /** `part` is valid only during the call. */
  onData(handler: (part: ArrayBuffer | Uint8Array, isLast: boolean) => void): unknown;
  /** Called when the client can take data again after a write that it could not. */
  onWritable(handler: (offset: number) => boolean): unknown;
  pause(): unknown;
  resume(): unknown;
  /** Sends what `write` writes in as few system calls as possible. */
  cork(write: () => void): unknown;
  /** Status line and headers, without `HTTP/1.1` and the last line break. */
  writeStatus(head: string): unknown;
  /** Always accepts `bytes`. False: the client cannot take more. */
  write(bytes: Uint8Array | string): boolean;
  /** Accepts what the client can take. `ok`: it accepted all. `done`: that completes the answer of `bytesTotal`. */
  tryEnd(bytes: Uint8Array | string, bytesTotal: number): [ok: boolean, done: boolean];
  /** How much of the body was accepted so far. */
  getWriteOffset(): number;
  end(bytes?: Uint8Array | string, closesConnection?: boolean): unknown;
  endWithoutBody(): unknown;
  close(): unknown;
  /** In binary or as text; empty once the connection has closed. */
  getRemoteAddress(): ArrayBuffer | string;
}

export interface EngineSocket {
  cork(write: () => void): unknown;
  send(message: Uint8Array | string, isBinary: boolean): unknown;
  getBufferedAmount(): number;
  end(code: number, reason: string): unknown;
  close(): unknown;
}

/** The edge's side of a WebSocket, as engines call it. */
export interface EdgeSocket {
  opened(ws: EngineSocket): void;
  /** `bytes` are valid only during the call. */
  message(bytes: ArrayBuffer | Uint8Array, isBinary: boolean): void;
  drained(): void;
  gone(): void;
  readonly messageBytesMax: number;
  /** The value for `sec-websocket-protocol`; empty: none. */
  protocolOf(offered: string): string;
}

/** While a message arrives, a socket uses its connection's memory, so the limit is lower than for a body. */
export const MESSAGE_BYTES_MAX = 4 * 1024 * 1024;
/** Sessions are many, and their messages short. */
export const SESSION_MESSAGE_BYTES_MAX = 2 * 1024 * 1024;

export function messageBytesMaxOf({ overSession }: Endpoint): number {
  return overSession === undefined ? MESSAGE_BYTES_MAX : SESSION_MESSAGE_BYTES_MAX;
}

export interface EngineHost {
  accept(res: EngineResponse, req: EngineRequest): void;
  readonly socketPaths: ReadonlyMap<string, Endpoint>;
  /** The answer to a request that the engine's parser refuses: headers, each as `\r\nname: value`, and body. */
  unreadable(): { readonly headers: string; readonly body: string };
  /** Admits an upgrade, or answers it and returns null. */
  openSocket(res: EngineResponse, req: EngineRequest, endpoint: Endpoint): EdgeSocket | null;
}

/** Limits on connections. Those of uWebSockets.js are fixed. */
export interface ConnectionLimits {
  /** Open connections per address; 0: unlimited. */
  readonly connectionsPerAddress: number;
  readonly requestsPerConnection: number;
  readonly headerMsMax: number;
  /** How long a connection may be idle between two requests. */
  readonly idleMsMax: number;
}

export const CONNECTION_LIMITS: ConnectionLimits = {
  connectionsPerAddress: 0,
  requestsPerConnection: 10_000,
  headerMsMax: 10_000,
  idleMsMax: 65_000,
};

export interface EngineOptions {
  readonly host: string;
  readonly port: number;
  readonly exclusive: boolean;
  readonly limits: ConnectionLimits;
  readonly certificate: Certificate | null;
}

export interface Listener {
  readonly port: number;
  /** Uses another certificate for new connections; rejects if it cannot. */
  setCertificate(certificate: Certificate): Promise<void>;
  stop(): void;
  close(): void;
}

export interface Engine {
  readonly name: EngineName;
  /** Its parser accepts only body framing that conforms to RFC 9112, so another request may follow a chunked body. */
  readonly isStrict: boolean;
  /** The header for a keep-alive time that the engine fixes, as `\r\nkeep-alive: ...`; empty where the engine sends its own. */
  readonly keepAliveLine: string;
  /** Rejects if it cannot listen on the address. */
  listen(options: EngineOptions, host: EngineHost): Promise<Listener>;
}

/** Copies bytes whose memory the engine reuses. */
export function copyOf(bytes: ArrayBuffer | Uint8Array): Buffer {
  return Buffer.from(bytes instanceof ArrayBuffer ? new Uint8Array(bytes) : bytes);
}

export function cannotListen({ host, port }: EngineOptions): Error {
  return new Error(`cannot listen on ${host} port ${port}: taken, not allowed, or not of this machine`);
}
