// The sockets of a listener: who may open one, how many an account may have open, and that all of them end with it.
import type { Endpoint, GatewayRequest, Reply } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import type { EngineRequest, EngineResponse } from "./engine.ts";
import type { HttpReply } from "./http-reply.ts";
import type { EdgeRequest } from "./read-request.ts";
import { MESSAGE_BYTES_MAX, Socket, type SocketHost, type SocketOwner } from "./socket.ts";
import { socketMemories } from "./socket-memory.ts";

/** Of one account, whatever calls it may have in flight. */
const ACCOUNT_SOCKETS_MAX = 16;
/** When some may have closed. */
const FULL_SECONDS = 5;

/** Says whether the sender of a request may open a socket; at once where nothing has to be looked up for that. */
export type OpenSocket = (
  request: GatewayRequest,
  endpoint: Endpoint,
) => SocketOwner | GatewayError | Promise<SocketOwner | GatewayError>;

export interface SocketsHost extends SocketHost {
  /** Reads the head of a request, and refuses it where anything speaks against it; null: it has been answered. */
  arrived(
    res: EngineResponse,
    req: EngineRequest,
    endpoint: Endpoint,
  ): { request: EdgeRequest; reply: HttpReply } | null;
  readonly admitSocket: OpenSocket;
  readonly socketBytesMax: number;
  refuse(request: GatewayRequest, reply: Reply, error: GatewayError, endpoint: Endpoint): void;
}

/** The paths that take WebSockets. */
export function socketPaths(endpoints: readonly Endpoint[]): ReadonlyMap<string, Endpoint> {
  const paths = new Map<string, Endpoint>();
  for (const endpoint of endpoints) {
    if (endpoint.overSocket === undefined) continue;
    for (const path of [endpoint.path, endpoint.alias]) if (path !== undefined) paths.set(path, endpoint);
  }
  return paths;
}

export class Sockets {
  readonly #host: SocketsHost;
  readonly #open = new Set<Socket>();
  readonly #byAccount = new Map<string, number>();
  readonly #newMemory = socketMemories();

  constructor(host: SocketsHost) {
    this.#host = host;
  }

  closed(socket: Socket): void {
    this.#open.delete(socket);
    if (socket.accountId !== null) this.#count(socket.accountId, -1);
  }

  /** Those that rest are told to connect again, the others when they have been answered. */
  leave(): void {
    for (const socket of [...this.#open]) socket.leave();
  }

  #count(accountId: string, by: number): void {
    const now = (this.#byAccount.get(accountId) ?? 0) + by;
    if (now === 0) this.#byAccount.delete(accountId);
    else this.#byAccount.set(accountId, now);
  }

  /** Admits an upgrade; null if it was refused. If the key has to be looked up, the socket opens first and a refusal is sent over it. */
  admit(res: EngineResponse, req: EngineRequest, endpoint: Endpoint): Socket | null {
    const host = this.#host;
    const form = endpoint.overSocket;
    const arrived = host.arrived(res, req, endpoint);
    if (arrived === null || form === undefined) return null;
    const { request, reply } = arrived;
    const owner = this.#full() ?? host.admitSocket(request, endpoint);
    const known = owner instanceof Promise ? null : this.#admitted(owner);
    if (known instanceof GatewayError) {
      host.refuse(request, reply, known, endpoint);
      return null;
    }
    const { id, headers, query, params, address } = request;
    const socket = new Socket({
      host,
      endpoint,
      form,
      memory: this.#newMemory(),
      opening: { id, headers, query, params, address },
    });
    reply.handOver();
    this.#open.add(socket);
    if (known !== null) socket.admitted(known);
    else void this.#lookUp(socket, owner);
    return socket;
  }

  async #lookUp(socket: Socket, owner: ReturnType<OpenSocket>): Promise<void> {
    const broke = (cause: unknown) =>
      cause instanceof GatewayError ? cause : new GatewayError("internal_error", { cause });
    const found = await Promise.resolve(owner).catch(broke);
    if (!this.#open.has(socket)) return;
    const admitted = this.#admitted(found);
    if (admitted instanceof GatewayError) socket.refuse(admitted);
    else socket.admitted(admitted);
  }

  /**
   * uWebSockets keeps what has come of a message until all of it is there, and does not tell how much that is. So an open socket counts
   * as the longest message that may come over it, and there are no more than memory can bear.
   */
  #full(): GatewayError | null {
    const { socketBytesMax } = this.#host;
    if ((this.#open.size + 1) * MESSAGE_BYTES_MAX <= socketBytesMax) return null;
    const detail = { whose: "All", limit_mib: Math.floor(socketBytesMax / 1_048_576) };
    return new GatewayError("bodies_in_flight", { of: "socket", detail, retryAfterSeconds: FULL_SECONDS });
  }

  /** Counts the socket as its account's, or says why there is none. */
  #admitted(owner: SocketOwner | GatewayError): SocketOwner | GatewayError {
    if (owner instanceof GatewayError) return owner;
    const { accountId } = owner;
    const socketsMax = Math.min(owner.socketsMax, ACCOUNT_SOCKETS_MAX);
    if ((this.#byAccount.get(accountId) ?? 0) >= socketsMax)
      return new GatewayError("too_many_streams", { of: "socket", detail: { limit: socketsMax } });
    this.#count(accountId, 1);
    return owner;
  }
}
