// Emits the events of an answer with one choice: begins it at the first event, and tracks whether it has content.
import type { NeutralChoice, NeutralEvent, ReasoningBlock } from "../../core/neutral.ts";
import { emptiness } from "../vendor-failure.ts";
import type { ChatContext, EventOut } from "./dialect.ts";
import { type CallPiece, ToolCalls } from "./tool-calls.ts";
import { GivenIds } from "./tool-ids.ts";

type Ending = Pick<NeutralChoice, "reason" | "native">;

export class OneChoice {
  readonly #out: EventOut;
  #begun = false;
  #delivered = false;
  #thoughts = 0;
  readonly #calls: ToolCalls;

  constructor(context: ChatContext, out: EventOut) {
    this.#out = out;
    this.#calls = new ToolCalls(context, 0, new GivenIds(context), out);
  }

  /** Whether anything usable has reached the caller. */
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

  /** Starts or continues a call. Some vendors leave out a key of 0, so readers put it back. */
  call(piece: CallPiece): void {
    this.begin();
    this.#delivered = true;
    this.#tell(this.#calls.read(piece, true));
  }

  /** Adds arguments to an open call; others are ignored. */
  callArguments(key: unknown, told: unknown): void {
    if (this.#calls.has(key)) this.call({ key, arguments: told });
  }

  /** Ends a call. `whole` holds its arguments, for use if no fragments arrived. */
  closeCall(key: unknown, whole?: unknown): void {
    this.#tell(this.#calls.close(key, whole));
  }

  #tell(events: readonly NeutralEvent[]): void {
    for (const event of events) this.give(event);
  }

  /** Emits a thought in the form that its vendor takes back. It does not count as content. */
  sign(thought: ReasoningBlock): void {
    this.begin();
    this.#out.event({ kind: "thought", choice: 0, at: this.#thoughts++, thought });
  }

  finish({ reason, native }: Ending): void {
    const empty = this.#delivered ? null : emptiness(reason, native);
    if (empty !== null) this.#out.empty(empty);
    this.begin();
    this.#tell(this.#calls.settleAll());
    this.#out.event({ kind: "finish", choice: 0, reason: this.#calls.reason(reason), native });
  }
}
