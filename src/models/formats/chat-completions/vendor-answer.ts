// Reads a whole answer in OpenAI's wire for a caller of another one.
import { isRecord, type Json, listOf, stringOf, wordOf } from "../../../core/json.ts";
import type { AnswerBlock, NeutralChoice } from "../../../core/neutral.ts";
import { classify } from "../../../upstream/classify.ts";
import type { ChatContext, ReadAnswer } from "../../../upstream/dialects/dialect.ts";
import { readError, statusInside } from "../../../upstream/dialects/error-body.ts";
import { pieceOf, reasonWith, wholeCalls } from "../../../upstream/dialects/tool-calls.ts";
import { contentText, EMPTY, finishOf, imageUrl, readUsage, reasoningText, sealOf } from "./vendor-wire.ts";

/** The thoughts: signed ones as they are, and what was said aloud where no signed one repeats it. */
function thoughtsOf(message: Json, context: ChatContext): AnswerBlock[] {
  const seals = listOf(message.reasoning_details)
    .map((detail) => sealOf(detail, context))
    .filter((seal) => seal !== null);
  const text = reasoningText(message);
  if (text === "" || seals.some((seal) => seal.text !== "")) return seals;
  const aloud = { kind: "reasoning", text, format: null, signature: null, sealed: null, callId: null } as const;
  return [aloud, ...seals];
}

type CallOf = ReturnType<typeof wholeCalls>;

function blocksOf(message: Json, context: ChatContext, callOf: CallOf): AnswerBlock[] {
  const said = (["content", "refusal"] as const).flatMap((key): AnswerBlock[] => {
    const text = key === "content" ? contentText(message) : (stringOf(message.refusal) ?? "");
    return text === "" ? [] : [{ kind: key === "content" ? "text" : "refusal", text, citations: [] }];
  });
  const images = listOf(message.images)
    .map(imageUrl)
    .filter((url) => url !== null);
  return [
    ...thoughtsOf(message, context),
    ...said,
    ...images.map((url): AnswerBlock => ({ kind: "image", url })),
    ...listOf(message.tool_calls)
      .filter(isRecord)
      .map((call) => callOf(pieceOf(call))),
  ];
}

function choiceOf(choice: Json, at: number, context: ChatContext, callOf: CallOf): NeutralChoice {
  const reason = wordOf(choice.finish_reason);
  const blocks = blocksOf(isRecord(choice.message) ? choice.message : {}, context, callOf);
  return {
    index: typeof choice.index === "number" ? choice.index : at,
    blocks,
    reason: reasonWith(finishOf(reason), blocks),
    native: stringOf(choice.native_finish_reason) ?? reason,
  };
}

/** The answer, or why it is none. */
export function chatCompletionsAnswer(json: unknown, context: ChatContext): ReadAnswer {
  if (isRecord(json) && json.error) return classify(statusInside(json), readError(json), null);
  const told = isRecord(json) ? listOf(json.choices).filter(isRecord) : [];
  if (told.length === 0) {
    return { kind: "provider_malformed", status: 200, message: "the answer has no choices", retryAfterMs: null };
  }
  const callOf = wholeCalls(context);
  const choices = told.map((choice, at) => choiceOf(choice, at, context, callOf));
  const empty = choices.every(({ blocks, reason }) => reason === "stop" && blocks.length === 0);
  const { usage, upstreamCostNano } = readUsage(json, context);
  const answer = { choices, usage };
  return { answer, upstreamCostNano, ...(empty && context.mayBeEmpty !== true ? { empty: EMPTY } : {}) };
}
