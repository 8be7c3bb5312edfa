// The blocks that a stream has open, in wires whose answers are made of blocks that are opened, filled and closed.
import { stringOf } from "../../core/json.ts";
import type { ReasoningBlock } from "../../core/neutral.ts";
import { malformed } from "../vendor-failure.ts";
import type { EventOut } from "./dialect.ts";
import type { OneChoice } from "./one-choice.ts";

/** A thought as its vendor takes it back: readable and signed, or sealed. */
export function thoughtOf(format: string, told: Partial<ReasoningBlock>): ReasoningBlock {
  return { kind: "reasoning", text: "", format, signature: null, sealed: null, callId: null, ...told };
}

type OpenBlock = { readonly kind: "thought"; text: string; signature: string } | { readonly kind: "other" };

/** The most that open blocks may make us keep, in characters: a vendor that opens more, or never closes one, has failed. */
const KEPT_MAX = 1024 * 1024;
const KEPT_PER_BLOCK = 64;

function keptBy(block: OpenBlock | undefined): number {
  if (block === undefined) return 0;
  return block.kind === "thought" ? KEPT_PER_BLOCK + block.text.length + block.signature.length : KEPT_PER_BLOCK;
}

/** Blocks are known by what the vendor calls them, such as a number. One that was not opened is left alone. */
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

  /** A fragment of a thought, passed on at once. If no thought is open, it will not be signed. */
  think(index: unknown, text: unknown): void {
    this.#choice.say("reasoning", text);
    const open = this.#open.get(index);
    if (typeof text !== "string" || open?.kind !== "thought") return;
    open.text += text;
    this.#keep(text.length);
  }

  /** A fragment of a thought's signature. */
  sign(index: unknown, fragment: unknown): void {
    const open = this.#open.get(index);
    if (open?.kind !== "thought") return;
    const signature = stringOf(fragment) ?? "";
    open.signature += signature;
    this.#keep(signature.length);
  }

  /** A thought that only its vendor can read, whole. */
  sealed(data: unknown): void {
    if (typeof data === "string") this.#choice.sign(thoughtOf(this.#format, { sealed: data }));
  }

  has(index: unknown): boolean {
    return this.#open.has(index);
  }

  /** The signature comes last, so the whole thought goes out once more, as the one piece a client has to carry back. */
  close(index: unknown): void {
    const open = this.#open.get(index);
    this.#open.delete(index);
    this.#kept -= keptBy(open);
    if (open?.kind === "thought" && open.signature !== "") {
      this.#choice.sign(thoughtOf(this.#format, { text: open.text, signature: open.signature }));
    }
    this.#choice.closeCall(index);
  }

  /** More may come of a call whose arguments have begun. */
  closeAll(): void {
    for (const index of [...this.#open.keys()]) this.close(index);
  }

  /** Keeps a block under an index, where one that was never closed may lie still. */
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
