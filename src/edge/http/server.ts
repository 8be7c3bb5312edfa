// The HTTP edge: listens, reads requests, and passes them to the pipeline with their endpoint.

import { tmpdir } from "node:os";
import type { Clock } from "../../core/clock.ts";
import type { Endpoint, ErrorCodec, GatewayRequest, Reply } from "../../core/endpoint.ts";
import { GatewayError, type HintOf } from "../../core/errors.ts";
import { envelopeErrors } from "../../models/formats/envelope/errors.ts";
import type { AnswerBytes } from "../../platform/limits/answer-bytes.ts";
import type { BodyBytes, BodyShare } from "../../platform/limits/body-bytes.ts";
import type { Certificate } from "./certificate.ts";
import {
  CONNECTION_LIMITS,
  type ConnectionLimits,
  type EdgeSocket,
  type Engine,
  type EngineHost,
  type EngineRequest,
  type EngineResponse,
} from "./engine.ts";
import { HttpReply } from "./http-reply.ts";
import { type MatchEndpoint, matchEndpoint } from "./match-endpoint.ts";
import {
  BARE_HEADERS,
  BODY_HEADERS,
  BodyReader,
  type BodyRefusal,
  COOKIE_HEADERS,
  EdgeRequest,
  handsOn,
  hasBody,
  KEPT_HEADERS,
  refuseBody,
  STREAM_HEADERS,
} from "./read-request.ts";
import { requestIds } from "./request-id.ts";
import { watchSlowClients } from "./slow-clients.ts";
import type { ListedSocket } from "./socket.ts";
import type { SocketReply } from "./socket-reply.ts";
import { type OpenSocket, Sockets, socketPaths } from "./sockets.ts";
import { createBlockPool, StreamBody } from "./stream-body.ts";
import { tickEnd } from "./tick-end.ts";

export interface HttpOptions {
  readonly engine: Engine;
  readonly limits?: ConnectionLimits;
  readonly certificate?: Certificate | null;
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  /** False lets several processes share the port (SO_REUSEPORT). Default true: a taken port is an error. */
  readonly exclusive?: boolean;
  readonly endpoints: readonly Endpoint[];
  /** Answers a request. Errors that it throws become `internal_error`. */
  readonly handle: (request: GatewayRequest, endpoint: Endpoint, reply: Reply) => Promise<void> | void;
  readonly refuse: (request: GatewayRequest, reply: Reply, error: GatewayError, errors: ErrorCodec) => void;
  /**
   * Whether the sender of a long body may continue: called with the first part, and reading pauses until it resolves, so that only a valid
   * key can make us keep megabytes. Null: yes. A rejection is sent to the caller.
   */
  readonly screen: (request: GatewayRequest, endpoint: Endpoint, body: LongBody) => Promise<Screened>;
  /** Whether the sender of a request may open a socket, where its endpoint accepts WebSockets. */
  readonly openSocket: OpenSocket;
  /** The memory limit for long bodies, of all listeners together. */
  readonly bodies: BodyBytes;
  /** The memory limit for answers that wait for their clients. */
  readonly answers: AnswerBytes;
  /** How many proxies in front are trusted for the client's address. */
  readonly trustProxy: number;
  /**
   * Lets web pages of any origin read the answers; `announce` adds the headers of every reply to preflight answers. Null where being on
   * this machine is a credential.
   */
  readonly cors: { readonly announce: (request: GatewayRequest, reply: Reply) => void } | null;
  /** Accepted host names, besides loopback and `host`; null accepts any. Prevents DNS rebinding. */
  readonly allowedHosts: readonly string[] | null;
  /** The hint for an unknown path. Default: the one for callers. */
  readonly unknownPath?: HintOf;
  readonly clock: Clock;
  /** The time limit for a whole request body. Default 30 s. */
  readonly bodyMsMax?: number;
  /** The folder for long bodies that arrive faster than their sender can be paused. Default: the system's folder for temporary files. */
  readonly spillFolder?: string;
  /** How long a client may read nothing of its answer. Default 60 s. */
  readonly stalledMsMax?: number;
  /** How long a socket may be idle. Default 15 min. */
  readonly socketIdleMsMax?: number;
  /** The memory limit for incoming socket messages: an open socket counts as the longest message. Default 1 GiB. */
  readonly socketBytesMax?: number;
  /** How long a socket may be open. Default 60 min, as in Open Responses. */
  readonly socketOpenMsMax?: number;
}

/** A body that does not arrive with its head. */
export interface LongBody {
  readonly share: BodyShare;
  /** Its announced length; null: unknown, and its memory is reserved as it arrives. */
  readonly announced: number | null;
}

export type Screened = GatewayError | null;

export interface HttpServer {
  readonly port: number;
  setCertificate(certificate: Certificate): Promise<void>;
  /** Closes the listening socket. Open requests continue; new ones on open connections are refused with `draining`. */
  stopAccepting(): void;
  /** Closes it where other processes share the port: new requests on open connections are answered, each as the last of its connection. */
  handOver(): void;
  /** Requests that have arrived and whose answer has not completely left. */
  openRequests(): number;
  close(): void;
}

const CORS = "\r\naccess-control-allow-origin: *\r\naccess-control-expose-headers: *";
/** Prevents browsers from taking our JSON for a page. */
const NOSNIFF = "\r\nx-content-type-options: nosniff";
const LOOPBACK_HOSTS = ["127.0.0.1", "localhost", "[::1]"];

/** Rejects if it cannot listen on the address. */
export async function listen(options: HttpOptions): Promise<HttpServer> {
  const edge = new Edge(options);
  const { host, port, exclusive = true, limits = CONNECTION_LIMITS, certificate = null } = options;
  const listener = await options.engine.listen({ host, port, exclusive, limits, certificate }, edge);
  return {
    port: listener.port,
    setCertificate: (next) => listener.setCertificate(next),
    stopAccepting() {
      edge.draining = true;
      edge.refusing = true;
      listener.stop();
      edge.sockets.leave();
    },
    handOver() {
      if (edge.draining) return;
      edge.draining = true;
      // The kernel resets connections that were not accepted yet: close after this turn of the event loop has accepted them.
      setImmediate(() => listener.stop());
      edge.sockets.leave();
    },
    openRequests: () => edge.open,
    close() {
      edge.draining = true;
      edge.refusing = true;
      edge.slowClients.stop();
      listener.close();
    },
  };
}

/** Takes the requests of a listener from the engine to the pipeline. */
export class Edge implements EngineHost {
  readonly blocks = createBlockPool();
  readonly spillFolder: string;
  readonly clock: Clock;
  readonly slowClients: ReturnType<typeof watchSlowClients>;
  readonly answers: AnswerBytes;
  readonly stalledMsMax: number;
  readonly keepAliveLine: string;
  readonly atTickEnd = tickEnd();
  /** Connections close after their answer, because the listener is shutting down. */
  draining = false;
  /** New requests are refused. */
  refusing = false;
  open = 0;
  readonly #options: HttpOptions;
  readonly bodyMsMax: number;
  readonly #match: MatchEndpoint;
  readonly #hosts: ReadonlySet<string> | null;
  readonly #fixedHeaders: string;
  readonly #bareHeaders: ReadonlySet<string>;
  readonly #allHeaders: ReadonlySet<string>;
  readonly newId: () => string;
  readonly bodies: BodyBytes;
  readonly admitSocket: OpenSocket;
  readonly socketPaths: ReadonlyMap<string, Endpoint>;
  readonly socketIdleMsMax: number;
  readonly socketBytesMax: number;
  readonly socketOpenMsMax: number;
  readonly sockets: Sockets;

  constructor(options: HttpOptions) {
    this.#options = options;
    this.clock = options.clock;
    this.answers = options.answers;
    this.newId = requestIds(options.clock);
    this.bodies = options.bodies;
    this.admitSocket = options.openSocket;
    this.socketPaths = socketPaths(options.endpoints);
    this.socketBytesMax = options.socketBytesMax ?? 1_073_741_824;
    this.socketIdleMsMax = options.socketIdleMsMax ?? 15 * 60_000;
    this.socketOpenMsMax = options.socketOpenMsMax ?? 60 * 60_000;
    this.sockets = new Sockets(this);
    this.bodyMsMax = options.bodyMsMax ?? 30_000;
    this.stalledMsMax = options.stalledMsMax ?? 60_000;
    this.keepAliveLine = options.engine.keepAliveLine;
    this.spillFolder = options.spillFolder ?? tmpdir();
    this.slowClients = watchSlowClients(options.clock, Math.min(2_000, this.bodyMsMax / 4, this.stalledMsMax / 4));
    this.#match = matchEndpoint(options.endpoints, options.unknownPath);
    const names = options.allowedHosts;
    this.#hosts = names === null ? null : new Set([...LOOPBACK_HOSTS, options.host.toLowerCase(), ...names]);
    const kept = [...KEPT_HEADERS, ...(names === null ? [] : ["host"])];
    this.#bareHeaders = new Set([...kept, ...BARE_HEADERS]);
    this.#allHeaders = new Set([...kept, ...BODY_HEADERS]);
    this.#fixedHeaders = options.cors === null ? NOSNIFF : CORS + NOSNIFF;
  }

  finished(): void {
    this.open -= 1;
  }

  begun(): void {
    this.open += 1;
  }

  closed(socket: ListedSocket): void {
    this.sockets.closed(socket);
  }

  openSocket(res: EngineResponse, req: EngineRequest, endpoint: Endpoint): EdgeSocket | null {
    return this.sockets.admit(res, req, endpoint);
  }

  unreadable(): { readonly headers: string; readonly body: string } {
    const error = new GatewayError("bad_request", { detail: "The request is not valid HTTP/1.1." });
    const headers = `\r\ncontent-type: application/json${this.#fixedHeaders}\r\nx-request-id: ${this.newId()}`;
    return { headers, body: JSON.stringify(envelopeErrors.body(error)) };
  }

  handle(request: GatewayRequest, endpoint: Endpoint, reply: SocketReply): Promise<void> | void {
    return this.#options.handle(request, endpoint, reply);
  }

  refuse(request: GatewayRequest, reply: Reply, error: GatewayError, endpoint: Endpoint): void {
    this.#options.refuse(request, reply, error, endpoint.errors);
  }

  /** A request to open a socket: it has no body, and later messages may need any of its headers. */
  arrived(
    res: EngineResponse,
    req: EngineRequest,
    endpoint: Endpoint,
  ): { request: EdgeRequest; reply: HttpReply } | null {
    const { request, reply } = this.#arrive(res, req, this.#allHeaders);
    request.path = endpoint.path;
    const refusal = request.fault ?? request.refusal ?? this.#turnAway(request.headers);
    if (refusal === null) return { request, reply };
    reply.closeAfterwards();
    this.refuse(request, reply, refusal, endpoint);
    return null;
  }

  #arrive(res: EngineResponse, req: EngineRequest, bareHeaders: ReadonlySet<string>) {
    this.open += 1;
    const id = this.newId();
    const reply = new HttpReply(res, this, `${this.#fixedHeaders}\r\nx-request-id: ${id}`);
    const request = new EdgeRequest(req, reply, {
      id,
      startedMs: this.clock.elapsedMs(),
      trustProxy: this.#options.trustProxy,
      bareHeaders,
      allHeaders: this.#allHeaders,
    });
    return { request, reply };
  }

  accept(res: EngineResponse, req: EngineRequest): void {
    const { request, reply } = this.#arrive(res, req, this.#bareHeaders);
    if (request.method === "HEAD") reply.withoutBody();
    const { cors, engine } = this.#options;
    // What follows a chunked body may be misread.
    if (request.isLast || (request.isChunked && !engine.isStrict)) reply.closeAfterwards();
    if (request.method === "OPTIONS" && cors !== null && request.fault === null) {
      cors.announce(request, reply);
      preflight(reply, req.getHeader("access-control-request-headers"));
      return;
    }
    const matched = this.#match(request.method, request.path);
    if (request.fault !== null) {
      reply.closeAfterwards();
      this.#options.refuse(
        request,
        reply,
        request.fault,
        "error" in matched ? matched.errors : matched.endpoint.errors,
      );
      return;
    }
    if ("error" in matched) {
      if (matched.allow !== undefined) reply.header("allow", matched.allow);
      this.#options.refuse(request, reply, matched.error, matched.errors);
      return;
    }
    const { endpoint } = matched;
    request.params = matched.params;
    // An Idempotency-Key identifies the same call on either of its paths.
    if (request.path === endpoint.alias) request.path = endpoint.path;
    if ("stream" in endpoint) request.keep(req, STREAM_HEADERS);
    if (endpoint.cookies === true) request.keep(req, COOKIE_HEADERS);
    const turnedAway = request.refusal ?? this.#turnAway(request.headers);
    if (turnedAway !== null) this.#options.refuse(request, reply, turnedAway, endpoint.errors);
    else if (hasBody(request)) this.#readBody(res, request, endpoint, reply);
    else this.#begin(request, endpoint, reply);
  }

  /**
   * Passes a complete request on. Paid work starts after all pending input of its connection was read: a pipelined request makes
   * uWebSockets close the connection, since it does not queue requests, and no caller must be charged for an answer that cannot be sent.
   */
  #begin(request: EdgeRequest, endpoint: Endpoint, reply: HttpReply): void {
    if (!("plan" in endpoint)) this.#handle(request, endpoint, reply);
    else
      this.atTickEnd({
        tickEnded: () => {
          if (reply.closed) request.share?.close();
          else this.#handle(request, endpoint, reply);
        },
      });
  }

  /** Why any request is refused: we are draining, or it names a host that is not ours. */
  #turnAway(headers: ReadonlyMap<string, string>): GatewayError | null {
    if (this.refusing) return new GatewayError("draining", { retryAfterSeconds: 1 });
    if (this.#hosts === null) return null;
    const host = (headers.get("host") ?? "").toLowerCase().replace(/:\d+$/, "");
    if (this.#hosts.has(host)) return null;
    return new GatewayError("bad_request", { detail: "The Host header names a host that is not served here." });
  }

  #readBody(res: EngineResponse, request: EdgeRequest, endpoint: Endpoint, reply: HttpReply): void {
    const done = (ending: Buffer | BodyRefusal): void => {
      // The body reader has nothing left to release, and a stream's answer may take long.
      reply.whileReading(null);
      if (!("error" in ending)) {
        request.body = ending;
        this.#begin(request, endpoint, reply);
        return;
      }
      if (ending.rest === "close") reply.closeAfterwards();
      this.#options.refuse(request, reply, ending.error, endpoint.errors);
    };
    const refusal = refuseBody(request.headers, endpoint);
    if (refusal !== null) done(refusal);
    else if (handsOn(endpoint)) {
      const body = new StreamBody(res, request, this);
      request.incoming = body;
      reply.whileReading(body);
      this.#handle(request, endpoint, reply);
    } else {
      const long = (reader: BodyReader): void => this.#screen(reader, request, endpoint);
      reply.whileReading(new BodyReader(res, this, { request, bodyBytesMax: endpoint.bodyBytesMax, long, done }));
    }
  }

  #screen(reader: BodyReader, request: EdgeRequest, endpoint: Endpoint): void {
    const share = this.bodies.open();
    request.share = share;
    const length = request.headers.get("content-length");
    reader.hold();
    this.#options.screen(request, endpoint, { share, announced: length === undefined ? null : Number(length) }).then(
      (screened) => reader.goOn(screened),
      (cause) => reader.goOn(cause instanceof GatewayError ? cause : new GatewayError("internal_error", { cause })),
    );
  }

  #handle(request: EdgeRequest, endpoint: Endpoint, reply: HttpReply): void {
    const { share } = request;
    try {
      const served = this.#options
        .handle(request, endpoint, reply)
        ?.catch((cause: unknown) => this.#broke(request, endpoint, reply, cause));
      if (share !== null) Promise.resolve(served).then(() => share.close());
    } catch (cause) {
      share?.close();
      this.#broke(request, endpoint, reply, cause);
    }
  }

  #broke(request: GatewayRequest, endpoint: Endpoint, reply: HttpReply, cause: unknown): void {
    if (reply.closed) return;
    if (reply.begun) reply.cut();
    else this.#options.refuse(request, reply, new GatewayError("internal_error", { cause }), endpoint.errors);
  }
}

/** Tells a browser that pages of any origin may send their requests (Fetch standard, CORS preflight). */
function preflight(reply: Reply, requestedHeaders: string): void {
  reply.header("access-control-allow-methods", "GET, POST, PUT, PATCH, DELETE");
  // Clients send headers that we do not know, such as an SDK's version; refusing them would protect nothing.
  reply.header("access-control-allow-headers", requestedHeaders.slice(0, 2_000) || "authorization, content-type");
  reply.header("access-control-max-age", "86400");
  // With a small body: without one nothing shows whether the answer is read, and it would be kept for a client that never reads.
  reply.send(200, "{}");
}
