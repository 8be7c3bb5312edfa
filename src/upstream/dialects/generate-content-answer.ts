// Reads a whole answer of the generate-content wire into an OpenAI chat completion.
import type { AttemptFailure } from "../../plan.ts";
import { isRecord } from "../json-pointer.ts";
import { type ChoiceParts, completionOf } from "./chat-completion.ts";
import type { Json } from "./chat-request.ts";
import type { ChatContext, UnaryAnswer } from "./dialect.ts";
import { answerPartsOf, CallNames, type ReadAnswerPart } from "./generate-content-parts.ts";
import {
  blockedPrompt,
  endingOf,
  failureInside,
  finishReasonOf,
  formatOf,
  malformed,
  usageOf,
} from "./generate-content-wire.ts";

function gives(part: ReadAnswerPart): boolean {
  return part.text !== "" || part.reasoning !== "" || part.call !== null || part.image !== null;
}

function choiceOf(
  candidate: Json,
  at: number,
  parts: readonly ReadAnswerPart[],
  given: { readonly anything: boolean; readonly mayBeEmpty: boolean },
): ChoiceParts | AttemptFailure {
  const native = finishReasonOf(candidate);
  if (native === null) return malformed("the answer has no finishReason");
  const calls = parts.map((part) => part.call).filter((call) => call !== null);
  const finish = endingOf(native, candidate, { ...given, calls: calls.length > 0 });
  if (typeof finish !== "string") return finish;
  return {
    index: Number.isInteger(candidate.index) ? Number(candidate.index) : at,
    text: parts.map((part) => part.text).join(""),
    reasoning: parts.map((part) => part.reasoning).join(""),
    thoughts: parts.map((part) => part.signed).filter((thought) => thought !== null),
    images: parts.map((part) => part.image).filter((image) => image !== null),
    calls,
    finish,
    native,
  };
}

/** The answer as a `chat.completion`, or why it is none. */
export function generateContentAnswer(json: unknown, context: ChatContext): UnaryAnswer {
  if (!isRecord(json)) return malformed("the answer is no JSON object");
  if (json.error) return failureInside(json);
  const blocked = blockedPrompt(json);
  if (blocked !== null) return blocked;
  const candidates = Array.isArray(json.candidates) ? json.candidates.filter(isRecord) : [];
  if (candidates.length === 0) return malformed("the answer has no candidates");
  const names = new CallNames(context);
  const read = candidates.map((candidate) => answerPartsOf(candidate, names));
  const given = { anything: read.flat().some(gives), mayBeEmpty: context.mayBeEmpty === true };
  const choices: ChoiceParts[] = [];
  for (const [at, candidate] of candidates.entries()) {
    const choice = choiceOf(candidate, at, read[at] ?? [], given);
    if ("kind" in choice) return choice;
    choices.push(choice);
  }
  return {
    ...completionOf(choices, formatOf(context), context),
    usage: usageOf(json.usageMetadata),
    upstreamCostNano: null,
  };
}
