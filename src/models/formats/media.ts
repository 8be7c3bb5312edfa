// What encoded media in a prompt is bounded as: by what it says of itself, never by the name of the part it came in.
import type { MediaKind } from "./field-table.ts";

/** `anything`: it cannot be said how long its text is, so it may fill the model's context. */
export type BoundedAs = MediaKind | "anything";

const DATA_URL = /^data:([^;,]{0,100})[^,]{0,100};base64,/i;
const ADDRESS = /^https?:\/\//i;
/** Endings that name a text or a document: some providers go by them, whatever the part is called. */
const DOCUMENT_ENDINGS = ["pdf", "txt", "text", "md", "csv", "json", "xml", "html", "htm"];

function endingOf(address: string): string {
  const path = address.split(/[?#]/, 1)[0] ?? "";
  return path.slice(path.lastIndexOf(".") + 1).toLowerCase();
}

/** What media of a type is bounded as. */
export function typedAs(type: unknown): BoundedAs {
  const mediaType = typeof type === "string" ? type.trim().toLowerCase() : "";
  if (mediaType === "application/pdf") return "file";
  if (mediaType.startsWith("image/") && mediaType !== "image/svg+xml") return "image";
  return mediaType.startsWith("audio/") ? "audio" : "anything";
}

/** Reads what stands in a media part of a kind; `isData` where its characters are no text that a model could read. */
export function readMedia(value: string, kind: MediaKind): { readonly boundedAs: BoundedAs; readonly isData: boolean } {
  if (kind === "audio") return { boundedAs: "audio", isData: true };
  const type = DATA_URL.exec(value.slice(0, 300))?.[1];
  if (type !== undefined) return { boundedAs: typedAs(type), isData: true };
  const ending = ADDRESS.test(value) ? endingOf(value) : "";
  if (kind === "image") return { boundedAs: DOCUMENT_ENDINGS.includes(ending) ? "anything" : "image", isData: false };
  return { boundedAs: ending === "pdf" ? "file" : "anything", isData: false };
}
