// The events of an answer of one choice: it begins with whatever comes first, and knows whether it has given anything.
import type { NeutralEvent, ReasoningBlock } from "../../neutral.ts";
import type { EventOut } from "./dialect.ts";

export class OneChoice {
  readonly #out: EventOut;
  #begun = false;
  #delivered = false;
  #thoughts = 0;

  constructor(out: EventOut) {
    this.#out = out;
  }

  /** Something came that a caller can use. */
  get delivered(): boolean {
    return this.#delivered;
  }

  begin(): void {
    if (this.#begun) return;
    this.#begun = true;
    this.#out.event({ kind: "begin", choice: 0 });
  }

  give(event: NeutralEvent): void {
    this.begin();
    this.#delivered = true;
    this.#out.event(event);
  }

  say(kind: "text" | "reasoning" | "refusal", text: unknown): void {
    if (typeof text === "string" && text !== "") this.give({ kind, choice: 0, text });
  }

  /** A thought as its vendor takes it back; by itself it is nothing that a caller can use. */
  sign(thought: ReasoningBlock): void {
    this.begin();
    this.#out.event({ kind: "thought", choice: 0, at: this.#thoughts++, thought });
  }

  finish(end: Pick<Extract<NeutralEvent, { kind: "finish" }>, "reason" | "native">): void {
    this.begin();
    this.#out.event({ kind: "finish", choice: 0, ...end });
  }
}
