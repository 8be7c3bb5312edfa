// Reads a whole answer of the messages wire.

import { isRecord, type Json, stringOf } from "../../../core/json.ts";
import type { AnswerBlock } from "../../../core/neutral.ts";
import type { ChatContext, ReadAnswer } from "../../../upstream/dialects/dialect.ts";
import { thoughtOf } from "../../../upstream/dialects/open-blocks.ts";
import { reasonWith, wholeCalls } from "../../../upstream/dialects/tool-calls.ts";
import { malformed } from "../../../upstream/vendor-failure.ts";
import { emptiness, explanationOf, failureInside, finishOf, formatOf, usageOf } from "./vendor-wire.ts";

/** A block; null where it is of a type we do not know. */
function blockOf(block: Json, format: string, callOf: ReturnType<typeof wholeCalls>): AnswerBlock | null {
  switch (block.type) {
    case "text":
      return { kind: "text", text: stringOf(block.text) ?? "", citations: [] };
    case "thinking":
      return thoughtOf(format, { text: stringOf(block.thinking) ?? "", signature: stringOf(block.signature) || null });
    case "redacted_thinking":
      return typeof block.data === "string" ? thoughtOf(format, { sealed: block.data }) : null;
    case "tool_use":
      return callOf({ id: block.id, name: block.name, arguments: block.input ?? {} });
    default:
      return null;
  }
}

function gives(block: AnswerBlock): boolean {
  return block.kind === "tool-call" || ("text" in block && block.text !== "");
}

/** The answer, or why it is none. */
export function messagesAnswer(json: unknown, context: ChatContext): ReadAnswer {
  if (!isRecord(json)) return malformed("the answer is no JSON object");
  if (json.type === "error" || isRecord(json.error)) return failureInside(json);
  if (!Array.isArray(json.content)) return malformed("the answer has no content");
  const native = stringOf(json.stop_reason);
  if (native === undefined) return malformed("the answer has no stop_reason");
  const format = formatOf(context);
  const callOf = wholeCalls(context);
  const read = json.content.filter(isRecord).map((block) => blockOf(block, format, callOf));
  const blocks = read.filter((block) => block !== null);
  const reason = reasonWith(finishOf(native), blocks);
  const explanation = reason === "content_filter" && !blocks.some(gives) ? explanationOf(json) : undefined;
  if (explanation !== undefined) blocks.push({ kind: "refusal", text: explanation, citations: [] });
  const empty = blocks.some(gives) ? null : emptiness(reason, native);
  const usage = isRecord(json.usage) ? usageOf(json.usage) : null;
  const answer = { choices: [{ index: 0, blocks, reason, native }], usage };
  return { answer, upstreamCostNano: null, ...(empty === null ? {} : { empty }) };
}
