// Keeps a spare connection to a vendor in use, so that no first token waits for a handshake of two or three round trips.
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { buildConnector } from "undici";
import type { Clock } from "../core/clock.ts";

/** Vendors close silent connections after a minute or less, so the spare one is replaced earlier. */
const SPARE_MS_MAX = 25_000;
/** How long a vendor counts as in use after a call's connection was opened or closed. */
const IN_USE_MS = 300_000;

/** Whether the handshake negotiated HTTP/2. */
export function speaksHttp2(socket: Socket | TLSSocket): boolean {
  return "alpnProtocol" in socket && socket.alpnProtocol === "h2";
}

/** At most one per origin, for HTTP/1.1: with HTTP/2 the next call shares the connection. Its failure does not count against the vendor. */
export class SpareConnection {
  readonly #connector: buildConnector.connector;
  readonly #clock: Clock;
  #ready: Socket | null = null;
  #isOpening = false;
  #isClosed = false;
  #usedMs = 0;
  #renewal: NodeJS.Timeout | null = null;
  #lastOptions: buildConnector.Options | null = null;

  constructor(connector: buildConnector.connector, clock: Clock) {
    this.#connector = connector;
    this.#clock = clock;
  }

  /** The connector for undici: hands out the spare connection if it is ready, and then opens the next one. */
  readonly connect: buildConnector.connector = (options, callback) => {
    const spare = this.#take(options);
    if (spare === null) {
      return this.#connector(options, (...outcome) => {
        const [error, socket] = outcome;
        if (error === null) this.#lend(socket, options);
        callback(...outcome);
      });
    }
    this.#lend(spare, options);
    // undici sends nothing on a connection that it gets synchronously.
    queueMicrotask(() => callback(null, spare));
  };

  close(): void {
    this.#isClosed = true;
    this.#drop();
  }

  #lend(socket: Socket, options: buildConnector.Options): void {
    if (speaksHttp2(socket)) return;
    const used = () => {
      this.#usedMs = this.#clock.elapsedMs();
      this.#lastOptions = options;
      this.#open();
    };
    socket.once("close", used);
    used();
  }

  #open(): void {
    const options = this.#lastOptions;
    if (options === null || this.#isClosed || this.#isOpening || this.#renewal !== null) return;
    this.#isOpening = true;
    this.#renewal = setTimeout(() => this.#renew(), SPARE_MS_MAX).unref();
    this.#connector(options, (...[error, socket]) => {
      this.#isOpening = false;
      if (error !== null) return;
      if (this.#isClosed || speaksHttp2(socket)) return void socket.destroy();
      this.#keep(socket);
    });
  }

  #keep(socket: Socket): void {
    socket.unref();
    // Read, because otherwise the socket's end would go unnoticed. An HTTP/1.1 server sends nothing before a request.
    socket.on("data", endOf);
    socket.once("close", () => {
      if (this.#ready === socket) this.#ready = null;
    });
    this.#ready = socket;
  }

  #take({ servername }: buildConnector.Options): Socket | null {
    const socket = this.#ready;
    if (socket === null || servername !== this.#lastOptions?.servername) return null;
    this.#ready = null;
    this.#stopRenewal();
    if (socket.destroyed || !socket.writable) return null;
    socket.off("data", endOf);
    socket.pause();
    return socket.ref();
  }

  #renew(): void {
    this.#drop();
    if (this.#clock.elapsedMs() - this.#usedMs < IN_USE_MS) this.#open();
  }

  #drop(): void {
    this.#stopRenewal();
    this.#ready?.destroy();
    this.#ready = null;
  }

  #stopRenewal(): void {
    if (this.#renewal !== null) clearTimeout(this.#renewal);
    this.#renewal = null;
  }
}

function endOf(this: Socket): void {
  this.destroy();
}
