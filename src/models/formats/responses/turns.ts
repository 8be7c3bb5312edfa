// Reads input items of the responses format as the turns of a conversation.
import { isRecord, type Json, stringOf, wordOf } from "../../../core/json.ts";
import { type NeutralBlock, type NeutralTurn, type ToolResultBlock, thought } from "../../../core/neutral.ts";
import { argumentsText } from "../../../core/raw-json.ts";
import { audioBlock, foreign, mediaSource, type PartBlock, textBlock } from "../neutral-blocks.ts";
import type { ResponsesBody, ResponsesItem } from "./fields.ts";
import type { ResponsesTools } from "./tools.ts";

/** The most thoughts to open, from the end: older ones no longer matter to a model, and each costs us time. */
const THOUGHTS_MAX = 2_048;

interface OpenTurn extends NeutralTurn {
  readonly blocks: NeutralBlock[];
}

class TurnBuilder {
  readonly turns: OpenTurn[] = [];
  readonly #tools: ResponsesTools;
  #thoughtsToSkip: number;

  constructor(tools: ResponsesTools, thoughts: number) {
    this.#tools = tools;
    this.#thoughtsToSkip = Math.max(0, thoughts - THOUGHTS_MAX);
  }

  item(item: ResponsesItem): void {
    switch (item.type) {
      case "message":
        return this.#message(item);
      case "function_call":
        return this.#call(item, argumentsText(item.arguments));
      case "custom_tool_call":
        return this.#call(item, JSON.stringify({ input: stringOf(item.input) ?? "" }));
      case "function_call_output":
      case "custom_tool_call_output":
        return this.#addTurn("user", [resultOf(item)]);
      case "reasoning":
        return this.#thought(item);
      case "additional_tools":
      case "item_reference":
      case "web_search_call":
      case "image_generation_call":
        return;
      default:
        return this.#addTurn("user", [foreign(`items of type ${wordOf(item.type).slice(0, 50)}`)]);
    }
  }

  #message(item: ResponsesItem): void {
    const { role } = item;
    const blocks = partsOf(item.content);
    if (role === "assistant") return this.#addToAnswer(blocks);
    if (role === "system" || role === "developer" || role === "user") return this.#addTurn(role, blocks);
    this.#addTurn("user", [foreign(`messages of role ${wordOf(role).slice(0, 50)}`)]);
  }

  #call(item: ResponsesItem, text: string): void {
    const name = this.#tools.flatNameOf(item);
    this.#addToAnswer([
      { kind: "tool-call", id: stringOf(item.call_id) ?? null, name, arguments: text, cacheMark: false },
    ]);
  }

  /** A sealed thought; models do not accept thoughts without a seal. */
  #thought({ encrypted_content: sealed }: ResponsesItem): void {
    if (typeof sealed !== "string" || sealed === "") return;
    if (this.#thoughtsToSkip-- > 0) return;
    this.#addToAnswer([thought({ sealed })]);
  }

  /** Merges adjacent text, thoughts and calls into one model turn. */
  #addToAnswer(blocks: readonly NeutralBlock[]): void {
    const last = this.turns.at(-1);
    if (last?.role === "assistant") last.blocks.push(...blocks);
    else this.#addTurn("assistant", blocks);
  }

  #addTurn(role: NeutralTurn["role"], blocks: readonly NeutralBlock[]): void {
    this.turns.push({ role, blocks: [...blocks] });
  }
}

function resultOf({ call_id: callId, output }: Json): ToolResultBlock {
  return {
    kind: "tool-result",
    callId: stringOf(callId) ?? null,
    name: null,
    content: typeof output === "string" ? output : partsOf(output),
    isError: false,
    cacheMark: false,
  };
}

/** The conversation in order, instructions first. */
export function turnsOf({ instructions, input }: ResponsesBody, tools: ResponsesTools): readonly NeutralTurn[] {
  const items = typeof input === "string" ? [] : input;
  const builder = new TurnBuilder(tools, items.filter(({ type }) => type === "reasoning").length);
  if (typeof instructions === "string" && instructions !== "")
    builder.item({ type: "message", role: "system", content: instructions });
  if (typeof input === "string") builder.turns.push({ role: "user", blocks: [textBlock(input)] });
  for (const item of items) builder.item(item);
  return builder.turns;
}

function partsOf(content: unknown): PartBlock[] {
  if (typeof content === "string") return [textBlock(content)];
  return Array.isArray(content) ? content.map(readPart) : [];
}

function readPart(part: unknown): PartBlock {
  if (!isRecord(part)) return foreign("a content part that is no object");
  switch (part.type) {
    case "input_text":
    case "output_text":
    case "text":
      return textBlock(stringOf(part.text) ?? "");
    case "refusal":
      return textBlock(stringOf(part.refusal) ?? "");
    case "input_image":
      return mediaBlock("image", part.image_url, part);
    case "input_file":
      return mediaBlock("file", part.file_data ?? part.file_url, part);
    case "input_audio":
      return audioBlock(part.input_audio);
    default:
      return foreign(`content parts of type ${wordOf(part.type).slice(0, 50)}`);
  }
}

function mediaBlock(kind: "image" | "file", url: unknown, { filename }: Json): PartBlock {
  const source = mediaSource(url);
  if (source === null) return foreign(`an input_${kind} that is neither a base64 data: URL nor an http address`);
  return { kind, source, filename: stringOf(filename) ?? null, cacheMark: false };
}
