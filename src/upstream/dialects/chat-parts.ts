// Reads the content parts of OpenAI's wire into the few kinds of thing that a vendor may have a place for.
import { isRecord } from "../json-pointer.ts";
import { stringOf, wordOf } from "./chat-request.ts";
import type { ChatMessage } from "./dialect.ts";

export type MediaSource =
  | { readonly at: "inline"; readonly mediaType: string; readonly base64: string }
  | { readonly at: "url"; readonly url: string };

export type ReadPart =
  | { readonly kind: "text"; readonly text: string; readonly cacheControl: unknown }
  | {
      readonly kind: "image" | "file" | "audio";
      readonly source: MediaSource;
      readonly filename: string | undefined;
      readonly cacheControl: unknown;
    }
  /** It cannot be read, or nobody but OpenAI could. */
  | { readonly kind: "foreign"; readonly reason: string };

/** The parts of a message's content; a plain string is one text. */
export function partsOf(message: ChatMessage): ReadPart[] {
  const { content } = message;
  if (typeof content === "string") return [{ kind: "text", text: content, cacheControl: message.cache_control }];
  return Array.isArray(content) ? content.map(readPart) : [];
}

function readPart(part: unknown): ReadPart {
  if (!isRecord(part)) return foreign("a content part that is no object");
  const cacheControl = part.cache_control;
  switch (part.type) {
    case "text":
      return { kind: "text", text: stringOf(part.text) ?? "", cacheControl };
    case "refusal":
      return { kind: "text", text: stringOf(part.refusal) ?? "", cacheControl };
    case "image_url": {
      const url = isRecord(part.image_url) ? part.image_url.url : part.image_url;
      const source = sourceOf(url);
      if (source === null) return foreign("an image_url that is neither a base64 data: URL nor an https: address");
      return { kind: "image", source, filename: undefined, cacheControl };
    }
    case "input_audio":
      return readAudio(part.input_audio, cacheControl);
    case "file":
      return readFile(part.file, cacheControl);
    default:
      return foreign(`content parts of type ${wordOf(part.type).slice(0, 50)}`);
  }
}

function readAudio(audio: unknown, cacheControl: unknown): ReadPart {
  const base64 = isRecord(audio) ? stringOf(audio.data) : undefined;
  const format = isRecord(audio) ? stringOf(audio.format) : undefined;
  if (base64 === undefined || format === undefined) return foreign("an input_audio part without data and format");
  const source: MediaSource = { at: "inline", mediaType: `audio/${format.toLowerCase()}`, base64 };
  return { kind: "audio", source, filename: undefined, cacheControl };
}

function readFile(file: unknown, cacheControl: unknown): ReadPart {
  const told = isRecord(file) ? file : {};
  if (told.file_id !== undefined) return foreign("a file_id, which only the provider that keeps the file can read");
  const source = sourceOf(told.file_data);
  if (source === null) return foreign("a file whose file_data is neither a base64 data: URL nor an https: address");
  return { kind: "file", source, filename: stringOf(told.filename), cacheControl };
}

function foreign(reason: string): ReadPart {
  return { kind: "foreign", reason };
}

function sourceOf(url: unknown): MediaSource | null {
  if (typeof url !== "string") return null;
  if (/^https:\/\//i.test(url)) return { at: "url", url };
  if (!/^data:/i.test(url)) return null;
  const comma = url.indexOf(",");
  const head = url.slice(5, Math.max(comma, 5)).toLowerCase();
  if (comma < 0 || !head.endsWith(";base64")) return null;
  const mediaType = (head.split(";")[0] ?? "").trim();
  if (mediaType === "") return null;
  return {
    at: "inline",
    mediaType: mediaType === "image/jpg" ? "image/jpeg" : mediaType,
    base64: url.slice(comma + 1),
  };
}
