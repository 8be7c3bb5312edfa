// Keeps idle connections to page servers for seconds, for the next page from the same checked addresses.
import type { Client } from "undici";

/** Pages of one host follow each other within seconds, as far as the host's rate limit allows. */
const KEPT_MS = 4_000;
const KEPT_MAX = 128;

/** A client has at most one connection, and either serves one call or is kept here. */
export class KeptClients {
  readonly #kept = new Map<string, Client[]>();
  readonly #timers = new Map<Client, NodeJS.Timeout>();

  /** `place` identifies everything a connection depends on; null if no connection is kept for it. */
  take(place: string): Client | null {
    const client = this.#kept.get(place)?.pop();
    if (client === undefined) return null;
    this.#forget(place, client);
    return client;
  }

  keep(place: string, client: Client): void {
    if (this.#timers.size >= KEPT_MAX || client.destroyed) return void client.destroy();
    const clients = this.#kept.get(place);
    if (clients === undefined) this.#kept.set(place, [client]);
    else clients.push(client);
    const timer = setTimeout(() => {
      const left = this.#kept.get(place) ?? [];
      const at = left.indexOf(client);
      if (at >= 0) left.splice(at, 1);
      this.#forget(place, client);
      void client.destroy();
    }, KEPT_MS);
    this.#timers.set(client, timer.unref());
  }

  close(): void {
    for (const [client, timer] of this.#timers) {
      clearTimeout(timer);
      void client.destroy();
    }
    this.#kept.clear();
    this.#timers.clear();
  }

  #forget(place: string, client: Client): void {
    clearTimeout(this.#timers.get(client));
    this.#timers.delete(client);
    if (this.#kept.get(place)?.length === 0) this.#kept.delete(place);
  }
}
