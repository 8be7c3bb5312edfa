// The rate-limit headers of an answer. A paid call writes them after the ledger has answered, which may count for many processes.
import type { Reply } from "../../core/endpoint.ts";
import { rateLimitHeaders, type WindowState } from "../../platform/limits/request-windows.ts";

export class RateLimit {
  readonly #reply: Reply;
  #state: WindowState | null = null;
  #isTold = false;

  constructor(reply: Reply) {
    this.#reply = reply;
  }

  /** Keeps the count with less remaining: the other has not seen every request. */
  learn(state: WindowState): WindowState {
    if (this.#state === null || state.remaining <= this.#state.remaining) this.#state = state;
    return state;
  }

  /** Writes the headers, once; call it before the answer's head is written. */
  tell(): void {
    if (this.#isTold || this.#state === null) return;
    this.#isTold = true;
    rateLimitHeaders(this.#state, (name, value) => this.#reply.header(name, value));
  }
}
