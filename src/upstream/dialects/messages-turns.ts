// The conversation of a request in the messages wire: system blocks, then turns of alternating roles.

import { isRecord } from "../json-pointer.ts";
import { type MediaSource, partsOf, type ReadPart } from "./chat-parts.ts";
import { signedThoughtsOf } from "./chat-reasoning.ts";
import { argumentsOf, defined, type Json, wordOf } from "./chat-request.ts";
import type { ChatMessage } from "./dialect.ts";

export interface Turn {
  readonly role: "user" | "assistant";
  readonly content: Json[];
}

export interface Conversation {
  readonly system: readonly Json[];
  readonly turns: readonly Turn[];
  /** The first thing that has no place in this wire. */
  readonly reason: string | null;
}

const IMAGE_TYPES = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/** A tool call's id as this wire allows it. The same id always becomes the same, so calls and results still meet. */
function toolUseId(id: unknown): string {
  return wordOf(id).replace(/[^a-zA-Z0-9_-]/g, "_") || "_";
}

/** A cache mark without its time to live: an hour is priced apart, and every mark here lives five minutes. */
export function cacheMark(value: unknown): Json | undefined {
  return isRecord(value) && value.type === "ephemeral" ? { type: "ephemeral" } : undefined;
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

/** A content block, null for an empty text (which this wire refuses), or why the part has no place. */
function blockOf(part: ReadPart): Json | string | null {
  if (part.kind === "foreign") return part.reason;
  const cache_control = cacheMark(part.cacheControl);
  if (part.kind === "text") return part.text === "" ? null : defined({ type: "text", text: part.text, cache_control });
  if (part.kind === "audio") return "audio input";
  const source = part.kind === "image" ? imageSource(part.source) : documentSource(part.source);
  if (typeof source === "string") return source;
  return part.kind === "image"
    ? defined({ type: "image", source, cache_control })
    : defined({ type: "document", source, title: part.filename?.slice(0, 500) || undefined, cache_control });
}

class ConversationBuilder {
  readonly system: Json[] = [];
  readonly turns: Turn[] = [];
  readonly #format: string;
  reason: string | null = null;

  constructor(format: string) {
    this.#format = format;
  }

  add(message: ChatMessage): void {
    switch (message.role) {
      case "system":
      case "developer":
        this.system.push(...this.#textBlocks(message));
        return;
      case "user":
        this.#turn("user", this.#blocks(message));
        return;
      case "assistant":
        this.#turn("assistant", [...this.#thoughts(message), ...this.#textBlocks(message), ...this.#calls(message)]);
        return;
      case "tool":
        this.#turn("user", [this.#result(message)]);
        return;
      default:
        this.#refuse(`messages of role ${wordOf(message.role).slice(0, 50)}`);
    }
  }

  #refuse(what: string): void {
    this.reason ??= `${what} cannot be put into its wire`;
  }

  /** Turns of one role in a row become one, so that the results of parallel calls come in a single turn. */
  #turn(role: Turn["role"], blocks: Json[]): void {
    if (blocks.length === 0) return;
    const last = this.turns.at(-1);
    if (last?.role === role) last.content.push(...blocks);
    else this.turns.push({ role, content: blocks });
  }

  #blocks(message: ChatMessage): Json[] {
    const blocks: Json[] = [];
    for (const part of partsOf(message)) {
      const block = blockOf(part);
      if (typeof block === "string") this.#refuse(block);
      else if (block !== null) blocks.push(block);
    }
    return blocks;
  }

  #textBlocks(message: ChatMessage): Json[] {
    const blocks = this.#blocks(message);
    const texts = blocks.filter((block) => block.type === "text");
    if (texts.length < blocks.length) this.#refuse(`media in messages of role ${message.role}`);
    return texts;
  }

  #thoughts(message: ChatMessage): Json[] {
    return signedThoughtsOf(message, this.#format).map((thought) =>
      thought.sealed === null
        ? { type: "thinking", thinking: thought.text, signature: thought.signature }
        : { type: "redacted_thinking", data: thought.sealed },
    );
  }

  #calls(message: ChatMessage): Json[] {
    if (isRecord(message.function_call)) this.#refuse("function_call (use tool_calls)");
    const blocks: Json[] = [];
    for (const call of Array.isArray(message.tool_calls) ? message.tool_calls : []) {
      const told = isRecord(call) && isRecord(call.function) ? call.function : null;
      if (told === null) this.#refuse("tool calls that are no function calls");
      else
        blocks.push({
          type: "tool_use",
          id: toolUseId(call.id),
          name: wordOf(told.name),
          input: argumentsOf(told.arguments),
        });
    }
    return blocks;
  }

  #result(message: ChatMessage): Json {
    const blocks = this.#blocks(message);
    const text = typeof message.content === "string" ? message.content : undefined;
    return defined({
      type: "tool_result",
      tool_use_id: toolUseId(message.tool_call_id),
      content: text ?? (blocks.length > 0 ? blocks : undefined),
      cache_control: cacheMark(message.cache_control),
    });
  }
}

/** This wire refuses white space at the end of a prefilled answer. */
function trimPrefill(turns: Turn[]): void {
  const last = turns.at(-1);
  const block = last?.role === "assistant" ? last.content.at(-1) : undefined;
  if (last === undefined || block === undefined || typeof block.text !== "string") return;
  block.text = block.text.trimEnd();
  if (block.text === "") last.content.pop();
  if (last.content.length === 0) turns.pop();
}

/**
 * Puts a conversation into the wire. System messages go to the front wherever they stood, because the wire knows them
 * nowhere else; a conversation of nothing else is asked as the user's. It must begin with a user's turn, so one that
 * begins with the assistant's gets a full stop before it.
 */
export function conversationOf(messages: readonly ChatMessage[], format: string): Conversation {
  const builder = new ConversationBuilder(format);
  for (const message of messages) builder.add(message);
  const { turns, reason } = builder;
  trimPrefill(turns);
  if (turns.length === 0 && builder.system.length > 0) {
    return { system: [], turns: [{ role: "user", content: builder.system }], reason };
  }
  if (turns[0]?.role === "assistant") turns.unshift({ role: "user", content: [{ type: "text", text: "." }] });
  return { system: builder.system, turns, reason };
}
