// Tracks the open blocks of a stream, for wires that open, fill and close blocks.
import type { DialectName } from "../../catalog/chat-wire.ts";
import { stringOf } from "../../core/json.ts";
import { thought } from "../../core/neutral.ts";
import { malformed } from "../vendor-failure.ts";
import type { ChatContext, EventOut } from "./dialect.ts";
import type { OneChoice } from "./one-choice.ts";

/** The `format` of signed thoughts that this vendor accepts back. */
export function formatOf({ spec }: ChatContext, wire: DialectName): string {
  return spec.reasoningFormat ?? wire;
}

type OpenBlock = { readonly kind: "thought"; text: string; signature: string } | { readonly kind: "other" };

/** The limit on what we keep for open blocks, in characters. A vendor that exceeds it has failed. */
const KEPT_MAX = 1024 * 1024;
const KEPT_PER_BLOCK = 64;

function keptBy(block: OpenBlock | undefined): number {
  if (block === undefined) return 0;
  return block.kind === "thought" ? KEPT_PER_BLOCK + block.text.length + block.signature.length : KEPT_PER_BLOCK;
}

/** Blocks are identified by the vendor's key, such as a number. Input for a block that is not open is ignored. */
export class OpenBlocks {
  readonly #out: EventOut;
  readonly #choice: OneChoice;
  readonly #format: string;
  readonly #open = new Map<unknown, OpenBlock>();
  #kept = 0;

  /** `format` names the vendors that can read its signatures. */
  constructor(out: EventOut, choice: OneChoice, format: string) {
    this.#out = out;
    this.#choice = choice;
    this.#format = format;
  }

  openThought(index: unknown, signature = ""): void {
    this.#put(index, { kind: "thought", text: "", signature });
  }

  openOther(index: unknown): void {
    this.#put(index, { kind: "other" });
  }

  /** Passes on a fragment of a thought at once. Without an open thought it stays unsigned. */
  think(index: unknown, text: unknown): void {
    this.#choice.say("reasoning", text);
    const open = this.#open.get(index);
    if (typeof text !== "string" || open?.kind !== "thought") return;
    open.text += text;
    this.#keep(text.length);
  }

  sign(index: unknown, fragment: unknown): void {
    const open = this.#open.get(index);
    if (open?.kind !== "thought") return;
    const signature = stringOf(fragment) ?? "";
    open.signature += signature;
    this.#keep(signature.length);
  }

  /** Emits a whole thought that only its vendor can read. */
  sealed(data: unknown): void {
    if (typeof data === "string") this.#choice.sign(thought({ format: this.#format, sealed: data }));
  }

  has(index: unknown): boolean {
    return this.#open.has(index);
  }

  /** The signature comes last, so emit the whole thought again as the one piece that a client must carry back. */
  close(index: unknown): void {
    const open = this.#open.get(index);
    this.#open.delete(index);
    this.#kept -= keptBy(open);
    if (open?.kind === "thought" && open.signature !== "")
      this.#choice.sign(thought({ format: this.#format, text: open.text, signature: open.signature }));
    this.#choice.closeCall(index);
  }

  /** Closes all blocks. Tool calls stay open, because more arguments may follow. */
  closeAll(): void {
    for (const index of [...this.#open.keys()]) this.close(index);
  }

  /** Replaces a block under the same index that was never closed. */
  #put(index: unknown, block: OpenBlock): void {
    this.#kept -= keptBy(this.#open.get(index));
    this.#open.set(index, block);
    this.#keep(keptBy(block));
  }

  #keep(more: number): void {
    this.#kept += more;
    if (this.#kept > KEPT_MAX) this.#out.fail(malformed("the stream leaves too much open"));
  }
}
