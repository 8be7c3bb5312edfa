// Collects the blocks of a streamed answer from its events.
import { type AnswerBlock, type AnswerTextBlock, type NeutralEvent, thought } from "../core/neutral.ts";

export class AnswerBlocks {
  readonly blocks: AnswerBlock[] = [];
  readonly #calls = new Map<number, { id: string; name: string; arguments: string }>();
  #thought = "";
  #citations: AnswerTextBlock["citations"][number][] = [];

  add(event: NeutralEvent): void {
    switch (event.kind) {
      case "text":
      case "refusal":
        return this.#say(event.kind, event.text);
      case "reasoning":
        this.#thought += event.text;
        return;
      case "thought":
        // A seal or signature without text does not replace the thought that came before it.
        if (event.thought.text === "") this.#endThought();
        this.#thought = "";
        this.blocks.push(event.thought);
        return;
      case "tool-call": {
        this.#endThought();
        const open = { kind: "tool-call" as const, id: event.id, name: event.name, arguments: event.arguments };
        this.#calls.set(event.at, open);
        this.blocks.push(open);
        return;
      }
      case "tool-arguments": {
        const call = this.#calls.get(event.at);
        if (call !== undefined) call.arguments += event.text;
        return;
      }
      case "citation": {
        const last = this.blocks.at(-1);
        if (last?.kind === "text") this.#citations.push({ format: event.format, json: event.json });
        return;
      }
      case "image":
        this.#endThought();
        this.blocks.push({ kind: "image", url: event.url });
        return;
      case "finish":
        return this.#endThought();
      default:
        return;
    }
  }

  #say(kind: "text" | "refusal", text: string): void {
    this.#endThought();
    const last = this.blocks.at(-1);
    const before = last?.kind === kind ? last.text : "";
    if (last?.kind === kind) this.blocks.pop();
    else this.#citations = [];
    this.blocks.push({ kind, text: before + text, citations: this.#citations });
  }

  /** Closes a thought of which its vendor wants only the text back. */
  #endThought(): void {
    if (this.#thought === "") return;
    this.blocks.push(thought({ text: this.#thought }));
    this.#thought = "";
  }
}
