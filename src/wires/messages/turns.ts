// Reads the messages of the messages wire as the turns of a conversation.
import { isRecord, type Json, stringOf, wordOf } from "../../json.ts";
import type { NeutralBlock, NeutralTurn, ThoughtSeal } from "../../neutral.ts";
import type { MessagesBody } from "./body.ts";
import { openThought } from "./sealed-thoughts.ts";
import { documentOf, foreign, isCacheMark, mediaOf, searchResultOf, textBlock } from "./sources.ts";

/** Made for the vendor's books, never for the model: in front of any other model's prompt it only spoils the cache. */
const BILLING_LINE = /^x-[a-z]+-billing-header:/;

/** What a tool that its vendor runs was asked, and what it said: no other model has such a tool. */
const SERVER_TOOLS = /^(server_tool_use|mcp_tool_use|\w+_tool_result)$/;

class TurnReader {
  readonly #seal: ThoughtSeal;

  constructor(seal: ThoughtSeal) {
    this.#seal = seal;
  }

  turn(message: Json): NeutralTurn {
    const { role } = message;
    if (role === "system" || role === "user" || role === "assistant") {
      return { role, blocks: this.content(message.content) };
    }
    return { role: "user", blocks: [foreign(`messages of role ${wordOf(role).slice(0, 50)}`)] };
  }

  /** Text, or a list of blocks. */
  readonly content = (content: unknown): NeutralBlock[] => {
    if (typeof content === "string") return [textBlock(content)];
    const blocks: readonly unknown[] = Array.isArray(content) ? content : [];
    return blocks.filter(isRecord).flatMap((block) => this.#block(block));
  };

  #block(block: Json): readonly NeutralBlock[] {
    switch (block.type) {
      case "text":
        return [textBlock(stringOf(block.text) ?? "", isCacheMark(block))];
      case "image":
        return [mediaOf(block, "image")];
      case "document":
        return documentOf(block, this.content);
      case "search_result":
        return searchResultOf(block, this.content);
      case "tool_use":
        return [this.#call(block)];
      case "tool_result":
        return [this.#result(block)];
      case "thinking":
        return this.#thought(block.signature, stringOf(block.thinking) ?? "");
      case "redacted_thinking":
        return this.#thought(block.data, "");
      case "tool_addition":
      case "tool_removal":
        return [];
      case "tool_reference":
        return [textBlock(`Tool ${wordOf(block.tool_name)} is available.`)];
      default:
        return SERVER_TOOLS.test(wordOf(block.type))
          ? []
          : [foreign(`blocks of type ${wordOf(block.type).slice(0, 50)}`)];
    }
  }

  #call(block: Json): NeutralBlock {
    return {
      kind: "tool-call",
      id: stringOf(block.id) ?? null,
      name: wordOf(block.name),
      arguments: JSON.stringify(block.input ?? {}),
      cacheMark: isCacheMark(block),
    };
  }

  #result(block: Json): NeutralBlock {
    const { content } = block;
    return {
      kind: "tool-result",
      callId: stringOf(block.tool_use_id) ?? null,
      name: null,
      content: typeof content === "string" ? content : this.content(content),
      isError: block.is_error === true,
      cacheMark: isCacheMark(block),
    };
  }

  /** What we have not sealed ourselves no vendor but its own could read, and it is never said aloud in its place. */
  #thought(signature: unknown, text: string): readonly NeutralBlock[] {
    const thought = typeof signature === "string" ? openThought(signature, this.#seal) : null;
    return thought === null ? [] : [thought.text === "" ? { ...thought, text } : thought];
  }
}

/** The conversation in order, system turns where they stand. */
export function turnsOf({ system, messages }: MessagesBody, seal: ThoughtSeal): NeutralTurn[] {
  const reader = new TurnReader(seal);
  const instructions = reader
    .content(system)
    .filter((block, at) => at > 0 || block.kind !== "text" || !BILLING_LINE.test(block.text));
  const first: NeutralTurn[] = instructions.length === 0 ? [] : [{ role: "system", blocks: instructions }];
  const turns = messages.filter(isRecord).map((message) => reader.turn(message));
  // A turn of nothing but thoughts that nobody could read says nothing.
  return [...first, ...turns.filter(({ role, blocks }) => role !== "assistant" || blocks.length > 0)];
}
