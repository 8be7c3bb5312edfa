// What an answer says in headers of the window that its request was counted in. Of a paid call it is said when the ledger has
// answered, which may count for many processes.

import type { Reply } from "../../core/endpoint.ts";
import { rateLimitHeaders } from "../../platform/limits/rate-limit-headers.ts";
import type { WindowState } from "../../platform/limits/request-windows.ts";

export class ToldWindow {
  readonly #reply: Reply;
  #state: WindowState | null = null;
  #told = false;

  constructor(reply: Reply) {
    this.#reply = reply;
  }

  /** Of two counts the one that leaves less is told: the count that is smaller has not seen everything. */
  learn(state: WindowState): WindowState {
    if (this.#state === null || state.remaining <= this.#state.remaining) this.#state = state;
    return state;
  }

  /** Writes the headers, once; to be called before the answer's head is written. */
  tell(): void {
    if (this.#told || this.#state === null) return;
    this.#told = true;
    rateLimitHeaders(this.#state, (name, value) => this.#reply.header(name, value));
  }
}
