// Links in a messages body that the vendor cannot open: finds them before the request is sent, and replaces them by the fetched media.
import type { ChatWire } from "../../../catalog/chat-wire.ts";
import { isRecord, type Json } from "../../../core/json.ts";
import type { SentRequest } from "../../../core/neutral.ts";
import { type FetchedMedia, type Media, type MediaLink, opens } from "../../../upstream/media-links.ts";

const NONE: readonly MediaLink[] = [];
/** Few bodies contain a link, and a byte search is cheaper than walking the messages. */
const MAYBE_LINKED = Buffer.from('"url"');

const KINDS: Readonly<Record<string, MediaLink["kind"]>> = { image: "image", document: "file" };

/** The link of a block, whether its vendor can open it or not; null: it has none. */
function linkOf(block: Json): MediaLink | null {
  const { type, source } = block;
  const kind = typeof type === "string" && Object.hasOwn(KINDS, type) ? KINDS[type] : undefined;
  if (kind === undefined || !isRecord(source) || source.type !== "url") return null;
  return typeof source.url === "string" ? { url: source.url, kind } : null;
}

/** All blocks of a content, including those inside tool results. */
function* blocksIn(content: unknown): Generator<Json> {
  if (!Array.isArray(content)) return;
  for (const block of content) {
    if (!isRecord(block)) continue;
    yield block;
    yield* blocksIn(block.content);
  }
}

/** The links in a body that its vendor cannot open. */
export function messagesLinks(
  { messages }: Json,
  fetches: ChatWire["fetches"],
  sent?: SentRequest,
): readonly MediaLink[] {
  if (!Array.isArray(messages) || (sent !== undefined && !sent.bytes.includes(MAYBE_LINKED))) return NONE;
  const links = new Map<string, MediaLink>();
  for (const message of messages) {
    for (const block of blocksIn(isRecord(message) ? message.content : null)) {
      const link = linkOf(block);
      if (link !== null && !opens(fetches, link.url)) links.set(link.url, link);
    }
  }
  return links.size === 0 ? NONE : [...links.values()];
}

function sourceOf({ mediaType, base64 }: Media): Json {
  if (mediaType !== "text/plain") return { type: "base64", media_type: mediaType, data: base64 };
  return { type: "text", media_type: mediaType, data: Buffer.from(base64, "base64").toString("utf8") };
}

export function messagesWithMedia(body: Json, fetched: FetchedMedia): Json {
  const replaced = (block: unknown): unknown => {
    if (!isRecord(block)) return block;
    const media = fetched.get(linkOf(block)?.url ?? "");
    if (media !== undefined) return { ...block, source: sourceOf(media) };
    return Array.isArray(block.content) ? { ...block, content: block.content.map(replaced) } : block;
  };
  const messages = Array.isArray(body.messages) ? body.messages.map(replaced) : body.messages;
  return { ...body, messages };
}
