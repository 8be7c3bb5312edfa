// The sockets of a listener: who may open one, how many per account, and how they end with it.

import type { Endpoint, GatewayRequest, OverSession } from "../../core/endpoint.ts";
import { GatewayError, refusalIn } from "../../core/errors.ts";
import { tally } from "../../core/tally.ts";
import { type EdgeSocket, type EngineRequest, type EngineResponse, messageBytesMaxOf } from "./engine.ts";
import type { EdgeRequest } from "./read-request.ts";
import type { Edge } from "./server.ts";
import { SessionSocket } from "./session-socket.ts";
import { type ListedSocket, Socket, type SocketOwner } from "./socket.ts";
import { socketMemories } from "./socket-memory.ts";

/** Per account, independent of its calls in flight. */
const ACCOUNT_SOCKETS_MAX = 16;
/** Until some may have closed. */
const FULL_SECONDS = 5;

/** Throws or rejects where the sender of a request may not open a socket; synchronous where no look-up is needed. */
export type OpenSocket = (request: GatewayRequest, endpoint: Endpoint) => SocketOwner | Promise<SocketOwner>;

export function socketPaths(endpoints: readonly Endpoint[]): ReadonlyMap<string, Endpoint> {
  const paths = new Map<string, Endpoint>();
  for (const endpoint of endpoints) {
    if (endpoint.overSocket === undefined && endpoint.overSession === undefined) continue;
    for (const path of [endpoint.path, endpoint.alias]) if (path !== undefined) paths.set(path, endpoint);
  }
  return paths;
}

/** The key among the offered subprotocols; empty: none. */
function keyIn(offered: string, { keyProtocol }: OverSession): string {
  const carrier = offered.split(",").find((protocol) => protocol.trim().startsWith(keyProtocol));
  return carrier?.trim().slice(keyProtocol.length) ?? "";
}

export class Sockets {
  readonly #host: Edge;
  readonly #open = new Map<ListedSocket, number>();
  #bytesMax = 0;
  readonly #byAccount = new Map<string, number>();
  readonly #newMemory = socketMemories();

  constructor(host: Edge) {
    this.#host = host;
  }

  closed(socket: ListedSocket): void {
    this.#bytesMax -= this.#open.get(socket) ?? 0;
    this.#open.delete(socket);
    if (socket.accountId !== null) tally(this.#byAccount, socket.accountId, -1);
  }

  /** Tells idle sockets to reconnect, and the others after their answer. */
  leave(): void {
    for (const socket of [...this.#open.keys()]) socket.leave();
  }

  /** Admits an upgrade; null if it was refused. If the key must be looked up, the socket opens first and a refusal is sent over it. */
  admit(res: EngineResponse, req: EngineRequest, endpoint: Endpoint): EdgeSocket | null {
    const host = this.#host;
    const { overSession } = endpoint;
    const arrived = host.arrived(res, req, endpoint);
    if (arrived === null) return null;
    const { request, reply } = arrived;
    if (overSession !== undefined) request.useKey(keyIn(req.getHeader("sec-websocket-protocol"), overSession));
    let owner: SocketOwner | Promise<SocketOwner>;
    try {
      this.#requireRoom(endpoint);
      owner = host.admitSocket(request, endpoint);
      if (!(owner instanceof Promise)) this.#count(owner);
    } catch (error) {
      host.refuse(request, reply, refusalIn(error), endpoint);
      return null;
    }
    const socket = this.#make(request, endpoint);
    reply.handOver();
    this.#open.set(socket, messageBytesMaxOf(endpoint));
    this.#bytesMax += messageBytesMaxOf(endpoint);
    if (owner instanceof Promise) void this.#lookUp(socket, owner);
    else socket.admitted(owner);
    return socket;
  }

  #make({ id, headers, query, params, address }: EdgeRequest, endpoint: Endpoint): EdgeSocket & ListedSocket {
    const { overSocket, overSession } = endpoint;
    const common = { host: this.#host, endpoint, opening: { id, headers, query, params, address } };
    if (overSession !== undefined) return new SessionSocket({ ...common, form: overSession });
    if (overSocket === undefined) throw new Error("only paths of sockets are upgraded");
    return new Socket({ ...common, form: overSocket }, this.#newMemory());
  }

  async #lookUp(socket: ListedSocket, finding: Promise<SocketOwner>): Promise<void> {
    try {
      const owner = await finding;
      if (!this.#open.has(socket)) return;
      this.#count(owner);
      socket.admitted(owner);
    } catch (cause) {
      if (!this.#open.has(socket)) return;
      socket.refuse(cause instanceof GatewayError ? cause : new GatewayError("internal_error", { cause }));
    }
  }

  /**
   * uWebSockets buffers a message until it is complete, and does not report how much it has. So an open socket counts as the longest
   * message, and memory limits their number.
   */
  #requireRoom(endpoint: Endpoint): void {
    const { socketBytesMax } = this.#host;
    if (this.#bytesMax + messageBytesMaxOf(endpoint) <= socketBytesMax) return;
    const detail = { whose: "All", limit_mib: Math.floor(socketBytesMax / 1_048_576) };
    throw new GatewayError("bodies_in_flight", { of: "socket", detail, retryAfterSeconds: FULL_SECONDS });
  }

  /** Counts the socket against its account. Throws where that has too many. */
  #count({ accountId, socketsMax }: SocketOwner): void {
    const limit = Math.min(socketsMax, ACCOUNT_SOCKETS_MAX);
    if ((this.#byAccount.get(accountId) ?? 0) >= limit)
      throw new GatewayError("too_many_streams", { of: "socket", detail: { limit } });
    tally(this.#byAccount, accountId, 1);
  }
}
