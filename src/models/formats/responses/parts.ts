// Reads content parts of the responses format as neutral blocks.
import { isRecord, type Json, stringOf, wordOf } from "../../../core/json.ts";
import { audioBlock, foreign, mediaSource, type PartBlock, textBlock } from "../neutral-blocks.ts";

export function partsOf(content: unknown): PartBlock[] {
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
