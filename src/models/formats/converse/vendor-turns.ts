// Converts turns of the messages wire to turns of the converse wire.
import type { ChatTakes } from "../../../catalog/chat-wire.ts";
import { isRecord, type Json, stringOf } from "../../../core/json.ts";
import type { Turn } from "../messages/vendor-turns.ts";

const DOCUMENT_NAME_CHARACTERS_MAX = 180;
const CACHE_POINT: Json = { cachePoint: { type: "default" } };

type CachePlace = NonNullable<ChatTakes["cachePoints"]>[number];

function sourceOf(block: Json): { readonly type: string; readonly data: string } | null {
  const { source } = block;
  if (!isRecord(source) || typeof source.data !== "string") return null;
  const type = stringOf(source.media_type) ?? "";
  return { type, data: source.type === "text" ? Buffer.from(source.data).toString("base64") : source.data };
}

/** The turns of one conversation; document names are unique in it. `cachePoints`: where this model accepts cache points. */
export class ConverseTurns {
  readonly #cachePoints: readonly CachePlace[];
  /** The names in use, each with the number of its next namesake. */
  readonly #names = new Map<string, number>();

  constructor(cachePoints: readonly CachePlace[]) {
    this.#cachePoints = cachePoints;
  }

  system(blocks: readonly Json[]): Json[] {
    return blocks.flatMap(({ text, cache_control }) => [{ text }, ...this.cachePoint("system", cache_control)]);
  }

  /** `isMarked`: cache the whole conversation. */
  messages(turns: readonly Turn[], isMarked: boolean): Json[] {
    const sent = turns.map(({ role, content }) => {
      const blocks = content.flatMap((block) => this.#block(block));
      // The wire accepts a document only next to text.
      const alone = blocks.some(({ document }) => document !== undefined) && !blocks.some(({ text }) => text);
      return { role, content: alone ? [{ text: "." }, ...blocks] : blocks };
    });
    const last = sent.at(-1);
    const end = last?.content.at(-1);
    if (isMarked && end !== undefined && end.cachePoint === undefined && end.toolResult === undefined)
      last?.content.push(...this.cachePoint("messages", true));
    return sent;
  }

  /** A cache point after a cached element, where this model accepts one. */
  cachePoint(place: CachePlace, mark: unknown): Json[] {
    return mark != null && mark !== false && this.#cachePoints.includes(place) ? [CACHE_POINT] : [];
  }

  /** Converts one block with its cache mark; empty if the wire cannot express it. */
  #block(block: Json): Json[] {
    const made = this.#made(block);
    if (made === null) return [];
    // After calls and results, the vendor rejects a cache point as an unknown key.
    const takesMark = made.toolUse === undefined && made.toolResult === undefined;
    return takesMark ? [made, ...this.cachePoint("messages", block.cache_control)] : [made];
  }

  #made(block: Json): Json | null {
    switch (block.type) {
      case "text":
        return { text: block.text };
      case "image": {
        const source = sourceOf(block);
        if (source === null) return null;
        return { image: { format: source.type.replace("image/", ""), source: { bytes: source.data } } };
      }
      case "document": {
        const source = sourceOf(block);
        if (source === null) return null;
        const format = source.type === "application/pdf" ? "pdf" : "txt";
        return { document: { format, name: this.#documentName(block.title), source: { bytes: source.data } } };
      }
      case "tool_use":
        return { toolUse: { toolUseId: block.id, name: block.name, input: block.input } };
      case "tool_result":
        return { toolResult: this.#toolResult(block) };
      case "thinking":
        return { reasoningContent: { reasoningText: { text: block.thinking, signature: block.signature } } };
      case "redacted_thinking":
        return { reasoningContent: { redactedContent: block.data } };
      default:
        return null;
    }
  }

  #toolResult({ tool_use_id, content, is_error }: Json): Json {
    const parts = Array.isArray(content) ? content.filter(isRecord).map((block) => this.#made(block)) : [];
    const blank = typeof content === "string" && content.trim() === "";
    const told = typeof content === "string" && !blank ? [{ text: content }] : parts.filter((part) => part !== null);
    return { toolUseId: tool_use_id, content: told, status: is_error === true ? "error" : "success" };
  }

  /** A unique document name without characters that the wire rejects. */
  #documentName(title: unknown): string {
    const cleaned = (stringOf(title) ?? "").replace(/[^A-Za-z0-9 ()[\]-]+/g, " ").replace(/\s+/g, " ");
    const own = cleaned.trim().slice(0, DOCUMENT_NAME_CHARACTERS_MAX).trim() || "document";
    let name = own;
    let next = this.#names.get(own) ?? 2;
    for (; this.#names.has(name); next++) name = `${own} (${next})`;
    this.#names.set(own, next);
    if (name !== own) this.#names.set(name, 2);
    return name;
  }
}

/** True if these turns contain tool calls. */
export function hasCalls(turns: readonly Turn[]): boolean {
  return turns.some(({ content }) => content.some(({ type }) => type === "tool_use" || type === "tool_result"));
}

/** True if these turns contain media given only by URL. */
export function isLinked(turns: readonly Turn[]): boolean {
  const linked = ({ source, content }: Json): boolean =>
    (isRecord(source) && source.type === "url") || (Array.isArray(content) && content.filter(isRecord).some(linked));
  return turns.some(({ content }) => content.some(linked));
}
