// Reads a whole answer of the generate-content wire.
import { isRecord, type Json } from "../../../core/json.ts";
import type { AnswerBlock, NeutralChoice } from "../../../core/neutral.ts";
import type { AttemptFailure } from "../../../core/route.ts";
import type { ChatContext, ReadAnswer } from "../../../upstream/dialects/dialect.ts";
import { PartReader, type ReadAnswerPart } from "./vendor-parts.ts";
import {
  blockedPrompt,
  emptiness,
  endingOf,
  failureInside,
  finishReasonOf,
  malformed,
  usageOf,
} from "./vendor-wire.ts";

function blocksOf({ text, reasoning, image, call, signed }: ReadAnswerPart): AnswerBlock[] {
  const blocks: AnswerBlock[] = [];
  if (reasoning !== "") {
    blocks.push({ kind: "reasoning", text: reasoning, format: null, signature: null, sealed: null, callId: null });
  }
  if (text !== "") blocks.push({ kind: "text", text, citations: [] });
  if (image !== null) blocks.push({ kind: "image", url: image });
  if (signed !== null) blocks.push(signed);
  if (call !== null) blocks.push(call);
  return blocks;
}

function gives(part: ReadAnswerPart): boolean {
  return part.text !== "" || part.reasoning !== "" || part.call !== null || part.image !== null;
}

function choiceOf(
  candidate: Json,
  at: number,
  parts: readonly ReadAnswerPart[],
  given: { readonly anything: boolean; readonly mayBeEmpty: boolean },
): NeutralChoice | AttemptFailure {
  const native = finishReasonOf(candidate);
  if (native === null) return malformed("the answer has no finishReason");
  const reason = endingOf(native, candidate, { ...given, calls: parts.some(({ call }) => call !== null) });
  if (typeof reason !== "string") return reason;
  const index = Number.isInteger(candidate.index) ? Number(candidate.index) : at;
  return { index, blocks: parts.flatMap(blocksOf), reason, native };
}

/** The answer, or why it is none. */
export function generateContentAnswer(json: unknown, context: ChatContext): ReadAnswer {
  if (!isRecord(json)) return malformed("the answer is no JSON object");
  if (json.error) return failureInside(json);
  const blocked = blockedPrompt(json);
  if (blocked !== null) {
    const choice = { index: 0, blocks: [], reason: "content_filter", native: blocked } as const;
    return { answer: { choices: [choice], usage: usageOf(json.usageMetadata) }, upstreamCostNano: null };
  }
  const candidates = Array.isArray(json.candidates) ? json.candidates.filter(isRecord) : [];
  if (candidates.length === 0) return malformed("the answer has no candidates");
  const parts = new PartReader(context);
  const read = candidates.map((candidate) => parts.partsOf(candidate));
  const given = { anything: read.flat().some(gives), mayBeEmpty: context.mayBeEmpty === true };
  const choices: NeutralChoice[] = [];
  for (const [at, candidate] of candidates.entries()) {
    const choice = choiceOf(candidate, at, read[at] ?? [], given);
    if ("kind" in choice) return choice;
    choices.push(choice);
  }
  const [first] = choices;
  const empty = first === undefined ? null : emptiness(first.reason, first.native, { ...given, calls: false });
  const answer = { choices, usage: usageOf(json.usageMetadata) };
  return { answer, upstreamCostNano: null, ...(empty === null ? {} : { empty }) };
}
