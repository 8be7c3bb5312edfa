// Neutral blocks that several formats read from their bodies.
import { isRecord, stringOf } from "../../core/json.ts";
import type { ForeignBlock, MediaBlock, MediaSource, TextBlock } from "../../core/neutral.ts";

export type PartBlock = TextBlock | MediaBlock | ForeignBlock;

export function textBlock(text: string, cacheMark = false): TextBlock {
  return { kind: "text", text, cacheMark };
}

/** A part that no other format can express, with a description. */
export function foreign(what: string): ForeignBlock {
  return { kind: "foreign", what };
}

/** `input_audio: {data, format}`, as in both of OpenAI's formats. */
export function audioBlock(audio: unknown, cacheMark = false): MediaBlock | ForeignBlock {
  const base64 = isRecord(audio) ? stringOf(audio.data) : undefined;
  const format = isRecord(audio) ? stringOf(audio.format) : undefined;
  if (base64 === undefined || format === undefined) return foreign("an input_audio part without data and format");
  const source = { at: "inline", mediaType: `audio/${format.toLowerCase()}`, base64 } as const;
  return { kind: "audio", source, filename: null, cacheMark };
}

/** The media of a URL: on the web, or a base64 `data:` URL; null: neither. */
export function mediaSource(url: unknown): MediaSource | null {
  if (typeof url !== "string") return null;
  if (/^https?:\/\//i.test(url)) return { at: "url", url };
  if (!/^data:/i.test(url)) return null;
  const comma = url.indexOf(",");
  const head = url.slice(5, Math.max(comma, 5)).toLowerCase();
  const mediaType = (head.split(";")[0] ?? "").trim();
  if (comma < 0 || !head.endsWith(";base64") || mediaType === "") return null;
  return {
    at: "inline",
    mediaType: mediaType === "image/jpg" ? "image/jpeg" : mediaType,
    base64: url.slice(comma + 1),
  };
}

/** Computes the value once, on first use. */
export function once<T extends object>(make: () => T): () => T {
  let made: T | null = null;
  return () => {
    made ??= make();
    return made;
  };
}
