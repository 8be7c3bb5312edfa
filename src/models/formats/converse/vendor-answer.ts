// Reads a whole answer of the converse wire.
import { isRecord, type Json, stringOf } from "../../../core/json.ts";
import type { AnswerBlock } from "../../../core/neutral.ts";
import type { ChatContext, ReadAnswer } from "../../../upstream/dialects/dialect.ts";
import { thoughtOf } from "../../../upstream/dialects/open-blocks.ts";
import { reasonWith, wholeCalls } from "../../../upstream/dialects/tool-calls.ts";
import { malformed } from "../../../upstream/vendor-failure.ts";
import { emptiness, failureOf, finishOf, formatOf, usageOf } from "./vendor-wire.ts";

function thought(content: Json, format: string): AnswerBlock | null {
  if (typeof content.redactedContent === "string") return thoughtOf(format, { sealed: content.redactedContent });
  if (!isRecord(content.reasoningText)) return null;
  const { text, signature } = content.reasoningText;
  return thoughtOf(format, { text: stringOf(text) ?? "", signature: stringOf(signature) || null });
}

/** A block; null where it is of a kind we do not know. */
function blockOf(block: Json, format: string, callOf: ReturnType<typeof wholeCalls>): AnswerBlock | null {
  if (typeof block.text === "string") return { kind: "text", text: block.text, citations: [] };
  if (isRecord(block.reasoningContent)) return thought(block.reasoningContent, format);
  if (!isRecord(block.toolUse)) return null;
  const { toolUseId, name, input } = block.toolUse;
  return callOf({ id: toolUseId, name, arguments: input ?? {} });
}

/** The answer, or why it is none. */
export function converseAnswer(json: unknown, context: ChatContext): ReadAnswer {
  if (!isRecord(json)) return malformed("the answer is no JSON object");
  const message = isRecord(json.output) && isRecord(json.output.message) ? json.output.message : null;
  if (message === null || !Array.isArray(message.content)) return malformed("the answer has no content");
  const native = stringOf(json.stopReason);
  if (native === undefined) return malformed("the answer has no stopReason");
  const format = formatOf(context);
  const callOf = wholeCalls(context);
  const read = message.content.filter(isRecord).map((block) => blockOf(block, format, callOf));
  const blocks = read.filter((block) => block !== null);
  const gives = blocks.some((block) => block.kind === "tool-call" || ("text" in block && block.text !== ""));
  const failure = failureOf(native);
  if (failure !== null) return failure;
  const empty = gives ? null : emptiness(native);
  const choice = { index: 0, blocks, reason: reasonWith(finishOf(native), blocks), native };
  const answer = { choices: [choice], usage: usageOf(json.usage) };
  return { answer, upstreamCostNano: null, ...(empty === null ? {} : { empty }) };
}
