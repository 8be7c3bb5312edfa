// What is heard of a call in the neutral format: the request as its wire has read it, and the answer, read back while it goes out.
import type { CallerRequest } from "../../core/neutral.ts";
import { ToldAnswer } from "../../models/chat/told-answer.ts";
import type { Said } from "../../platform/observe/span-content.ts";

export class Heard {
  #asked: CallerRequest | null = null;
  #told: ToldAnswer | null = null;

  /** A model is asked this, in its caller's wire, which the answer will be in as well. */
  ask(asked: CallerRequest): void {
    this.#asked = asked;
    this.#told = ToldAnswer.of(asked.wire);
  }

  /** The next bytes of the answer, with its media type. */
  take(bytes: Buffer, type: string): void {
    this.#told?.take(bytes, type);
  }

  /** What was asked, and what can be read of the answer when it is over; null: no model was asked in a wire. */
  get said(): Said | null {
    if (this.#asked === null) return null;
    return { asked: this.#asked, choices: () => this.#told?.choices() ?? null };
  }
}
