// The wire of the messages API: content blocks, thinking, and events that open, fill and close each block.

import type { ChatWire } from "../../../catalog/chat-wire.ts";
import { defined, isRecord, type Json, numberOf, stringOf } from "../../../core/json.ts";
import type { Effort, NeutralRequest, NeutralTool } from "../../../core/neutral.ts";
import type { ChatContext, Dialect, UpstreamBody } from "../../../upstream/format-kit/dialect.ts";
import { withoutDropped } from "../../../upstream/format-kit/dropped-fields.ts";
import { JSON_ONLY } from "../../../upstream/format-kit/json-words.ts";
import { formatOf } from "../../../upstream/format-kit/open-blocks.ts";
import { budgetOf } from "../../../upstream/format-kit/thinking-budget.ts";
import { fitOf, NEUTRAL_TOOLS } from "../../../upstream/format-kit/tool-fit.ts";
import { MessagesReader, messagesError } from "./vendor-answer.ts";
import { messagesPassing } from "./vendor-passing.ts";
import { guaranteedSchema } from "./vendor-schema.ts";
import { cacheControl, conversationOf, type Turn } from "./vendor-turns.ts";

// Chooses the thinking settings of a request in the messages wire.

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

interface Thinking {
  readonly thinking: Json | undefined;
  readonly effort: string | undefined;
}

const NOT_ASKED: Thinking = { thinking: undefined, effort: undefined };

/** True if the model will think, which excludes the sampling fields. */
function thinks({ thinking }: Thinking): boolean {
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
function thinkingOf(
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

// Translates a request to the messages wire.

const USER_ID_CHARACTERS_MAX = 512;

function toolOf(tool: NeutralTool): Json {
  if (tool.kind === "server") return tool.json;
  const declared: Json = { ...tool.parameters, type: "object" };
  const strict = tool.strict ? guaranteedSchema(declared) : null;
  return defined({
    name: tool.name,
    description: tool.description ?? undefined,
    input_schema: strict ?? declared,
    strict: strict === null ? undefined : true,
    cache_control: cacheControl(tool.cacheMark),
  });
}

function toolFields(request: NeutralRequest): { tools?: Json[]; tool_choice?: Json; forced: boolean } {
  const { tools, toolChoice: choice, parallelToolCalls } = request;
  if (tools.length === 0) return { forced: false };
  const single = parallelToolCalls === false ? { disable_parallel_tool_use: true } : {};
  const sent = { tools: tools.map(toolOf) };
  switch (choice?.mode) {
    case "none":
      return { ...sent, tool_choice: { type: "none" }, forced: false };
    case "required":
      return { ...sent, tool_choice: { type: "any", ...single }, forced: true };
    case "named":
      return { ...sent, tool_choice: { type: "tool", name: choice.name, ...single }, forced: true };
    default:
      if (choice === null && parallelToolCalls !== false) return { ...sent, forced: false };
      return { ...sent, tool_choice: { type: "auto", ...single }, forced: false };
  }
}

/**
 * OpenAI's temperature goes up to 2, this wire's up to 1: higher values become 1. Models accept temperature or top_p, not both, so
 * temperature wins; thinking models accept neither.
 */
function sampling({ sampling: asked }: NeutralRequest, thinking: Thinking): Json {
  if (thinks(thinking)) return {};
  const { temperature, topP, topK } = asked;
  return {
    temperature: temperature === null ? undefined : Math.min(Math.max(temperature, 0), 1),
    top_p: temperature === null && topP !== null && topP !== 1 ? topP : undefined,
    top_k: topK ?? undefined,
  };
}

function outputConfig({ format, extra }: NeutralRequest, effort: string | undefined): Json | undefined {
  const schema = format?.kind === "schema" ? guaranteedSchema(format.schema) : null;
  const config = defined({
    ...(isRecord(extra.output_config) ? extra.output_config : {}),
    ...(effort === undefined ? {} : { effort }),
    ...(schema === null ? {} : { format: { type: "json_schema", schema } }),
  });
  return Object.keys(config).length > 0 ? config : undefined;
}

/** The request in the messages wire. Drops fields that it cannot express; see `messagesUnsupported`. */
function messagesRequest(request: NeutralRequest, context: ChatContext): UpstreamBody {
  const asked = withoutDropped(fitOf(context, "messages").fitted(request, NEUTRAL_TOOLS), context);
  const { system, turns } = conversationOf(asked.turns, formatOf(context, "messages"));
  const { tools, tool_choice, forced } = toolFields(asked);
  const thinking = thinkingOf(asked, context, turns, forced);
  const instructions = asked.format?.kind === "json" ? [...system, { type: "text", text: JSON_ONLY }] : system;
  const { stops, user } = asked;
  const sent = defined({
    model: context.upstreamModel,
    max_tokens: context.outputTokensMax,
    system: instructions.length > 0 ? instructions : undefined,
    messages: turns,
    tools,
    tool_choice,
    thinking: thinking.thinking,
    output_config: outputConfig(asked, thinking.effort),
    ...sampling(asked, thinking),
    stop_sequences: stops.length > 0 ? stops : undefined,
    metadata: user === null ? undefined : { user_id: user.slice(0, USER_ID_CHARACTERS_MAX) },
    cache_control: cacheControl(asked.cacheMark),
    stream: context.stream ? true : undefined,
  });
  return { path: "/messages", body: Object.assign(sent, context.wire.extraFields) };
}

function messagesUnsupported(request: NeutralRequest, context: ChatContext): string | null {
  const asked = withoutDropped(request, context);
  const format = formatOf(context, "messages");
  const [foreign] = asked.foreign;
  if (foreign !== undefined) return foreign.reason;
  if (asked.choices > 1) return "n above 1 has no place in its wire";
  if (asked.stops.some((stop) => stop.trim() === "")) return "a stop of nothing but white space is refused by its wire";
  const strange = asked.tools.find((tool) => tool.kind === "server" && tool.format !== format);
  if (strange?.kind === "server") return `tools of type ${strange.type} have no place in its wire`;
  if (asked.format?.kind === "schema" && guaranteedSchema(asked.format.schema) === null)
    return "a response_format with free keys (additionalProperties) cannot be guaranteed by its wire";
  return conversationOf(asked.turns, format).reason;
}

export const messages: Dialect = {
  wire: "messages",
  passing: messagesPassing,
  end: "message_stop",
  grows: "messages",
  fetches: "https",
  request: messagesRequest,
  reader: (context, out) => new MessagesReader(context, out),
  error: messagesError,
  unsupported: messagesUnsupported,
};
