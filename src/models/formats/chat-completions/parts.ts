// Reads content parts of the chat completions format as neutral blocks.
import { isRecord, stringOf, wordOf } from "../../../core/json.ts";
import { audioBlock, foreign, mediaSource, type PartBlock, textBlock } from "../neutral-blocks.ts";
import type { ChatMessage } from "./fields.ts";

/** True if a `cache_control` requests caching. All our cache marks last five minutes; other lifetimes were refused earlier. */
export function isCacheMark(value: unknown): boolean {
  return isRecord(value) && value.type === "ephemeral";
}

/** The parts of a message's content; a plain string is one text part. */
export function partsOf(message: ChatMessage): PartBlock[] {
  const { content } = message;
  if (typeof content === "string") return [textBlock(content, isCacheMark(message.cache_control))];
  return Array.isArray(content) ? content.map(readPart) : [];
}

function readPart(part: unknown): PartBlock {
  if (!isRecord(part)) return foreign("a content part that is no object");
  const cacheMark = isCacheMark(part.cache_control);
  switch (part.type) {
    case "text":
      return textBlock(stringOf(part.text) ?? "", cacheMark);
    case "refusal":
      return textBlock(stringOf(part.refusal) ?? "", cacheMark);
    case "image_url":
      return readImage(part.image_url, cacheMark);
    case "input_audio":
      return audioBlock(part.input_audio, cacheMark);
    case "file":
      return readFile(part.file, cacheMark);
    default:
      return foreign(`content parts of type ${wordOf(part.type).slice(0, 50)}`);
  }
}

function readImage(image: unknown, cacheMark: boolean): PartBlock {
  const source = mediaSource(isRecord(image) ? image.url : image);
  if (source === null) return foreign("an image_url that is neither a base64 data: URL nor an http address");
  return { kind: "image", source, filename: null, cacheMark };
}

function readFile(file: unknown, cacheMark: boolean): PartBlock {
  const fields = isRecord(file) ? file : {};
  if (fields.file_id !== undefined) return foreign("a file_id, which only the provider that keeps the file can read");
  const source = mediaSource(fields.file_data);
  if (source === null) return foreign("a file whose file_data is neither a base64 data: URL nor an http address");
  return { kind: "file", source, filename: stringOf(fields.filename) ?? null, cacheMark };
}
