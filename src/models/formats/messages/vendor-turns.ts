// Conversations in the messages wire: system blocks, then turns with alternating roles.
import { defined, type Json } from "../../../core/json.ts";
import type {
  MediaBlock,
  MediaSource,
  NeutralBlock,
  NeutralTurn,
  ReasoningBlock,
  ToolCallBlock,
  ToolResultBlock,
} from "../../../core/neutral.ts";
import { argumentsOf } from "../../../upstream/format-kit/tool-results.ts";

export interface Turn {
  readonly role: "user" | "assistant";
  readonly content: Json[];
}

export interface Conversation {
  readonly system: readonly Json[];
  readonly turns: readonly Turn[];
  /** The first element that this wire cannot express. */
  readonly reason: string | null;
}

const IMAGE_TYPES = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/** Omits the time to live, so all our marks last five minutes: an hour has its own price. */
export function cacheControl(mark: boolean): Json | undefined {
  return mark ? { type: "ephemeral" } : undefined;
}

function imageSource(source: MediaSource): Json | string {
  if (source.at === "url") return { type: "url", url: source.url };
  if (!IMAGE_TYPES.includes(source.mediaType)) return `images of type ${source.mediaType}`;
  return { type: "base64", media_type: source.mediaType, data: source.base64 };
}

function documentSource(source: MediaSource): Json | string {
  if (source.at === "url") return { type: "url", url: source.url };
  const { mediaType, base64 } = source;
  if (mediaType === "application/pdf") return { type: "base64", media_type: mediaType, data: base64 };
  if (mediaType !== "text/plain") return `files of type ${mediaType}`;
  return { type: "text", media_type: mediaType, data: Buffer.from(base64, "base64").toString("utf8") };
}

/** A media block, or why the wire cannot express it. */
function mediaBlock({ kind, source: from, filename, cacheMark }: MediaBlock): Json | string {
  if (kind === "audio") return "audio input";
  const source = kind === "image" ? imageSource(from) : documentSource(from);
  if (typeof source === "string") return source;
  const cache_control = cacheControl(cacheMark);
  return kind === "image"
    ? defined({ type: "image", source, cache_control })
    : defined({ type: "document", source, title: filename?.slice(0, 500) || undefined, cache_control });
}

function toolUse({ id, name, arguments: text, cacheMark }: ToolCallBlock): Json {
  const cache_control = cacheControl(cacheMark);
  return defined({ type: "tool_use", id, name, input: argumentsOf(text), cache_control });
}

class ConversationBuilder {
  readonly system: Json[] = [];
  readonly turns: Turn[] = [];
  readonly #format: string;
  reason: string | null = null;

  constructor(format: string) {
    this.#format = format;
  }

  add({ role, blocks }: NeutralTurn): void {
    const put = this.#blocks(blocks);
    if (role !== "user" && blocks.some(({ kind }) => kind === "image" || kind === "file" || kind === "audio"))
      this.#refuse(`media in messages of role ${role}`);
    if (role === "user" || role === "assistant") this.#turn(role, put);
    else this.system.push(...put);
  }

  #refuse(what: string): void {
    this.reason ??= `${what} cannot be put into its wire`;
  }

  /** Merges consecutive turns of one role, so that results of parallel calls are in a single turn. */
  #turn(role: Turn["role"], blocks: Json[]): void {
    if (blocks.length === 0) return;
    const last = this.turns.at(-1);
    if (last?.role === role) last.content.push(...blocks);
    else this.turns.push({ role, content: blocks });
  }

  /** Converts blocks. Drops text that is only white space, because this wire rejects it. */
  #blocks(blocks: readonly NeutralBlock[]): Json[] {
    const put: Json[] = [];
    for (const block of blocks) {
      const made = this.#block(block);
      if (typeof made === "string") this.#refuse(made);
      else if (made !== null) put.push(made);
    }
    return put;
  }

  /** A content block, null if it is empty, or a description of what the wire cannot express. */
  #block(block: NeutralBlock): Json | string | null {
    switch (block.kind) {
      case "text":
        if (block.text.trim() === "") return null;
        return defined({ type: "text", text: block.text, cache_control: cacheControl(block.cacheMark) });
      case "image":
      case "file":
      case "audio":
        return mediaBlock(block);
      case "tool-call":
        return toolUse(block);
      case "tool-result":
        return this.#result(block);
      case "reasoning":
        return this.#thought(block);
      case "native":
        return block.format === this.#format ? { ...block.json } : `parts in the format ${block.format}`;
      case "foreign":
        return block.what;
    }
  }

  /** Drops a thought whose seal could not be verified here: forged signatures are rejected. */
  #thought({ format, text, signature, sealed }: ReasoningBlock): Json | null {
    if (format !== this.#format) return null;
    if (sealed !== null) return { type: "redacted_thinking", data: sealed };
    return signature === null ? null : { type: "thinking", thinking: text, signature };
  }

  #result({ callId, content, isError, cacheMark }: ToolResultBlock): Json {
    const blocks = typeof content === "string" ? content : this.#blocks(content);
    return defined({
      type: "tool_result",
      tool_use_id: callId,
      content: typeof blocks === "string" || blocks.length > 0 ? blocks : undefined,
      is_error: isError ? true : undefined,
      cache_control: cacheControl(cacheMark),
    });
  }
}

/** This wire rejects white space at the end of a prefilled answer. */
function trimPrefill(turns: Turn[]): void {
  const last = turns.at(-1);
  const block = last?.role === "assistant" ? last.content.at(-1) : undefined;
  if (last === undefined || block === undefined || typeof block.text !== "string") return;
  block.text = block.text.trimEnd();
  if (block.text === "") last.content.pop();
  if (last.content.length === 0) turns.pop();
}

/**
 * Converts a conversation. All system messages move to the front, the only place the wire allows; a conversation of only system messages
 * is sent as the user's. The wire requires a user turn first, so a full stop is put before a leading assistant turn.
 */
export function conversationOf(asked: readonly NeutralTurn[], format: string): Conversation {
  const builder = new ConversationBuilder(format);
  for (const turn of asked) builder.add(turn);
  const { turns, reason } = builder;
  trimPrefill(turns);
  if (turns.length === 0 && builder.system.length > 0)
    return { system: [], turns: [{ role: "user", content: builder.system }], reason };
  if (turns[0]?.role === "assistant") turns.unshift({ role: "user", content: [{ type: "text", text: "." }] });
  return { system: builder.system, turns, reason };
}
