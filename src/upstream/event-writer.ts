// Writes a translated stream: encodes neutral events in the caller's wire, and holds back or passes on each by its kind.
import type { Nano } from "../core/money.ts";
import type { EventEncoder, NeutralEvent } from "../core/neutral.ts";
import type { AttemptFailure, TokenUsage } from "../core/route.ts";
import type { EventOut, OwnSeal } from "./format-kit/dialect.ts";
import type { HeldStream } from "./held-stream.ts";
import { sealedThought } from "./sealed-thoughts.ts";

/** The approximate size of a finish. */
const FINISH_BYTES = 128;

/** Usable content commits the answer; a bare beginning or a signature does not. */
function kindOf(event: NeutralEvent): "content" | "preamble" {
  return event.kind === "begin" || event.kind === "thought" || event.kind === "citation" ? "preamble" : "content";
}

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

  /** With a `seal`, the caller gets thoughts sealed. */
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
    // The encoder closes its open blocks at the finish, so encode that only when nothing can follow.
    if (event.kind === "finish") return held.finish(event.choice, FINISH_BYTES, () => this.#encoder.encode(event));
    const bytes = this.#encoder.encode(event);
    // An event without bytes in the caller's wire shows the caller nothing, so it does not commit.
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
