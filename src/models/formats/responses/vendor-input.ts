// Conversations in OpenAI's responses wire: a list of items, of which messages are one kind.

import { defined, type Json } from "../../../core/json.ts";
import type { MediaBlock, NeutralBlock, NeutralTurn, ToolResultBlock } from "../../../core/neutral.ts";
import { resultText } from "../../../upstream/dialects/tool-results.ts";
import { reasoningItem } from "./vendor-answer.ts";

export interface Input {
  readonly items: readonly Json[];
  /** The first element that this wire cannot express. */
  readonly reason: string | null;
}

/** A message part, or why the wire cannot express it. */
function mediaPart({ kind, source, filename }: MediaBlock): Json | string {
  if (kind === "audio") return "audio input";
  const url = source.at === "url" ? source.url : `data:${source.mediaType};base64,${source.base64}`;
  if (kind === "image") return { type: "input_image", image_url: url, detail: "auto" };
  if (source.at === "url" && !source.url.startsWith("data:")) return { type: "input_file", file_url: url };
  return defined({ type: "input_file", filename: filename ?? "file", file_data: url });
}

class InputBuilder {
  readonly items: Json[] = [];
  readonly #format: string;
  reason: string | null = null;
  /** The content of the message being built; null: the next part starts one. */
  #content: Json[] | null = null;

  constructor(format: string) {
    this.#format = format;
  }

  add({ role, blocks }: NeutralTurn): void {
    this.#content = null;
    for (const block of blocks) this.#block(role, block);
  }

  #refuse(what: string): void {
    this.reason ??= `${what} cannot be put into its wire`;
  }

  #item(item: Json): void {
    this.#content = null;
    this.items.push(item);
  }

  #part(role: NeutralTurn["role"], part: Json): void {
    if (this.#content === null) {
      this.#content = [];
      this.items.push({ role, content: this.#content });
    }
    this.#content.push(part);
  }

  #block(role: NeutralTurn["role"], block: NeutralBlock): void {
    switch (block.kind) {
      case "text":
        if (block.text !== "")
          this.#part(role, { type: role === "assistant" ? "output_text" : "input_text", text: block.text });
        return;
      case "image":
      case "file":
      case "audio": {
        const part = mediaPart(block);
        if (role !== "user") this.#refuse(`media in messages of role ${role}`);
        else if (typeof part === "string") this.#refuse(part);
        else this.#part(role, part);
        return;
      }
      case "tool-call": {
        const { id, name, arguments: text } = block;
        this.#item({ type: "function_call", call_id: id, name, arguments: text || "{}" });
        return;
      }
      case "tool-result":
        this.#item({ type: "function_call_output", call_id: block.callId, output: this.#output(block) });
        return;
      case "reasoning": {
        // A thought without a seal is plain text, which the model does not accept back.
        const item = block.format === this.#format && block.sealed !== null ? reasoningItem(block.sealed) : null;
        if (item !== null) this.#item(item);
        return;
      }
      case "native":
        this.#refuse(`parts in the format ${block.format}`);
        return;
      case "foreign":
        this.#refuse(block.what);
    }
  }

  #output({ content, isError }: ToolResultBlock): string | readonly Json[] {
    if (typeof content === "string") return resultText(content, isError);
    const parts: Json[] = [];
    for (const block of content) {
      if (block.kind === "text")
        parts.push({ type: "input_text", text: resultText(block.text, isError && parts.length === 0) });
      else if (block.kind === "image" || block.kind === "file" || block.kind === "audio") {
        const part = mediaPart(block);
        if (typeof part === "string") this.#refuse(part);
        else parts.push(part);
      } else this.#refuse(`${block.kind} in a tool's result`);
    }
    return parts.length === 0 ? resultText("", isError) : parts;
  }
}

/** Writes a conversation as input items, in order. */
export function inputOf(turns: readonly NeutralTurn[], format: string): Input {
  const builder = new InputBuilder(format);
  for (const turn of turns) builder.add(turn);
  return { items: builder.items, reason: builder.reason };
}
