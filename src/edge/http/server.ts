// The HTTP edge: listens, reads requests, and hands them to the pipeline with the endpoint they are for.

import { tmpdir } from "node:os";
import type { Clock } from "../../core/clock.ts";
import type { Endpoint, ErrorCodec, GatewayRequest, Reply } from "../../core/endpoint.ts";
import { GatewayError, type HintOf } from "../../core/errors.ts";
import { envelopeErrors } from "../../models/formats/envelope/errors.ts";
import type { AnswerBytes } from "../../platform/limits/answer-bytes.ts";
import type { BodyBytes, BodyShare } from "../../platform/limits/body-bytes.ts";
import { type BlockPool, createBlockPool } from "./block-pool.ts";
import type { Certificate } from "./certificate.ts";
import {
  CONNECTION_LIMITS,
  type ConnectionLimits,
  type Engine,
  type EngineHost,
  type EngineRequest,
  type EngineResponse,
} from "./engine.ts";
import { HttpReply } from "./http-reply.ts";
import { type Match, type MatchEndpoint, matchEndpoint } from "./match-endpoint.ts";
import { preflight } from "./preflight.ts";
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
import type { ReplyHost } from "./reply-host.ts";
import { requestIds } from "./request-id.ts";
import { type SlowClients, watchSlowClients } from "./slow-clients.ts";
import type { Socket } from "./socket.ts";
import type { SocketReply } from "./socket-reply.ts";
import { type OpenSocket, Sockets, type SocketsHost, socketPaths } from "./sockets.ts";
import { StreamBody, type StreamLimits } from "./stream-body.ts";
import { tickEnd } from "./tick-end.ts";

export interface HttpOptions {
  readonly engine: Engine;
  readonly limits?: ConnectionLimits;
  /** Left out: without TLS. */
  readonly certificate?: Certificate | null;
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** False lets several processes share the port (SO_REUSEPORT). Default true: a taken port is an error. */
  readonly exclusive?: boolean;
  readonly endpoints: readonly Endpoint[];
  /** Answers a request. What it throws is told as `internal_error`. */
  readonly handle: (request: GatewayRequest, endpoint: Endpoint, reply: Reply) => Promise<void> | void;
  /** Answers a request that the edge itself turns away. */
  readonly refuse: (request: GatewayRequest, reply: Reply, error: GatewayError, errors: ErrorCodec) => void;
  /**
   * Whether the sender of a long body may go on: asked when the first part has come, and nothing more is read until it is answered, so that
   * only a good key makes us keep megabytes. Null: yes. What it rejects with is told.
   */
  readonly screen: (request: GatewayRequest, endpoint: Endpoint, body: LongBody) => Promise<Screened>;
  /** Whether the sender of a request may open a socket, where its endpoint is asked over one. */
  readonly openSocket: OpenSocket;
  /** What long bodies may take of memory, at all listeners together. */
  readonly bodies: BodyBytes;
  /** What answers that wait for their clients may take of it. */
  readonly answers: AnswerBytes;
  /** How many proxies in front are believed for the client's address. */
  readonly trustProxy: number;
  /**
   * Lets web pages of any origin read the answers; `announce` gives the answers that only say so the headers of every reply. Null where
   * being on this machine is a credential.
   */
  readonly cors: { readonly announce: (request: GatewayRequest, reply: Reply) => void } | null;
  /** Host names that requests may name, besides loopback and `host`; null takes any. Stops pages that rebind their own name to us. */
  readonly allowedHosts: readonly string[] | null;
  /** Which hint a path gets at which nothing is served. Default: callers'. */
  readonly unknownPath?: HintOf;
  readonly clock: Clock;
  /** How long a whole request body may take. Default 30 s. */
  readonly bodyMsMax?: number;
  /** Where long bodies wait that come faster than they can be held back. Default: the system's folder for such files. */
  readonly spillFolder?: string;
  /** How long a client may read nothing of its answer. Default 60 s. */
  readonly stalledMsMax?: number;
  /** How long a socket may rest. Default 15 min. */
  readonly socketIdleMsMax?: number;
  /** What the messages that are coming in over sockets may take together: an open one counts as the longest. Default 1 GiB. */
  readonly socketBytesMax?: number;
  /** How long it may be open. Default 60 min, as Open Responses has it. */
  readonly socketOpenMsMax?: number;
}

/** A body that does not come with its head. */
export interface LongBody {
  readonly share: BodyShare;
  /** How long it will be; null: it is not known, and it takes its share as it comes. */
  readonly announced: number | null;
}

/** Why a request is turned away, or null. */
export type Screened = GatewayError | null;

export interface HttpServer {
  readonly port: number;
  /** Serves new connections with another certificate. */
  setCertificate(certificate: Certificate): Promise<void>;
  /** Closes the listening socket. Open requests go on; new ones on open connections are told `draining`. */
  stopAccepting(): void;
  /** Closes it where other processes share the port: new requests on open connections are answered, each as the last of its connection. */
  handOver(): void;
  /** Requests that have arrived and whose answer has not wholly left. */
  openRequests(): number;
  /** Breaks every connection. */
  close(): void;
}

const CORS = "\r\naccess-control-allow-origin: *\r\naccess-control-expose-headers: *";
/** No browser guesses that what we call JSON is a page. */
const NOSNIFF = "\r\nx-content-type-options: nosniff";
const LOOPBACK_HOSTS = ["127.0.0.1", "localhost", "[::1]"];

/** Rejects if the address cannot be had. */
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
      // The kernel resets connections that wait to be accepted: close when this turn of the event loop has taken those that did.
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

/** Takes the requests of one listener from their first line to the pipeline. */
class Edge implements EngineHost, ReplyHost, StreamLimits, SocketsHost {
  readonly blocks: BlockPool = createBlockPool();
  readonly spillFolder: string;
  readonly clock: Clock;
  readonly slowClients: SlowClients;
  readonly answers: AnswerBytes;
  readonly stalledMsMax: number;
  readonly keepAliveLine: string;
  readonly atTickEnd = tickEnd();
  draining = false;
  /** New requests are turned away. */
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

  closed(socket: Socket): void {
    this.sockets.closed(socket);
  }

  openSocket(res: EngineResponse, req: EngineRequest, endpoint: Endpoint): Socket | null {
    return this.sockets.admit(res, req, endpoint);
  }

  unreadable(): { readonly headers: string; readonly body: string } {
    const error = new GatewayError("bad_request", { detail: { detail: "The request is not valid HTTP/1.1." } });
    const headers = `\r\ncontent-type: application/json${this.#fixedHeaders}\r\nx-request-id: ${this.newId()}`;
    return { headers, body: JSON.stringify(envelopeErrors.body(error)) };
  }

  handle(request: GatewayRequest, endpoint: Endpoint, reply: SocketReply): Promise<void> | void {
    return this.#options.handle(request, endpoint, reply);
  }

  refuse(request: GatewayRequest, reply: Reply, error: GatewayError, endpoint: Endpoint): void {
    this.#options.refuse(request, reply, error, endpoint.errors);
  }

  /** A request to open a socket: it has no body, and what is said on the socket later may need any header of it. */
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
    // What stands behind such a body may have been misread.
    if (request.isChunked && !engine.isStrict) reply.closeAfterwards();
    if (request.method === "OPTIONS" && cors !== null && request.fault === null) {
      cors.announce(request, reply);
      preflight(reply, req.getHeader("access-control-request-headers"));
      return;
    }
    const matched = this.#match(request.method, request.path);
    if (request.fault !== null) {
      reply.closeAfterwards();
      this.#options.refuse(request, reply, request.fault, errorsOf(matched));
      return;
    }
    if ("error" in matched) {
      if (matched.allow !== undefined) reply.header("allow", matched.allow);
      this.#options.refuse(request, reply, matched.error, matched.errors);
      return;
    }
    const { endpoint } = matched;
    request.params = matched.params;
    // An Idempotency-Key counts for what is asked, whichever of its two paths that came by.
    if (request.path === endpoint.alias) request.path = endpoint.path;
    if ("stream" in endpoint) request.keep(req, STREAM_HEADERS);
    if (endpoint.cookies === true) request.keep(req, COOKIE_HEADERS);
    const turnedAway = request.refusal ?? this.#turnAway(request.headers);
    if (turnedAway !== null) this.#options.refuse(request, reply, turnedAway, endpoint.errors);
    else if (hasBody(request)) this.#readBody(res, request, endpoint, reply);
    else this.#begin(request, endpoint, reply);
  }

  /**
   * Hands a whole request on. What costs begins when all that has come on its connection has been read: another request right behind it
   * ends the connection, since uWebSockets keeps none for later, and no caller is to be charged for an answer that cannot be sent.
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

  /** What speaks against any request at all: we are leaving, or it names a host that is not ours. */
  #turnAway(headers: ReadonlyMap<string, string>): GatewayError | null {
    if (this.refusing) return new GatewayError("draining", { retryAfterSeconds: 1 });
    if (this.#hosts === null) return null;
    const host = (headers.get("host") ?? "").toLowerCase().replace(/:\d+$/, "");
    if (this.#hosts.has(host)) return null;
    return new GatewayError("bad_request", {
      detail: { detail: "The Host header names a host that is not served here." },
    });
  }

  #readBody(res: EngineResponse, request: EdgeRequest, endpoint: Endpoint, reply: HttpReply): void {
    const done = (ending: Buffer | BodyRefusal): void => {
      // Its reader has nothing left to let go, and a stream's answer may be long in coming.
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

function errorsOf(matched: Match): ErrorCodec {
  return "error" in matched ? matched.errors : matched.endpoint.errors;
}
