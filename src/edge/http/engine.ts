// What the edge needs of an HTTP server. The interfaces are those of uWebSockets.js, so that engine needs no wrapper.
import type { Endpoint } from "../../core/endpoint.ts";
import type { Certificate } from "./certificate.ts";
import type { Socket } from "./socket.ts";

export type EngineName = "uws" | "node";

/** The head of a request. Valid only until its handler returns. */
export interface EngineRequest {
  getCaseSensitiveMethod(): string;
  getUrl(): string;
  /** Undefined where the target has no question mark, whatever the types of uWebSockets.js say. */
  getQuery(): string | undefined;
  /** Empty if the request has no such header. */
  getHeader(lowerCaseName: string): string;
  forEach(see: (lowerCaseName: string, value: string) => void): void;
}

/** A response, and the body of its request. Not to be touched after it has ended or was aborted. */
export interface EngineResponse {
  onAborted(handler: () => void): unknown;
  /** `part` is valid only during the call. */
  onData(handler: (part: ArrayBuffer | Uint8Array, isLast: boolean) => void): unknown;
  /** Called when the client has room again after a write that found none. */
  onWritable(handler: (offset: number) => boolean): unknown;
  /** Stops reading from the client. */
  pause(): unknown;
  resume(): unknown;
  /** Sends what `write` writes in as few system calls as possible. */
  cork(write: () => void): unknown;
  /** Status line and headers, without `HTTP/1.1` and the last line break. */
  writeStatus(head: string): unknown;
  /** Takes `bytes` in any case. False: the client has no room. */
  write(bytes: Uint8Array | string): boolean;
  /** Takes as much as the client has room for. `ok`: all of it was taken. `done`: with it, the answer of `bytesTotal` is complete. */
  tryEnd(bytes: Uint8Array | string, bytesTotal: number): [ok: boolean, done: boolean];
  /** How much of the body was taken so far. */
  getWriteOffset(): number;
  end(bytes?: Uint8Array | string, closesConnection?: boolean): unknown;
  endWithoutBody(): unknown;
  /** Breaks the connection. */
  close(): unknown;
  /** In binary or as text; empty once the connection has gone. */
  getRemoteAddress(): ArrayBuffer | string;
}

/** An open WebSocket. */
export interface EngineSocket {
  cork(write: () => void): unknown;
  send(message: Uint8Array | string, isBinary: boolean): unknown;
  getBufferedAmount(): number;
  /** Closes with a code and a reason. */
  end(code: number, reason: string): unknown;
  /** Breaks the connection. */
  close(): unknown;
}

/** The edge, as an engine calls it. */
export interface EngineHost {
  accept(res: EngineResponse, req: EngineRequest): void;
  /** The endpoint at `path` that takes WebSockets. */
  readonly socketPaths: ReadonlyMap<string, Endpoint>;
  /** The answer to a request that the engine's parser refuses: headers, each as `\r\nname: value`, and body. */
  unreadable(): { readonly headers: string; readonly body: string };
  /** Admits an upgrade, or answers it and returns null. */
  openSocket(res: EngineResponse, req: EngineRequest, endpoint: Endpoint): Socket | null;
}

/** Bounds on connections. uWebSockets.js has its own, which cannot be set. */
export interface ConnectionLimits {
  /** Connections that one address may have open; 0: any number. */
  readonly connectionsPerAddress: number;
  readonly requestsPerConnection: number;
  /** How long the head of a request may take. */
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
  /** Null: without TLS. */
  readonly certificate: Certificate | null;
}

export interface Listener {
  readonly port: number;
  /** Serves new connections with another certificate; rejects if it cannot. */
  setCertificate(certificate: Certificate): Promise<void>;
  /** Closes the listening socket and leaves connections open. */
  stop(): void;
  /** Breaks every connection. */
  close(): void;
}

export interface Engine {
  readonly name: EngineName;
  /** Its parser takes a body's framing as RFC 9112 says and nothing else, so a chunked body may be followed by another request. */
  readonly isStrict: boolean;
  /** Announces a keep-alive time that the engine fixes, as `\r\nkeep-alive: ...`; empty where the engine announces its own. */
  readonly keepAliveLine: string;
  /** Rejects if the address cannot be had. */
  listen(options: EngineOptions, host: EngineHost): Promise<Listener>;
}

/** A copy of bytes that the engine takes back. */
export function copyOf(bytes: ArrayBuffer | Uint8Array): Buffer {
  return Buffer.from(bytes instanceof ArrayBuffer ? new Uint8Array(bytes) : bytes);
}

export function cannotListen({ host, port }: EngineOptions): Error {
  return new Error(`cannot listen on ${host} port ${port}: taken, not allowed, or not of this machine`);
}
