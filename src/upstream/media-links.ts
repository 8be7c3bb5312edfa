// Links to images and documents that a vendor cannot open: finds them in a request, and replaces them by the fetched media.
import type { ChatWire } from "../catalog/chat-wire.ts";
import { isRecord, type Json } from "../core/json.ts";
import type { MediaBlock, NeutralBlock, NeutralRequest } from "../core/neutral.ts";

/** A link that we open for the vendor. */
export interface MediaLink {
  readonly url: string;
  readonly kind: "image" | "file";
}

export interface Media {
  readonly mediaType: string;
  readonly base64: string;
}

/** The media of a request's links, by URL. */
export type FetchedMedia = ReadonlyMap<string, Media>;

/** No vendor accepts a request with more of them as a whole. */
export const LINKS_MAX = 16;
const NONE: readonly MediaLink[] = [];
const ENDINGS = /\.(?:png|jpe?g|webp|gif|heic|heif|pdf|txt)$/i;

/** Whether a vendor opens a URL itself. */
export function opens(fetches: ChatWire["fetches"], url: string): boolean {
  if (fetches === undefined) return true;
  if (fetches === "none" || !/^https:/i.test(url)) return false;
  return fetches === "https" || ENDINGS.test(url.split(/[?#]/, 1)[0] ?? "");
}

/** Placeholders that let us check, before fetching anything, whether the vendor's wire has a place for such media. */
const STANDS_FOR: Readonly<Record<MediaLink["kind"], Media>> = {
  image: { mediaType: "image/png", base64: "" },
  file: { mediaType: "application/pdf", base64: "" },
};

/** The links of a neutral request that its vendor cannot open. */
export function linksOf(request: NeutralRequest, fetches: ChatWire["fetches"]): readonly MediaLink[] {
  if (fetches === undefined) return NONE;
  const links = new Map<string, MediaLink>();
  const visit = (block: NeutralBlock): void => {
    if (block.kind === "tool-result" && typeof block.content !== "string") block.content.forEach(visit);
    if ((block.kind !== "image" && block.kind !== "file") || block.source.at !== "url") return;
    const { url } = block.source;
    if (!opens(fetches, url)) links.set(url, { url, kind: block.kind });
  };
  for (const { blocks } of request.turns) blocks.forEach(visit);
  return links.size === 0 ? NONE : [...links.values()];
}

/** Replaces the links of a request by their media, or by placeholders before the fetch. */
export function withMedia(
  request: NeutralRequest,
  links: readonly MediaLink[],
  fetched: FetchedMedia | null,
): NeutralRequest {
  if (links.length === 0) return request;
  const known = new Map(links.map(({ url, kind }) => [url, fetched?.get(url) ?? STANDS_FOR[kind]]));
  const replaced = (block: MediaBlock): MediaBlock => {
    const media = block.source.at === "url" ? known.get(block.source.url) : undefined;
    return media === undefined ? block : { ...block, source: { at: "inline", ...media } };
  };
  const visit = (block: NeutralBlock): NeutralBlock => {
    if (block.kind === "tool-result" && typeof block.content !== "string")
      return { ...block, content: block.content.map(visit) };
    return block.kind === "image" || block.kind === "file" ? replaced(block) : block;
  };
  return { ...request, turns: request.turns.map((turn) => ({ ...turn, blocks: turn.blocks.map(visit) })) };
}

/** The place of a URL in OpenAI's chat wire: the object that holds it, its field, its name there, and its kind. */
function placeOf(
  part: unknown,
): { readonly field: string; readonly inner: Json; readonly at: string; readonly kind: MediaLink["kind"] } | null {
  if (!isRecord(part)) return null;
  if (part.type === "image_url" && isRecord(part.image_url))
    return { field: "image_url", inner: part.image_url, at: "url", kind: "image" };
  if (part.type === "file" && isRecord(part.file))
    return { field: "file", inner: part.file, at: "file_data", kind: "file" };
  return null;
}

function partsOf(message: unknown): readonly unknown[] {
  return isRecord(message) && Array.isArray(message.content) ? message.content : [];
}

/** The links of a body in OpenAI's chat wire that its vendor cannot open. */
export function bodyLinksOf(body: Json, fetches: ChatWire["fetches"]): readonly MediaLink[] {
  if (fetches === undefined || !Array.isArray(body.messages)) return NONE;
  const links = new Map<string, MediaLink>();
  for (const part of body.messages.flatMap(partsOf)) {
    const place = placeOf(part);
    const url = place?.inner[place.at];
    if (place === null || typeof url !== "string" || !/^https?:/i.test(url) || opens(fetches, url)) continue;
    links.set(url, { url, kind: place.kind });
  }
  return links.size === 0 ? NONE : [...links.values()];
}

export function bodyWithMedia(body: Json, fetched: FetchedMedia): Json {
  const messages = Array.isArray(body.messages) ? body.messages : [];
  const replaced = (part: unknown): unknown => {
    const place = placeOf(part);
    const media = place === null ? undefined : fetched.get(String(place.inner[place.at]));
    if (place === null || media === undefined || !isRecord(part)) return part;
    const data = `data:${media.mediaType};base64,${media.base64}`;
    return { ...part, [place.field]: { ...place.inner, [place.at]: data } };
  };
  return {
    ...body,
    messages: messages.map((message) =>
      isRecord(message) && Array.isArray(message.content)
        ? { ...message, content: message.content.map(replaced) }
        : message,
    ),
  };
}
