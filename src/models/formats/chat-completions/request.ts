// Reads a chat request: keeps the body for vendors of the same format, and translates it to the neutral form for others.
import { isRecord, type Json, numberOf, stringOf, wordOf } from "../../../core/json.ts";
import type {
  CallerRequest,
  NeutralRequest,
  NeutralTool,
  ReasoningAsk,
  ResponseFormat,
  ToolChoice,
} from "../../../core/neutral.ts";
import { once } from "../neutral-blocks.ts";
import { effortOf, responseFormat, samplingOf, stopsIn } from "../request-parts.ts";
import { type ChatBody, PLACED } from "./fields.ts";
import { isCacheMark, turnsOf } from "./turns.ts";

export const WIRE = "chat-completions";

/** The functions that the model may call: all declared, or those allowed by `tool_choice`. */
function toolsOf(body: ChatBody): NeutralTool[] {
  const allowed = allowedTools(body);
  const tools: NeutralTool[] = [];
  for (const tool of Array.isArray(body.tools) ? body.tools : []) {
    const spec = isRecord(tool) && isRecord(tool.function) ? tool.function : null;
    if (spec === null || typeof spec.name !== "string" || spec.name === "") continue;
    if (allowed !== null && !allowed.names.includes(spec.name)) continue;
    tools.push({
      kind: "function",
      name: spec.name,
      description: stringOf(spec.description) ?? null,
      parameters: isRecord(spec.parameters) ? spec.parameters : null,
      strict: spec.strict === true,
      cacheMark: isCacheMark(tool.cache_control),
    });
  }
  return tools;
}

function toolChoiceOf(body: ChatBody): ToolChoice | null {
  const choice = body.tool_choice;
  if (choice === "auto" || choice === "none" || choice === "required") return { mode: choice };
  if (!isRecord(choice)) return null;
  const name = isRecord(choice.function) ? choice.function.name : undefined;
  if (typeof name === "string") return { mode: "named", name };
  const allowed = allowedTools(body);
  return allowed === null ? null : { mode: allowed.mode };
}

function allowedTools(body: ChatBody): { mode: "auto" | "required"; names: readonly string[] } | null {
  const choice = body.tool_choice;
  if (!isRecord(choice) || !isRecord(choice.allowed_tools)) return null;
  const { mode, tools } = choice.allowed_tools;
  const names: string[] = [];
  for (const tool of Array.isArray(tools) ? tools : []) {
    const name = isRecord(tool) && isRecord(tool.function) ? tool.function.name : undefined;
    if (typeof name === "string") names.push(name);
  }
  return { mode: mode === "required" ? "required" : "auto", names };
}

function formatOf(body: ChatBody): ResponseFormat | null {
  const format = body.response_format;
  return isRecord(format) ? responseFormat(format.type, format.json_schema) : null;
}

/** Converts `thinking: {type, budget_tokens}`, which some clients also send in this format, to the form of `reasoning`. */
function thoughtOf({ thinking }: ChatBody): Json {
  if (!isRecord(thinking)) return {};
  const { type, budget_tokens, display } = thinking;
  return { enabled: type !== "disabled", max_tokens: budget_tokens, exclude: display === "omitted" };
}

/** `reasoning_effort` or `reasoning: {effort, max_tokens, enabled, exclude}`; null if both are missing. */
function reasoningOf(body: ChatBody): ReasoningAsk | null {
  const spec = isRecord(body.reasoning) ? body.reasoning : body.reasoning_effort == null ? thoughtOf(body) : {};
  const effort = stringOf(spec.effort) ?? stringOf(body.reasoning_effort) ?? null;
  const budgetTokens = numberOf(spec.max_tokens) ?? null;
  const asked = effort !== null || budgetTokens !== null || typeof spec.enabled === "boolean";
  if (!asked) return null;
  return {
    off: effort === "none" || spec.enabled === false || budgetTokens === 0,
    effort: effortOf(effort),
    budgetTokens,
    exclude: spec.exclude === true,
  };
}

/** Fields that no other format can express. Hints such as `verbosity` or a penalty are dropped, not refused. */
function foreignFields(body: ChatBody): NeutralRequest["foreign"] {
  const found: { field: string; reason: string }[] = [];
  const add = (field: string, reason: string) => found.push({ field, reason });
  if (body.logprobs === true) add("logprobs", "logprobs has no place in its wire");
  if ((numberOf(body.top_logprobs) ?? 0) > 0) add("top_logprobs", "logprobs has no place in its wire");
  if (isRecord(body.logit_bias) && Object.keys(body.logit_bias).length > 0)
    add("logit_bias", "logit_bias has no place in its wire");
  if (isRecord(body.audio)) add("audio", "audio output has no place in its wire");
  const modalities = Array.isArray(body.modalities) ? body.modalities : [];
  if (modalities.some((modality) => modality !== "text"))
    add("modalities", "modalities other than text have no place in its wire");
  if (Array.isArray(body.functions) && body.functions.length > 0)
    add("functions", "functions is out of date; use tools");
  for (const tool of Array.isArray(body.tools) ? body.tools : []) {
    const type = isRecord(tool) ? tool.type : undefined;
    if (type !== "function") add("tools", `tools of type ${wordOf(type).slice(0, 50)} have no place in its wire`);
  }
  return found;
}

function neutralOf(body: ChatBody): NeutralRequest {
  const user = isRecord(body.metadata) ? stringOf(body.metadata.user_id) : undefined;
  return {
    turns: turnsOf(body),
    tools: toolsOf(body),
    toolChoice: toolChoiceOf(body),
    parallelToolCalls: typeof body.parallel_tool_calls === "boolean" ? body.parallel_tool_calls : null,
    format: formatOf(body),
    sampling: samplingOf(body),
    reasoning: reasoningOf(body),
    stops: stopsIn(body.stop),
    choices: numberOf(body.n) ?? 1,
    user: user ?? stringOf(body.user) ?? null,
    cacheMark: isCacheMark(body.cache_control),
    extra: Object.fromEntries(Object.entries(body).filter(([field]) => !PLACED.has(field))),
    foreign: foreignFields(body),
  };
}

export function chatRequest(body: ChatBody): CallerRequest {
  return {
    wire: WIRE,
    body,
    mayBeEmpty: stopsIn(body.stop).length > 0,
    usesTools: Array.isArray(body.tools) && body.tools.length > 0,
    reasoning: () => reasoningOf(body),
    format: () => formatOf(body),
    neutral: once(() => neutralOf(body)),
  };
}
