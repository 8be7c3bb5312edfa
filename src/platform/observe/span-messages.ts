// Formats conversations and answers by OpenTelemetry's generative-AI conventions: the JSON schemas of gen_ai.input.messages,
// gen_ai.output.messages and gen_ai.system_instructions in open-telemetry/semantic-conventions-genai, as of November 2026 (in development).
import { readJson } from "../../core/json-bytes.ts";
import type { AnswerBlock, FinishReason, MediaSource, NeutralBlock, NeutralTurn } from "../../core/neutral.ts";

export type Part = Readonly<Record<string, unknown>> & { readonly type: string };

export interface Message {
  readonly role: string;
  readonly parts: readonly Part[];
}

/** A choice of an answer; `error`: it broke off. */
export interface OutputChoice {
  readonly blocks: readonly AnswerBlock[];
  readonly reason: FinishReason | "error";
}

/** Fields in which wires put instructions, outside the conversation. */
const INSTRUCTIONS = ["system", "instructions", "systemInstruction", "system_instruction"];
const MODALITIES = { image: "image", audio: "audio", file: "document" } as const;
const DATA_URL = /^data:([^;,]{0,100})/;

/** Parses arguments and results that are JSON. */
function jsonOrText(text: string): unknown {
  const read = /^\s*[[{]/.test(text) ? readJson(Buffer.from(text)) : { wrong: "no object or list" };
  return "wrong" in read ? text : read.json;
}

/** The URL, or only that there was a file: file contents are left out. */
function mediaPart(modality: string, mime_type: string | null, url: string | null): Part {
  const about = mime_type === null ? { modality } : { modality, mime_type };
  return url === null ? { type: "blob", ...about, content: "" } : { type: "uri", ...about, uri: url };
}

function sourcePart(modality: string, source: MediaSource): Part {
  return source.at === "url" ? mediaPart(modality, null, source.url) : mediaPart(modality, source.mediaType, null);
}

function urlPart(url: string): Part {
  const [, type] = DATA_URL.exec(url) ?? [];
  return type === undefined ? mediaPart("image", null, url) : mediaPart("image", type, null);
}

function thoughtPart(text: string): readonly Part[] {
  return text === "" ? [] : [{ type: "reasoning", content: text }];
}

function partsOf(block: NeutralBlock): readonly Part[] {
  switch (block.kind) {
    case "text":
      return [{ type: "text", content: block.text }];
    case "image":
    case "file":
    case "audio":
      return [sourcePart(MODALITIES[block.kind], block.source)];
    case "tool-call":
      return [{ type: "tool_call", id: block.id, name: block.name, arguments: jsonOrText(block.arguments) }];
    case "tool-result": {
      const { content } = block;
      const response = typeof content === "string" ? jsonOrText(content) : content.flatMap(partsOf);
      return [{ type: "tool_call_response", id: block.callId, response }];
    }
    case "reasoning":
      return thoughtPart(block.text);
    case "native":
      return [{ type: String(block.json.type ?? "native") }];
    case "foreign":
      return [{ type: block.what }];
  }
}

/** Splits tool results into separate messages: some wires put them among user messages. */
function messagesOfTurn({ role, blocks }: NeutralTurn): readonly Message[] {
  const results = blocks.filter(({ kind }) => kind === "tool-result").flatMap(partsOf);
  const others = blocks.filter(({ kind }) => kind !== "tool-result").flatMap(partsOf);
  return [
    ...(results.length === 0 ? [] : [{ role: "tool", parts: results }]),
    ...(others.length === 0 ? [] : [{ role, parts: others }]),
  ];
}

/** The wire's separate instructions, and the conversation. */
export function instructionsOf(
  body: Readonly<Record<string, unknown>>,
  turns: readonly NeutralTurn[],
): { readonly instructions: readonly Part[]; readonly rest: readonly NeutralTurn[] } {
  const [first, ...others] = turns;
  const isApart = first?.role === "system" && INSTRUCTIONS.some((field) => body[field] != null);
  return isApart ? { instructions: first.blocks.flatMap(partsOf), rest: others } : { instructions: [], rest: turns };
}

/** From last to first, produced on demand, because a long conversation is cut to its end. */
export function* newestMessages(turns: readonly NeutralTurn[]): Generator<Message> {
  for (let at = turns.length - 1; at >= 0; at--) {
    const turn = turns[at];
    if (turn !== undefined) yield* messagesOfTurn(turn).toReversed();
  }
}

function answerPart(block: AnswerBlock): readonly Part[] {
  switch (block.kind) {
    case "text":
      return [{ type: "text", content: block.text }];
    case "refusal":
      return [{ type: "refusal", content: block.text }];
    case "tool-call":
      return [{ type: "tool_call", id: block.id, name: block.name, arguments: jsonOrText(block.arguments) }];
    case "image":
      return [urlPart(block.url)];
    case "reasoning":
      return thoughtPart(block.text);
    case "native":
      return [{ type: String(block.json.type ?? "native") }];
    case "action": {
      const called = { type: block.action, arguments: jsonOrText(block.arguments) };
      return [{ type: "server_tool_call", id: block.id, name: block.name, server_tool_call: called }];
    }
  }
}

/** The conventions have one finish reason where our wires have several. Collectors still read the deprecated `finish_reason`. */
export function outputOf({ blocks, reason }: OutputChoice): Message & { readonly finish_reason: string } {
  const finish_reason = reason === "tool_calls" ? "tool_call" : reason;
  return { role: "assistant", parts: blocks.flatMap(answerPart), finish_reason };
}
