// Reads the parts of a candidate in the generate-content wire.
import { isRecord, type Json, stringOf } from "../../../core/json.ts";
import type { AnswerCallBlock, ReasoningBlock } from "../../../core/neutral.ts";
import type { ChatContext } from "../../../upstream/dialects/dialect.ts";
import { wholeCalls } from "../../../upstream/dialects/tool-calls.ts";
import { formatOf } from "./vendor-wire.ts";

/** What one part gives the caller; a signature can come with any part, or with an empty one. */
export interface ReadAnswerPart {
  readonly text: string;
  readonly reasoning: string;
  readonly image: string | null;
  readonly call: AnswerCallBlock | null;
  readonly signed: ReasoningBlock | null;
}

/** Reads the parts of one answer. */
export class PartReader {
  readonly #format: string;
  readonly #wholeCall: ReturnType<typeof wholeCalls>;

  constructor(context: ChatContext) {
    this.#format = formatOf(context);
    this.#wholeCall = wholeCalls(context);
  }

  /** The parts of a candidate's content, in order. */
  partsOf(candidate: Json): ReadAnswerPart[] {
    const parts = isRecord(candidate.content) ? candidate.content.parts : undefined;
    return Array.isArray(parts) ? parts.filter(isRecord).map((part) => this.#read(part)) : [];
  }

  #read(part: Json): ReadAnswerPart {
    const text = stringOf(part.text) ?? "";
    const call = this.#callOf(part.functionCall);
    return {
      text: part.thought === true ? "" : text,
      reasoning: part.thought === true ? text : "",
      image: imageOf(part),
      call,
      signed: signedOf(part, this.#format, call),
    };
  }

  #callOf(call: unknown): AnswerCallBlock | null {
    if (!isRecord(call) || typeof call.name !== "string") return null;
    return this.#wholeCall({ ...call, arguments: call.args ?? {} });
  }
}

function signedOf(part: Json, format: string, call: AnswerCallBlock | null): ReasoningBlock | null {
  const sealed = stringOf(part.thoughtSignature) ?? "";
  if (sealed === "") return null;
  return { kind: "reasoning", text: "", format, signature: null, sealed, callId: call?.id ?? null };
}

function imageOf(part: Json): string | null {
  const data = part.inlineData;
  if (!isRecord(data) || typeof data.data !== "string" || typeof data.mimeType !== "string") return null;
  return data.mimeType.startsWith("image/") ? `data:${data.mimeType};base64,${data.data}` : null;
}
