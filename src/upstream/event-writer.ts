// Writes a translated stream: neutral events become the caller's bytes, held back or passed on by what they are.
import type { Nano } from "../core/money.ts";
import type { EventEncoder, NeutralEvent } from "../core/neutral.ts";
import type { AttemptFailure, TokenUsage } from "../core/route.ts";
import type { EventOut, OwnSeal } from "./dialects/dialect.ts";
import type { HeldStream } from "./held-stream.ts";
import { sealedThought } from "./sealed-thoughts.ts";

/** About what a finish takes. */
const FINISH_BYTES = 128;

/** What gives the caller something commits the answer; a bare beginning or a signature does not. */
function kindOf(event: NeutralEvent): "content" | "preamble" {
  return event.kind === "begin" || event.kind === "thought" || event.kind === "citation" ? "preamble" : "content";
}

/** The text of an event that a token count needs. */
function textOf(event: NeutralEvent): string {
  switch (event.kind) {
    case "text":
    case "reasoning":
    case "refusal":
    case "tool-arguments":
      return event.text;
    case "tool-call":
      return event.name + event.arguments;
    default:
      return "";
  }
}

export class EventWriter implements EventOut {
  readonly #held: HeldStream;
  readonly #encoder: EventEncoder;
  readonly #seal: OwnSeal | undefined;

  /** With a `seal`, thoughts go out sealed. */
  constructor(held: HeldStream, encoder: EventEncoder, seal?: OwnSeal) {
    this.#held = held;
    this.#encoder = encoder;
    this.#seal = seal;
  }

  event(event: NeutralEvent): void {
    if (event.kind !== "thought" || this.#seal === undefined) return this.#write(event);
    const thought = sealedThought(event.thought, this.#seal);
    if (thought !== null) this.#write({ ...event, thought });
  }

  #write(event: NeutralEvent): void {
    const held = this.#held;
    if (held.over) return;
    held.choice(event.choice, event.kind === "finish");
    // Encoders close what they have open with it, so they hear of it when nothing can follow.
    if (event.kind === "finish") return held.finish(event.choice, FINISH_BYTES, () => this.#encoder.encode(event));
    const bytes = this.#encoder.encode(event);
    // Of what the caller's wire says nothing, the caller has seen nothing either: it commits to no candidate.
    if (bytes.length > 0) held.raw(bytes, kindOf(event));
    const text = textOf(event);
    if (text !== "") held.deliveredText(text);
  }

  usage(usage: TokenUsage): void {
    this.#held.usage(usage);
  }

  upstreamCost(nano: Nano): void {
    this.#held.upstreamCost(nano);
  }

  empty(message: string | null): void {
    this.#held.empty(message);
  }

  fail(failure: AttemptFailure): void {
    this.#held.fail(failure);
  }

  end(): void {
    this.#held.end();
  }
}
