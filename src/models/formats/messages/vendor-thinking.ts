// Chooses the thinking settings of a request in the messages wire.
import type { ChatWire } from "../../../catalog/chat-wire.ts";
import { defined, isRecord, type Json, numberOf, stringOf } from "../../../core/json.ts";
import type { Effort, NeutralRequest } from "../../../core/neutral.ts";
import type { ChatContext } from "../../../upstream/dialects/dialect.ts";
import { budgetOf } from "../../../upstream/dialects/thinking-budget.ts";
import type { Turn } from "./vendor-turns.ts";

/** The lowest budget that the wire accepts. */
const BUDGET_MIN = 1024;

/** The wire's effort levels; there is none below `low`. */
const EFFORT: Readonly<Record<Effort, string>> = {
  minimal: "low",
  low: "low",
  medium: "medium",
  high: "high",
  xhigh: "xhigh",
  max: "max",
};

export interface Thinking {
  readonly thinking: Json | undefined;
  readonly effort: string | undefined;
}

const NOT_ASKED: Thinking = { thinking: undefined, effort: undefined };

/** True if the model will think, which excludes the sampling fields. */
export function thinks({ thinking }: Thinking): boolean {
  return thinking !== undefined && thinking.type !== "disabled";
}

/**
 * A budget cannot be combined with a prefilled answer, nor with a turn of tool calls that does not start with its thoughts (because the
 * client dropped them, or another vendor's model made the calls).
 */
function takesBudget(turns: readonly Turn[]): boolean {
  const last = turns.at(-1);
  if (last?.role === "assistant") return false;
  if (!last?.content.some((block) => block.type === "tool_result")) return true;
  const first = turns.at(-2)?.content[0]?.type;
  return first === "thinking" || first === "redacted_thinking";
}

/** For each type of `thinking`, the reasoning modes of the models that accept it. */
const TAKEN_BY: Readonly<Record<string, readonly ChatWire["reasoning"][]>> = {
  enabled: ["budget", "budget-always"],
  adaptive: ["effort", "effort-always"],
  disabled: ["budget", "effort"],
};

function takes(how: ChatWire["reasoning"], { type }: Json): boolean {
  const name = stringOf(type) ?? "";
  // Unknown models: leave it to the vendor.
  return how === undefined || !Object.hasOwn(TAKEN_BY, name) || TAKEN_BY[name]?.includes(how) === true;
}

/** The caller's own `thinking` object in this wire's form, with its budget below the output limit. */
function ownThinking(thinking: Json, outputTokensMax: number): Thinking {
  if (thinking.type !== "enabled") return { thinking, effort: undefined };
  if (outputTokensMax <= BUDGET_MIN) return NOT_ASKED;
  const asked = Math.floor(numberOf(thinking.budget_tokens) ?? 0);
  const budget_tokens = Math.min(Math.max(asked, BUDGET_MIN), outputTokensMax - 1);
  return { thinking: { ...thinking, budget_tokens }, effort: undefined };
}

/**
 * The thinking settings for this model. Where thinking conflicts with the rest of the request (a forced tool, too low an output limit),
 * the rest wins and the model answers without it.
 */
export function thinkingOf(
  { extra, reasoning: ask }: NeutralRequest,
  context: ChatContext,
  turns: readonly Turn[],
  forcedTool: boolean,
): Thinking {
  // A type that this model does not accept is treated as a general request to think.
  if (isRecord(extra.thinking) && takes(context.wire.reasoning, extra.thinking))
    return ownThinking(extra.thinking, context.outputTokensMax);
  const how = context.wire.reasoning ?? "budget";
  if (ask === null || how === "none") return NOT_ASKED;
  if (how === "budget" || how === "budget-always") {
    if (ask.off || forcedTool || context.outputTokensMax <= BUDGET_MIN || !takesBudget(turns)) return NOT_ASKED;
    const budget_tokens = budgetOf(ask, context.outputTokensMax, BUDGET_MIN);
    const display = ask.exclude ? "omitted" : undefined;
    return { thinking: defined({ type: "enabled", budget_tokens, display }), effort: undefined };
  }
  if (ask.off) {
    return how === "effort"
      ? { thinking: { type: "disabled" }, effort: undefined }
      : { thinking: undefined, effort: "low" };
  }
  const effort = ask.effort === null ? undefined : EFFORT[ask.effort];
  if (forcedTool) return { thinking: undefined, effort };
  return { thinking: { type: "adaptive", display: ask.exclude ? "omitted" : "summarized" }, effort };
}
