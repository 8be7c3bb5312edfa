// Reads the parts of a candidate in the generate-content wire.
import { isRecord } from "../json-pointer.ts";
import type { ToolCall } from "./chat-completion.ts";
import type { SignedThought } from "./chat-reasoning.ts";
import { type Json, stringOf } from "./chat-request.ts";
import type { ChatContext } from "./dialect.ts";

/** What one part gives the caller; a signature can come with any part, or with an empty one. */
export interface ReadAnswerPart {
  readonly text: string;
  readonly reasoning: string;
  readonly image: string | null;
  readonly call: ToolCall | null;
  readonly signed: SignedThought | null;
}

/** Names the calls of one answer where the vendor does not; unique across answers, and short enough for any vendor. */
export class CallNames {
  readonly #stem: string;
  #count = 0;

  constructor(context: ChatContext) {
    this.#stem = context.completionId.replace(/^chatcmpl-/, "").slice(-28);
  }

  next(): string {
    return `call_${this.#stem}_${this.#count++}`;
  }
}

function callOf(part: Json, names: CallNames): ToolCall | null {
  const call = part.functionCall;
  if (!isRecord(call) || typeof call.name !== "string") return null;
  return { id: stringOf(call.id) || names.next(), name: call.name, arguments: JSON.stringify(call.args ?? {}) };
}

function imageOf(part: Json): string | null {
  const data = part.inlineData;
  if (!isRecord(data) || typeof data.data !== "string" || typeof data.mimeType !== "string") return null;
  return data.mimeType.startsWith("image/") ? `data:${data.mimeType};base64,${data.data}` : null;
}

/** The parts of a candidate's content, in order. */
export function answerPartsOf(candidate: Json, names: CallNames): ReadAnswerPart[] {
  const parts = isRecord(candidate.content) ? candidate.content.parts : undefined;
  const read: ReadAnswerPart[] = [];
  for (const part of Array.isArray(parts) ? parts : []) {
    if (!isRecord(part)) continue;
    const text = stringOf(part.text) ?? "";
    const call = callOf(part, names);
    const sealed = stringOf(part.thoughtSignature) ?? "";
    read.push({
      text: part.thought === true ? "" : text,
      reasoning: part.thought === true ? text : "",
      image: imageOf(part),
      call,
      signed: sealed === "" ? null : { text: "", signature: null, sealed, callId: call?.id ?? null },
    });
  }
  return read;
}
