// Reads chat messages as the turns of a conversation.
import { isRecord, stringOf, wordOf } from "../../../core/json.ts";
import {
  type NeutralBlock,
  type NeutralTurn,
  type ReasoningBlock,
  type ToolResultBlock,
  thought,
} from "../../../core/neutral.ts";
import { argumentsText } from "../../../core/raw-json.ts";
import { audioBlock, foreign, mediaSource, type PartBlock, textBlock } from "../neutral-blocks.ts";
import type { ChatBody, ChatMessage } from "./fields.ts";

/** The conversation in order. Tool results become user turns. */
export function turnsOf(body: ChatBody): NeutralTurn[] {
  const messages: readonly unknown[] = Array.isArray(body.messages) ? body.messages : [];
  return messages.filter((message): message is ChatMessage => isRecord(message)).map(turnOf);
}

function turnOf(message: ChatMessage): NeutralTurn {
  const { role } = message;
  switch (role) {
    case "system":
    case "developer":
    case "user":
      return { role, blocks: partsOf(message) };
    case "assistant":
      return { role, blocks: [...thoughtsOf(message), ...partsOf(message), ...callsOf(message)] };
    case "tool":
      return { role: "user", blocks: [resultOf(message)] };
    default:
      return { role: "user", blocks: [{ kind: "foreign", what: `messages of role ${wordOf(role).slice(0, 50)}` }] };
  }
}

function callsOf(message: ChatMessage): NeutralBlock[] {
  const blocks: NeutralBlock[] = [];
  if (isRecord(message.function_call)) blocks.push({ kind: "foreign", what: "function_call (use tool_calls)" });
  for (const call of Array.isArray(message.tool_calls) ? message.tool_calls : []) {
    const called = isRecord(call) && isRecord(call.function) ? call.function : null;
    if (called === null) blocks.push({ kind: "foreign", what: "tool calls that are no function calls" });
    else
      blocks.push({
        kind: "tool-call",
        id: stringOf(call.id) ?? null,
        name: wordOf(called.name),
        arguments: argumentsText(called.arguments),
        cacheMark: false,
      });
  }
  return blocks;
}

function resultOf(message: ChatMessage): ToolResultBlock {
  return {
    kind: "tool-result",
    callId: stringOf(message.tool_call_id) ?? null,
    name: stringOf(message.name) ?? null,
    content: typeof message.content === "string" ? message.content : partsOf(message),
    isError: false,
    cacheMark: isCacheMark(message.cache_control),
  };
}

/**
 * Signed thoughts in `reasoning_details`, in OpenRouter's form. Clients that merely concatenate stream deltas send one text in fragments;
 * these are joined by format and index.
 */
function thoughtsOf(message: ChatMessage): ReasoningBlock[] {
  const details: readonly unknown[] = Array.isArray(message.reasoning_details) ? message.reasoning_details : [];
  const thoughts: ReasoningBlock[] = [];
  const fragments = new Map<string, { readonly index: unknown; readonly text: string }>();
  for (const detail of details) {
    if (!isRecord(detail) || typeof detail.format !== "string") continue;
    const { format, type, data, index, signature } = detail;
    if (type === "reasoning.encrypted" && typeof data === "string" && data !== "")
      thoughts.push(thought({ format, sealed: data, callId: stringOf(detail.id) ?? null }));
    if (type !== "reasoning.text") continue;
    const before = fragments.get(format);
    const text = (before !== undefined && before.index === index ? before.text : "") + (stringOf(detail.text) ?? "");
    fragments.set(format, { index, text });
    if (typeof signature !== "string" || signature === "") continue;
    thoughts.push(thought({ format, text, signature }));
    fragments.delete(format);
  }
  return thoughts;
}

/** True if a `cache_control` requests caching. All our cache marks last five minutes; other lifetimes were refused earlier. */
export function isCacheMark(value: unknown): boolean {
  return isRecord(value) && value.type === "ephemeral";
}

/** The parts of a message's content; a plain string is one text part. */
function partsOf(message: ChatMessage): PartBlock[] {
  const { content } = message;
  if (typeof content === "string") return [textBlock(content, isCacheMark(message.cache_control))];
  return Array.isArray(content) ? content.map(readPart) : [];
}

function readPart(part: unknown): PartBlock {
  if (!isRecord(part)) return foreign("a content part that is no object");
  const cacheMark = isCacheMark(part.cache_control);
  switch (part.type) {
    case "text":
      return textBlock(stringOf(part.text) ?? "", cacheMark);
    case "refusal":
      return textBlock(stringOf(part.refusal) ?? "", cacheMark);
    case "image_url":
      return readImage(part.image_url, cacheMark);
    case "input_audio":
      return audioBlock(part.input_audio, cacheMark);
    case "file":
      return readFile(part.file, cacheMark);
    default:
      return foreign(`content parts of type ${wordOf(part.type).slice(0, 50)}`);
  }
}

function readImage(image: unknown, cacheMark: boolean): PartBlock {
  const source = mediaSource(isRecord(image) ? image.url : image);
  if (source === null) return foreign("an image_url that is neither a base64 data: URL nor an http address");
  return { kind: "image", source, filename: null, cacheMark };
}

function readFile(file: unknown, cacheMark: boolean): PartBlock {
  const fields = isRecord(file) ? file : {};
  if (fields.file_id !== undefined) return foreign("a file_id, which only the provider that keeps the file can read");
  const source = mediaSource(fields.file_data);
  if (source === null) return foreign("a file whose file_data is neither a base64 data: URL nor an http address");
  return { kind: "file", source, filename: stringOf(fields.filename) ?? null, cacheMark };
}
