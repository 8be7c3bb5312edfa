// Connections to pages' own servers that have answered whole: kept for seconds, for the next page from the same checked addresses.
import type { Client } from "undici";

/** A page of one host follows another within seconds, where its host's pace lets it. */
const KEPT_MS = 4_000;
const KEPT_MAX = 128;

/** Each client has one connection at most, and is in the hands of one call or kept here. */
export class KeptClients {
  readonly #kept = new Map<string, Client[]>();
  readonly #timers = new Map<Client, NodeJS.Timeout>();

  /** `place`: all that a connection was made for; null: none is kept for it. */
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
