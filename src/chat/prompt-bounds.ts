// How many tokens a prompt can count for: a cheap bound that is never too low, and what a real count needs.
import type { PartBounds } from "../catalog/adapter.ts";
import type { ChatBody, ChatPart } from "../wires/chat-completions/body.ts";

/** Vendors put words of their own around messages and tools. */
const TOKENS_AROUND = 64;
const TOKENS_PER_MESSAGE = 8;
const TOKENS_AROUND_TOOLS = 1_024;
/** Our tokenizer is one vendor's; others' count up to this much more for the same text. */
const OTHER_TOKENIZERS = 1.15;
const OTHER_TOKENIZERS_SLACK = 256;

type PartKind = "image" | "audio" | "file";

/** A map, because callers name the types: `constructor` must not find what every object has. */
const KINDS: ReadonlyMap<string, PartKind> = new Map([
  ["image_url", "image"],
  ["image", "image"],
  ["input_image", "image"],
  ["input_audio", "audio"],
  ["file", "file"],
  ["input_file", "file"],
  ["document", "file"],
]);

/** What a prompt holds beside text, and how many of its bytes are data rather than text. */
export interface PromptShape {
  readonly parts: Readonly<Record<PartKind, number>>;
  readonly dataBytes: number;
  readonly messages: number;
  readonly hasTools: boolean;
  /** A part whose kind nobody could bound. */
  readonly unknownPart: string | null;
}

function longestString(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 0;
  let longest = 0;
  for (const inner of Object.values(value)) longest = Math.max(longest, longestString(inner));
  return longest;
}

/** Surveys the messages once; text is not looked at. */
export function shapeOf(body: ChatBody): PromptShape {
  const parts = { image: 0, audio: 0, file: 0 };
  let dataBytes = 0;
  let unknownPart: string | null = null;
  for (const message of body.messages) {
    if (!Array.isArray(message.content)) continue;
    for (const part of message.content as readonly ChatPart[]) {
      const kind = KINDS.get(part.type);
      if (kind !== undefined) {
        parts[kind]++;
        dataBytes += longestString(part);
      } else if (part.type !== "text" && part.type !== "refusal" && part.type !== "reasoning") {
        unknownPart ??= part.type;
      }
    }
  }
  const hasTools = Array.isArray(body.tools) && body.tools.length > 0;
  return { parts, dataBytes, messages: body.messages.length, hasTools, unknownPart };
}

/** The most tokens that the parts beside text can count for at a model with these bounds; null: it takes no such part. */
export function partTokensMax(shape: PromptShape, bounds: PartBounds): number | null {
  const each: Record<PartKind, number | undefined> = {
    image: bounds.imageTokensMax,
    audio: bounds.audioTokensMax,
    file: bounds.fileTokensMax,
  };
  let tokens = 0;
  for (const kind of ["image", "audio", "file"] as const) {
    if (shape.parts[kind] === 0) continue;
    const most = each[kind];
    if (most === undefined) return null;
    tokens += shape.parts[kind] * most;
  }
  return tokens;
}

function around(shape: PromptShape): number {
  return TOKENS_AROUND + TOKENS_PER_MESSAGE * shape.messages + (shape.hasTools ? TOKENS_AROUND_TOOLS : 0);
}

/** The cheap bound of the text: no tokenizer makes more tokens than there are bytes. */
export function textTokensMax(shape: PromptShape, bodyBytes: number): number {
  return Math.max(0, bodyBytes - shape.dataBytes) + around(shape);
}

/** The tight bound of the text, from a real count by our tokenizer. */
export function countedTokensMax(shape: PromptShape, counted: number): number {
  return Math.ceil(counted * OTHER_TOKENIZERS) + OTHER_TOKENIZERS_SLACK + around(shape);
}

/** The text of a prompt for a token count: everything the model reads, without images and other data. */
export function promptText(body: ChatBody): string {
  const texts: string[] = [];
  for (const message of body.messages) {
    if (typeof message.content === "string") texts.push(message.content);
    else for (const part of message.content ?? []) if (typeof part.text === "string") texts.push(part.text);
    if (message.tool_calls) texts.push(JSON.stringify(message.tool_calls));
  }
  if (body.tools) texts.push(JSON.stringify(body.tools));
  if (body.response_format) texts.push(JSON.stringify(body.response_format));
  return texts.join("\n");
}
