// Reads media and text of blocks as neutral blocks.
import { isRecord, type Json, stringOf, wordOf } from "../../../core/json.ts";
import type { ForeignBlock, MediaBlock, MediaSource, NeutralBlock } from "../../../core/neutral.ts";
import { foreign, textBlock } from "../neutral-blocks.ts";

/** True if a block's `cache_control` requests caching. */
export function isCacheMark(block: Json): boolean {
  return isRecord(block.cache_control) && block.cache_control.type === "ephemeral";
}

function sourceOf(source: Json): MediaSource | null {
  if (source.type === "url" && typeof source.url === "string" && /^https:\/\//i.test(source.url)) {
    return { at: "url", url: source.url };
  }
  if (source.type !== "base64" || typeof source.data !== "string") return null;
  return { at: "inline", mediaType: (stringOf(source.media_type) ?? "").toLowerCase(), base64: source.data };
}

/** The media of a block, or a foreign block if no other format can express it. */
export function mediaOf(block: Json, kind: "image" | "file"): MediaBlock | ForeignBlock {
  const source = isRecord(block.source) ? block.source : {};
  const from = sourceOf(source);
  if (from !== null)
    return { kind, source: from, filename: stringOf(block.title) || null, cacheMark: isCacheMark(block) };
  return foreign(`${wordOf(block.type)} blocks whose source is ${wordOf(source.type).slice(0, 50) || "missing"}`);
}

/** A text document becomes its title and text. */
export function documentOf(
  block: Json,
  contentOf: (content: unknown) => readonly NeutralBlock[],
): readonly NeutralBlock[] {
  const source = isRecord(block.source) ? block.source : {};
  const title = [block.title, block.context].filter((text) => typeof text === "string" && text !== "").join("\n");
  const before = title === "" ? [] : [textBlock(title)];
  if (source.type === "text") return [...before, textBlock(stringOf(source.data) ?? "", isCacheMark(block))];
  if (source.type === "content") return [...before, ...contentOf(source.content)];
  return [mediaOf(block, "file")];
}

export function searchResultOf(
  block: Json,
  contentOf: (content: unknown) => readonly NeutralBlock[],
): readonly NeutralBlock[] {
  const head = [stringOf(block.title), stringOf(block.source)]
    .filter((text) => text !== undefined && text !== "")
    .join("\n");
  return [textBlock(head), ...contentOf(block.content)];
}
