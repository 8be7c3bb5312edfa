// Links to images and documents that a vendor cannot open: finds them in a request, and replaces them by the fetched media.
import type { ChatWire } from "../catalog/chat-wire.ts";
import { isRecord, type Json, listOf } from "../core/json.ts";
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
function opens(fetches: ChatWire["fetches"], url: string): boolean {
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

/** The link in a content part of some wire. */
export interface LinkPlace extends MediaLink {
  /** The part with media in place of the link. */
  put(media: Media): Json;
}

type PlaceOf = (part: Json) => LinkPlace | null;

/** The parts of a content, with those inside tool results. */
function* partsIn(content: unknown): Generator<Json> {
  for (const part of listOf(content).filter(isRecord)) {
    yield part;
    yield* partsIn(part.content);
  }
}

/** The links in a body's messages that its vendor cannot open. */
export function bodyLinksOf({ messages }: Json, fetches: ChatWire["fetches"], placeOf: PlaceOf): readonly MediaLink[] {
  if (fetches === undefined) return NONE;
  const links = new Map<string, MediaLink>();
  for (const part of partsIn(messages)) {
    const place = placeOf(part);
    if (place !== null && !opens(fetches, place.url)) links.set(place.url, place);
  }
  return links.size === 0 ? NONE : [...links.values()];
}

export function bodyWithMedia(body: Json, fetched: FetchedMedia, placeOf: PlaceOf): Json {
  const replaced = (part: unknown): unknown => {
    if (!isRecord(part)) return part;
    const place = placeOf(part);
    const media = place === null ? undefined : fetched.get(place.url);
    if (place !== null && media !== undefined) return place.put(media);
    return Array.isArray(part.content) ? { ...part, content: part.content.map(replaced) } : part;
  };
  return { ...body, messages: listOf(body.messages).map(replaced) };
}
