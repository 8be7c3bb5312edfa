// What a session sends to its client, in order: what follows a response waits until that response is charged.
import type { SessionClient } from "../../core/endpoint.ts";
import type { VendorSocket } from "../../upstream/vendor-socket.ts";

/** Beyond this the vendor is not read until the client has caught up. */
const UNREAD_BYTES_MAX = 256 * 1024;

type Message = Uint8Array | string;

export class Outbox {
  readonly #client: SessionClient;
  readonly #vendor: () => VendorSocket | null;
  #waiting: (() => Message)[] = [];
  #charging = 0;
  #isPaused = false;
  #isClosed = false;

  constructor(client: SessionClient, vendor: () => VendorSocket | null) {
    this.#client = client;
    this.#vendor = vendor;
  }

  /** Sends the vendor's bytes as they came. */
  pass(bytes: Buffer): void {
    if (this.#isClosed) return;
    if (this.#charging > 0) {
      const copy = Buffer.from(bytes);
      this.#waiting.push(() => copy);
    } else {
      this.#client.send(bytes);
      this.#checkRoom();
    }
  }

  send(message: Message): void {
    this.#waiting.push(() => message);
    this.#flush();
  }

  /** Sends a message once the charge is known, which is part of it. */
  sendCharged<Charged>(charging: Promise<Charged>, message: (charged: Charged) => Message): void {
    let text: Message = "";
    this.#charging += 1;
    this.#waiting.push(() => text);
    void charging.then((charged) => {
      text = message(charged);
      this.#charging -= 1;
      this.#flush();
    });
  }

  drained(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#vendor()?.resume();
  }

  /** The client has left: nothing more is sent, and the vendor is read to its end. */
  close(): void {
    this.#isClosed = true;
    this.#waiting.length = 0;
    this.drained();
  }

  #flush(): void {
    if (this.#charging > 0 || this.#isClosed) return;
    for (const message of this.#waiting.splice(0)) this.#client.send(message());
    this.#checkRoom();
  }

  #checkRoom(): void {
    if (this.#isPaused || this.#client.bufferedBytes() <= UNREAD_BYTES_MAX) return;
    this.#isPaused = true;
    this.#vendor()?.pause();
  }
}
