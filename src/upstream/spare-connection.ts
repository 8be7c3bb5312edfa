// A connection to a vendor in use that lies ready: no first token waits for a handshake, which takes two or three ways there and back.
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { buildConnector } from "undici";
import type { Clock } from "../core/clock.ts";

/** Vendors close a connection that says nothing after a minute or less; it is opened anew before that. */
const SPARE_MS_MAX = 25_000;
/** A vendor is in use for so long after a connection was opened for a call, or such a one has ended. */
const IN_USE_MS = 300_000;

/** What was agreed upon in the handshake. */
export function speaksHttp2(socket: Socket | TLSSocket): boolean {
  return "alpnProtocol" in socket && socket.alpnProtocol === "h2";
}

/** At most one spare connection to one origin, whose connections take one call at a time: over HTTP/2 the next call has its connection. It is no call: nothing is sent over it, and one that fails is no failure of the vendor's. */
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

  /** What undici calls where it needs a connection: the spare one where it is ready, and then the next one is opened. */
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
    // undici sends nothing over one that it is given before it has asked.
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
    // Read, as its end would else not be noticed. Who speaks HTTP/1.1 says nothing before it is asked.
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
