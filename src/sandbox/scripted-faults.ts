// Decides to which attempts of a conversation a scripted fault applies: all, only the first, or those in the first seconds.
import type { Clock } from "../core/clock.ts";
import { putLast } from "../core/maps.ts";
import type { Conduct } from "./faults.ts";

const CONVERSATIONS_MAX = 10_000;

export class ScriptedFaults {
  readonly #clock: Clock;
  readonly #firstAtMs = new Map<number, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether the fault applies to this attempt. Once a second attempt has passed, the conversation starts over. */
  applies(conversation: number, when: Conduct["when"]): boolean {
    if (when === "always") return true;
    const seenAtMs = this.#firstAtMs.get(conversation);
    if (seenAtMs !== undefined)
      return when === "once" ? !this.#firstAtMs.delete(conversation) : this.#clock.elapsedMs() < seenAtMs + when.forMs;
    putLast(this.#firstAtMs, conversation, this.#clock.elapsedMs(), CONVERSATIONS_MAX);
    return true;
  }

  reset(): void {
    this.#firstAtMs.clear();
  }
}
