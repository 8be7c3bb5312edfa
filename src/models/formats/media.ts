// Bounds encoded media by its declared type, not by the name of the part that holds it.
import type { MediaKind } from "./field-table.ts";

/** `anything`: its text may fill the whole context. */
export type BoundedAs = MediaKind | "anything";

const DATA_URL = /^data:([^;,]{0,100})[^,]{0,100};base64,/i;
const ADDRESS = /^https?:\/\//i;
/** File extensions of text and documents; some providers go by these, whatever the part's type. */
const DOCUMENT_ENDINGS = ["pdf", "txt", "text", "md", "csv", "json", "xml", "html", "htm"];

function endingOf(address: string): string {
  const path = address.split(/[?#]/, 1)[0] ?? "";
  return path.slice(path.lastIndexOf(".") + 1).toLowerCase();
}

export function typedAs(type: unknown): BoundedAs {
  const mediaType = typeof type === "string" ? type.trim().toLowerCase() : "";
  if (mediaType === "application/pdf") return "file";
  if (mediaType.startsWith("image/") && mediaType !== "image/svg+xml") return "image";
  return mediaType.startsWith("audio/") ? "audio" : "anything";
}

/** Reads a media part's value; `isData`: its characters are not text for the model. */
export function readMedia(value: string, kind: MediaKind): { readonly boundedAs: BoundedAs; readonly isData: boolean } {
  if (kind === "audio") return { boundedAs: "audio", isData: true };
  const type = DATA_URL.exec(value.slice(0, 300))?.[1];
  if (type !== undefined) return { boundedAs: typedAs(type), isData: true };
  const ending = ADDRESS.test(value) ? endingOf(value) : "";
  if (kind === "image") return { boundedAs: DOCUMENT_ENDINGS.includes(ending) ? "anything" : "image", isData: false };
  return { boundedAs: ending === "pdf" ? "file" : "anything", isData: false };
}
