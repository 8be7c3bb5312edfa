// Reads a whole answer of the generate-content wire.
import { isRecord, type Json } from "../../json.ts";
import type { AnswerBlock, NeutralChoice } from "../../neutral.ts";
import type { AttemptFailure } from "../../route.ts";
import type { ChatContext, ReadAnswer } from "./dialect.ts";
import { PartReader, type ReadAnswerPart } from "./generate-content-parts.ts";
import {
  blockedPrompt,
  endingOf,
  failureInside,
  finishReasonOf,
  malformed,
  refusalText,
  toldUsage,
} from "./generate-content-wire.ts";

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
): { readonly choice: NeutralChoice; readonly empty: AttemptFailure | null } | AttemptFailure {
  const native = finishReasonOf(candidate);
  if (native === null) return malformed("the answer has no finishReason");
  const ending = endingOf(native, candidate, { ...given, calls: parts.some(({ call }) => call !== null) });
  if ("kind" in ending) return ending;
  const { reason, empty } = ending;
  const index = Number.isInteger(candidate.index) ? Number(candidate.index) : at;
  const blocks = parts.flatMap(blocksOf);
  const text = refusalText(ending, candidate);
  if (text !== "") blocks.push({ kind: "refusal", text, citations: [] });
  return { choice: { index, blocks, reason, native }, empty };
}

/** The answer, or why it is none. */
export function generateContentAnswer(json: unknown, context: ChatContext): ReadAnswer {
  if (!isRecord(json)) return malformed("the answer is no JSON object");
  if (json.error) return failureInside(json);
  const told = toldUsage(json);
  const native = blockedPrompt(json);
  if (native !== null) {
    const choice = { index: 0, blocks: [], reason: "content_filter", native } as const;
    return { answer: { choices: [choice], usage: told.usage }, upstreamCostNano: told.upstreamCostNano };
  }
  const candidates = Array.isArray(json.candidates) ? json.candidates.filter(isRecord) : [];
  if (candidates.length === 0) return malformed("the answer has no candidates");
  const parts = new PartReader(context);
  const read = candidates.map((candidate) => parts.partsOf(candidate));
  const given = { anything: read.flat().some(gives), mayBeEmpty: context.mayBeEmpty === true };
  const choices: NeutralChoice[] = [];
  let empty: AttemptFailure | null = null;
  for (const [at, candidate] of candidates.entries()) {
    const made = choiceOf(candidate, at, read[at] ?? [], given);
    if ("kind" in made) return made;
    choices.push(made.choice);
    empty ??= made.empty;
  }
  return { answer: { choices, usage: told.usage }, upstreamCostNano: told.upstreamCostNano, empty };
}
