// Reads messages as the turns of a conversation.
import { isRecord, type Json, stringOf, wordOf } from "../../../core/json.ts";
import {
  type ForeignBlock,
  type MediaBlock,
  type MediaSource,
  type NeutralBlock,
  type NeutralTurn,
  thought,
} from "../../../core/neutral.ts";
import { jsonText } from "../../../core/raw-json.ts";
import { foreign, textBlock } from "../neutral-blocks.ts";
import type { MessagesBody } from "./fields.ts";

/** Meant for the vendor's billing; for any other model it only spoils the prompt cache. */
const BILLING_LINE = /^x-[a-z]+-billing-header:/;

/** Calls and results of server tools, which no other model has. */
const SERVER_TOOLS = /^(server_tool_use|mcp_tool_use|\w+_tool_result)$/;

function turnOf({ role, content }: Json): NeutralTurn {
  if (role === "system" || role === "user" || role === "assistant") return { role, blocks: contentOf(content) };
  return { role: "user", blocks: [foreign(`messages of role ${wordOf(role).slice(0, 50)}`)] };
}

/** Text, or a list of blocks. */
function contentOf(content: unknown): NeutralBlock[] {
  if (typeof content === "string") return [textBlock(content)];
  const blocks: readonly unknown[] = Array.isArray(content) ? content : [];
  return blocks.filter(isRecord).flatMap(blocksOf);
}

function blocksOf(block: Json): readonly NeutralBlock[] {
  switch (block.type) {
    case "text":
      return [textBlock(stringOf(block.text) ?? "", isCacheMark(block))];
    case "image":
      return [mediaOf(block, "image")];
    case "document":
      return documentOf(block, contentOf);
    case "search_result":
      return searchResultOf(block, contentOf);
    case "tool_use":
      return [callOf(block)];
    case "tool_result":
      return [resultOf(block)];
    case "thinking":
      return thoughtOf(block.signature, stringOf(block.thinking) ?? "");
    case "redacted_thinking":
      return thoughtOf(block.data, "");
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

function callOf(block: Json): NeutralBlock {
  return {
    kind: "tool-call",
    id: stringOf(block.id) ?? null,
    name: wordOf(block.name),
    arguments: jsonText(block.input ?? {}),
    cacheMark: isCacheMark(block),
  };
}

function resultOf(block: Json): NeutralBlock {
  const { content } = block;
  return {
    kind: "tool-result",
    callId: stringOf(block.tool_use_id) ?? null,
    name: null,
    content: typeof content === "string" ? content : contentOf(content),
    isError: block.is_error === true,
    cacheMark: isCacheMark(block),
  };
}

/** A signature that is not our seal is readable only to its vendor, and its text is never sent instead. */
function thoughtOf(sealed: unknown, text: string): readonly NeutralBlock[] {
  if (typeof sealed !== "string" || sealed === "") return [];
  return [thought({ text, sealed })];
}

/** The conversation in order; system turns keep their place. */
export function turnsOf({ system, messages }: MessagesBody): NeutralTurn[] {
  const instructions = contentOf(system).filter(
    (block, at) => at > 0 || block.kind !== "text" || !BILLING_LINE.test(block.text),
  );
  const first: NeutralTurn[] = instructions.length === 0 ? [] : [{ role: "system", blocks: instructions }];
  const turns = messages.filter(isRecord).map(turnOf);
  // A turn with only unreadable thoughts is empty.
  return [...first, ...turns.filter(({ role, blocks }) => role !== "assistant" || blocks.length > 0)];
}

/** True if a block's `cache_control` requests caching. */
export function isCacheMark(block: Json): boolean {
  return isRecord(block.cache_control) && block.cache_control.type === "ephemeral";
}

function sourceOf(source: Json): MediaSource | null {
  if (source.type === "url" && typeof source.url === "string" && /^https:\/\//i.test(source.url))
    return { at: "url", url: source.url };
  if (source.type !== "base64" || typeof source.data !== "string") return null;
  return { at: "inline", mediaType: (stringOf(source.media_type) ?? "").toLowerCase(), base64: source.data };
}

/** The media of a block, or a foreign block if no other format can express it. */
function mediaOf(block: Json, kind: "image" | "file"): MediaBlock | ForeignBlock {
  const source = isRecord(block.source) ? block.source : {};
  const from = sourceOf(source);
  if (from !== null)
    return { kind, source: from, filename: stringOf(block.title) || null, cacheMark: isCacheMark(block) };
  return foreign(`${wordOf(block.type)} blocks whose source is ${wordOf(source.type).slice(0, 50) || "missing"}`);
}

/** A text document becomes its title and text. */
function documentOf(block: Json, contentOf: (content: unknown) => readonly NeutralBlock[]): readonly NeutralBlock[] {
  const source = isRecord(block.source) ? block.source : {};
  const title = [block.title, block.context].filter((text) => typeof text === "string" && text !== "").join("\n");
  const before = title === "" ? [] : [textBlock(title)];
  if (source.type === "text") return [...before, textBlock(stringOf(source.data) ?? "", isCacheMark(block))];
  if (source.type === "content") return [...before, ...contentOf(source.content)];
  return [mediaOf(block, "file")];
}

function searchResultOf(
  block: Json,
  contentOf: (content: unknown) => readonly NeutralBlock[],
): readonly NeutralBlock[] {
  const head = [stringOf(block.title), stringOf(block.source)]
    .filter((text) => text !== undefined && text !== "")
    .join("\n");
  return [textBlock(head), ...contentOf(block.content)];
}
