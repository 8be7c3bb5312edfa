// Parses generate-content answers of vendors, whole and streamed: their parts, usage, finish reasons.

import { isRecord, type Json, listOf, stringOf } from "../../../core/json.ts";
import { type AnswerCallBlock, type FinishReason, type ReasoningBlock, thought } from "../../../core/neutral.ts";
import { argumentsText } from "../../../core/raw-json.ts";
import type { AttemptFailure, TokenUsage } from "../../../core/route.ts";
import { classify } from "../../../upstream/classify.ts";
import type { AnswerReader, ChatContext, EventOut } from "../../../upstream/format-kit/dialect.ts";
import { generateContentError, statusInside } from "../../../upstream/format-kit/error-body.ts";
import { eventJson } from "../../../upstream/format-kit/event-json.ts";
import { formatOf } from "../../../upstream/format-kit/open-blocks.ts";
import { GivenIds } from "../../../upstream/format-kit/tool-ids.ts";
import { countOf } from "../../../upstream/json-pointer.ts";
import { malformed } from "../../../upstream/vendor-failure.ts";

/** Splits usage into disjoint buckets: prompt tokens include cached ones, candidate tokens exclude thoughts. */
export function usageOf(usage: unknown): TokenUsage | null {
  if (!isRecord(usage)) return null;
  const prompt = countOf(usage.promptTokenCount) + countOf(usage.toolUsePromptTokenCount);
  const cacheReadTokens = Math.min(prompt, countOf(usage.cachedContentTokenCount));
  const reasoningTokens = countOf(usage.thoughtsTokenCount);
  const outputTokens = countOf(usage.candidatesTokenCount) + reasoningTokens;
  if (prompt + outputTokens === 0) return null;
  return { inputTokens: prompt - cacheReadTokens, cacheReadTokens, cacheWriteTokens: 0, outputTokens, reasoningTokens };
}

const FINISH: ReadonlyMap<string, FinishReason> = new Map([
  ["STOP", "stop"],
  ["MAX_TOKENS", "length"],
  ["SAFETY", "content_filter"],
  ["RECITATION", "content_filter"],
  ["LANGUAGE", "content_filter"],
  ["BLOCKLIST", "content_filter"],
  ["PROHIBITED_CONTENT", "content_filter"],
  ["SPII", "content_filter"],
  ["IMAGE_SAFETY", "content_filter"],
  ["IMAGE_PROHIBITED_CONTENT", "content_filter"],
  ["IMAGE_RECITATION", "content_filter"],
]);

/** The vendor could not parse the model's output: the answer is void, whatever came before. */
const BROKEN = [
  "MALFORMED_FUNCTION_CALL",
  "MALFORMED_RESPONSE",
  "UNEXPECTED_TOOL_CALL",
  "TOO_MANY_TOOL_CALLS",
  "MISSING_THOUGHT_SIGNATURE",
];

/** The wire's finish reason; null if there is none yet. */
export function finishReasonOf(candidate: Json): string | null {
  const native = candidate.finishReason;
  return typeof native === "string" && native !== "" && native !== "FINISH_REASON_UNSPECIFIED" ? native : null;
}

interface Given {
  readonly anything: boolean;
  readonly calls: boolean;
  readonly mayBeEmpty: boolean;
}

/** A candidate's finish reason in OpenAI's terms, or why its answer is void. Unknown reasons, such as `OTHER`, count as truncation. */
export function endingOf(native: string, candidate: Json, given: Given): FinishReason | AttemptFailure {
  const why = [native, stringOf(candidate.finishMessage)].filter(Boolean).join(": ");
  if (BROKEN.includes(native)) return malformed(`the model's answer could not be read (${why})`);
  const finish = FINISH.get(native);
  if (finish === "stop" && given.calls) return "tool_calls";
  return finish ?? "content_filter";
}

/** Why an answer with this ending was empty; null where the ending, or the caller, explains it. */
export function emptiness(reason: FinishReason, native: string, given: Given): string | null {
  return reason !== "stop" || given.anything || given.mayBeEmpty ? null : `the answer is empty (${native})`;
}

/** Why the prompt was blocked, for an event or body without candidates; null if it was not. The vendor still counts its tokens. */
export function blockedPrompt(json: Json): string | null {
  if (Array.isArray(json.candidates) && json.candidates.length > 0) return null;
  const reason = isRecord(json.promptFeedback) ? json.promptFeedback.blockReason : undefined;
  return typeof reason !== "string" || reason === "" ? null : reason;
}

/** Classifies an error inside a 200 answer or a stream as if it had come with the status that it states. */
export function failureInside(body: Json): AttemptFailure {
  return classify(statusInside(body), generateContentError(body), null);
}

/** The output of one part. A signature can come with any part, even an empty one. */
export interface ReadAnswerPart {
  readonly text: string;
  readonly reasoning: string;
  readonly image: string | null;
  readonly call: AnswerCallBlock | null;
  readonly signed: ReasoningBlock | null;
}

export class PartReader {
  readonly #format: string;
  readonly #context: ChatContext;
  readonly #ids: GivenIds;

  constructor(context: ChatContext) {
    this.#format = formatOf(context, "generate-content");
    this.#context = context;
    this.#ids = new GivenIds(context);
  }

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
    const name = this.#context.tools?.original(call.name) ?? call.name;
    return { kind: "tool-call", id: this.#ids.give(call.id), name, arguments: argumentsText(call.args ?? {}) };
  }
}

function signedOf(part: Json, format: string, call: AnswerCallBlock | null): ReasoningBlock | null {
  const sealed = stringOf(part.thoughtSignature) ?? "";
  if (sealed === "") return null;
  return thought({ format, sealed, callId: call?.id ?? null });
}

function imageOf(part: Json): string | null {
  const data = part.inlineData;
  if (!isRecord(data) || typeof data.data !== "string" || typeof data.mimeType !== "string") return null;
  return data.mimeType.startsWith("image/") ? `data:${data.mimeType};base64,${data.data}` : null;
}

interface Choice {
  calls: number;
  thoughts: number;
  images: number;
}

export class GenerateContentReader implements AnswerReader {
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
    if (data !== null) this.#read(data);
    return data !== null;
  }

  /** One event with everything in it. Nothing of a void answer is reported. */
  whole(json: unknown): void {
    if (!isRecord(json)) return this.#out.fail(malformed("the answer is no JSON object"));
    const candidates = listOf(json.candidates).filter(isRecord);
    const given = { anything: true, calls: false, mayBeEmpty: true };
    const endings = candidates.map((candidate) => {
      const native = finishReasonOf(candidate);
      return native === null ? malformed("the answer has no finishReason") : endingOf(native, candidate, given);
    });
    const isVoid = candidates.length === 0 && blockedPrompt(json) === null;
    const failure = isVoid ? malformed("the answer has no candidates") : endings.find((end) => typeof end === "object");
    this.#read(failure === undefined ? json : { ...json, candidates: [] });
    if (failure !== undefined) return this.#out.fail(failure);
    this.#out.end();
  }

  #read(json: Json): void {
    const usage = usageOf(json.usageMetadata);
    if (usage !== null) this.#out.usage(usage);
    if (json.error) return this.#out.fail(failureInside(json));
    const blocked = blockedPrompt(json);
    if (blocked !== null) this.#block(blocked);
    for (const [at, candidate] of listOf(json.candidates).entries()) this.#readCandidate(candidate, at);
  }

  #block(native: string): void {
    this.#choice(0);
    this.#out.event({ kind: "finish", choice: 0, reason: "content_filter", native });
  }

  #readCandidate(candidate: unknown, at: number): void {
    if (!isRecord(candidate)) return;
    const index = Number.isInteger(candidate.index) ? Number(candidate.index) : at;
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
