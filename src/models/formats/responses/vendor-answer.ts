// Reads a whole answer of OpenAI's responses wire.
import { isRecord, type Json, stringOf, wordOf } from "../../../core/json.ts";
import type { AnswerBlock } from "../../../core/neutral.ts";
import type { ChatContext, ReadAnswer } from "../../../upstream/dialects/dialect.ts";
import { upstreamCostFrom } from "../../../upstream/dialects/error-body.ts";
import { wholeCalls } from "../../../upstream/dialects/tool-calls.ts";
import { malformed } from "../../../upstream/vendor-failure.ts";
import { emptiness, endOf, failureInside, sealOf, usageOf } from "./vendor-wire.ts";

function listOf(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

function partBlock(part: Json): AnswerBlock[] {
  if (part.type === "output_text") return [{ kind: "text", text: stringOf(part.text) ?? "", citations: [] }];
  if (part.type === "refusal") return [{ kind: "refusal", text: stringOf(part.refusal) ?? "", citations: [] }];
  return [];
}

/** What may be shown of a thought: its summary, or where the model hides nothing, itself. */
function shownOf(item: Json): string {
  const shown = [...listOf(item.summary), ...listOf(item.content)];
  return shown.map(({ text }) => stringOf(text) ?? "").join("\n\n");
}

/** The blocks of an output item; none of one whose type we do not know. */
function blocksOf(item: Json, callOf: ReturnType<typeof wholeCalls>, context: ChatContext): AnswerBlock[] {
  switch (item.type) {
    case "message":
      return listOf(item.content).flatMap(partBlock);
    case "function_call":
      return [callOf({ ...item, id: item.call_id })];
    case "reasoning": {
      const text = shownOf(item);
      const seal = sealOf(item, context);
      const shown = { kind: "reasoning", text, format: null, signature: null, sealed: null, callId: null } as const;
      return [...(text === "" ? [] : [shown]), ...(seal === null ? [] : [seal])];
    }
    default:
      return [];
  }
}

function gives(block: AnswerBlock): boolean {
  return block.kind === "tool-call" || ("text" in block && block.text !== "");
}

/** The answer, or why it is none. */
export function responsesAnswer(json: unknown, context: ChatContext): ReadAnswer {
  if (!isRecord(json)) return malformed("the answer is no JSON object");
  if (isRecord(json.error)) return failureInside(json.error);
  if (!Array.isArray(json.output)) return malformed("the answer has no output");
  const callOf = wholeCalls(context);
  const blocks = listOf(json.output).flatMap((item) => blocksOf(item, callOf, context));
  const end = endOf(
    json,
    blocks.some(({ kind }) => kind === "tool-call"),
  );
  if (end === null) return malformed(`the answer's status is ${wordOf(json.status) || "missing"}`);
  const empty = blocks.some(gives) ? null : emptiness(end.reason, end.native);
  const answer = { choices: [{ index: 0, blocks, ...end }], usage: usageOf(json.usage) };
  const upstreamCostNano = upstreamCostFrom(json.usage, context);
  return { answer, upstreamCostNano, ...(empty === null ? {} : { empty }) };
}
