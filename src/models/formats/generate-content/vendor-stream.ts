// Parses a stream of the generate-content wire, where each event is a part of the answer.

import { isRecord, type Json } from "../../../core/json.ts";
import type { ChatContext, EventOut, StreamReader } from "../../../upstream/dialects/dialect.ts";
import { eventJson } from "../../../upstream/dialects/event-json.ts";
import {
  blockedPrompt,
  emptiness,
  endingOf,
  failureInside,
  finishReasonOf,
  PartReader,
  type ReadAnswerPart,
  usageOf,
} from "./vendor-answer.ts";

interface Choice {
  calls: number;
  thoughts: number;
  images: number;
}

class GenerateContentReader implements StreamReader {
  readonly #out: EventOut;
  readonly #mayBeEmpty: boolean;
  readonly #parts: PartReader;
  readonly #choices = new Map<number, Choice>();
  #delivered = false;

  constructor(context: ChatContext, out: EventOut) {
    this.#out = out;
    this.#mayBeEmpty = context.mayBeEmpty === true;
    this.#parts = new PartReader(context);
  }

  event(bytes: Buffer, start: number, end: number): boolean {
    const data = eventJson(bytes, start, end);
    if (data === null) return false;
    const usage = usageOf(data.usageMetadata);
    if (usage !== null) this.#out.usage(usage);
    const blocked = data.error ? null : blockedPrompt(data);
    if (data.error) this.#out.fail(failureInside(data));
    else if (blocked !== null) this.#block(blocked);
    else for (const candidate of Array.isArray(data.candidates) ? data.candidates : []) this.#read(candidate);
    return true;
  }

  #block(native: string): void {
    this.#choice(0);
    this.#out.event({ kind: "finish", choice: 0, reason: "content_filter", native });
  }

  #read(candidate: unknown): void {
    if (!isRecord(candidate)) return;
    const index = Number.isInteger(candidate.index) ? Number(candidate.index) : 0;
    const choice = this.#choice(index);
    for (const part of this.#parts.partsOf(candidate)) this.#give(index, choice, part);
    const native = finishReasonOf(candidate);
    if (native !== null) this.#finish(index, choice, native, candidate);
  }

  #finish(index: number, choice: Choice, native: string, candidate: Json): void {
    const given = { anything: this.#delivered, calls: choice.calls > 0, mayBeEmpty: this.#mayBeEmpty };
    const ending = endingOf(native, candidate, given);
    if (typeof ending !== "string") return this.#out.fail(ending);
    const empty = emptiness(ending, native, given);
    if (empty !== null) this.#out.empty(empty);
    this.#out.event({ kind: "finish", choice: index, reason: ending, native });
  }

  #choice(index: number): Choice {
    const known = this.#choices.get(index);
    if (known !== undefined) return known;
    const choice = { calls: 0, thoughts: 0, images: 0 };
    this.#choices.set(index, choice);
    this.#out.event({ kind: "begin", choice: index });
    return choice;
  }

  #give(index: number, choice: Choice, { reasoning, text, image, call, signed }: ReadAnswerPart): void {
    const out = this.#out;
    this.#delivered ||= reasoning !== "" || text !== "" || image !== null || call !== null;
    if (reasoning !== "") out.event({ kind: "reasoning", choice: index, text: reasoning });
    if (text !== "") out.event({ kind: "text", choice: index, text });
    if (image !== null) out.event({ kind: "image", choice: index, at: choice.images++, url: image });
    // Before its call, so that wires that send one block at a time can still include it.
    if (signed !== null) out.event({ kind: "thought", choice: index, at: choice.thoughts++, thought: signed });
    if (call !== null) out.event({ ...call, choice: index, at: choice.calls++ });
  }
}

export function generateContentReader(context: ChatContext, out: EventOut): StreamReader {
  return new GenerateContentReader(context, out);
}
