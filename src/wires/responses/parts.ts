// Reads the content parts of OpenAI's responses wire as neutral blocks.
import { isRecord, type Json, stringOf, wordOf } from "../../json.ts";
import type { ForeignBlock, MediaBlock, MediaSource, TextBlock } from "../../neutral.ts";

export type PartBlock = TextBlock | MediaBlock | ForeignBlock;

/** The parts of a content, which may be one text. */
export function partsOf(content: unknown): PartBlock[] {
  if (typeof content === "string") return [textBlock(content)];
  return Array.isArray(content) ? content.map(readPart) : [];
}

export function textBlock(text: string): TextBlock {
  return { kind: "text", text, cacheMark: false };
}

export function foreign(what: string): ForeignBlock {
  return { kind: "foreign", what };
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
      return readAudio(part.input_audio);
    default:
      return foreign(`content parts of type ${wordOf(part.type).slice(0, 50)}`);
  }
}

function mediaBlock(kind: "image" | "file", url: unknown, { filename }: Json): PartBlock {
  const source = sourceOf(url);
  if (source === null) return foreign(`an input_${kind} that is neither a base64 data: URL nor an http address`);
  return { kind, source, filename: stringOf(filename) ?? null, cacheMark: false };
}

function readAudio(audio: unknown): PartBlock {
  const base64 = isRecord(audio) ? stringOf(audio.data) : undefined;
  const format = isRecord(audio) ? stringOf(audio.format) : undefined;
  if (base64 === undefined || format === undefined) return foreign("an input_audio part without data and format");
  const source: MediaSource = { at: "inline", mediaType: `audio/${format.toLowerCase()}`, base64 };
  return { kind: "audio", source, filename: null, cacheMark: false };
}

function sourceOf(url: unknown): MediaSource | null {
  if (typeof url !== "string") return null;
  if (/^https?:\/\//i.test(url)) return { at: "url", url };
  const head = /^data:([^;,]+)(?:;[^;,]*)*;base64,/i.exec(url.slice(0, 300));
  if (head === null) return null;
  const mediaType = (head[1] ?? "").trim().toLowerCase();
  return {
    at: "inline",
    mediaType: mediaType === "image/jpg" ? "image/jpeg" : mediaType,
    base64: url.slice(head[0].length),
  };
}
