// Reads a request in the messages format: keeps the body for vendors of the same format, and translates it for others.
import { isRecord, type Json, listOf, numberOf, stringOf, wordOf } from "../../../core/json.ts";
import type {
  CallerRequest,
  NeutralRequest,
  NeutralTool,
  ReasoningAsk,
  ResponseFormat,
  ToolChoice,
} from "../../../core/neutral.ts";
import { once } from "../neutral-blocks.ts";
import { effortOf, samplingOf, stopsIn } from "../request-parts.ts";
import type { ThoughtsShown } from "./blocks.ts";
import { WIRE } from "./errors.ts";
import type { MessagesBody } from "./fields.ts";
import { isCacheMark, turnsOf } from "./turns.ts";

/** The caller's own tools; every other type is a vendor's. */
function isFunction({ type }: Json): boolean {
  return type === undefined || type === null || type === "custom";
}

/** Tools added by system turns count as declared. */
function addedTools({ messages }: MessagesBody): readonly unknown[] {
  const blocks = messages.filter(isRecord).flatMap(({ role, content }) => (role === "system" ? listOf(content) : []));
  return blocks.filter(isRecord).flatMap((block) => (block.type === "tool_addition" ? [block.tool] : []));
}

/** The tools that the client runs; deferred ones are included. */
function toolsOf(body: MessagesBody): NeutralTool[] {
  const declared = [...listOf(body.tools), ...addedTools(body)]
    .filter(isRecord)
    .filter((tool) => isFunction(tool) && typeof tool.name === "string" && tool.name !== "")
    .map((tool) => [wordOf(tool.name), tool] as const);
  return [...new Map(declared)].map(([name, tool]) => ({
    kind: "function",
    name,
    description: stringOf(tool.description) ?? null,
    parameters: isRecord(tool.input_schema) ? tool.input_schema : null,
    strict: tool.strict === true,
    cacheMark: isCacheMark(tool),
  }));
}

function toolChoiceOf({ tool_choice: choice }: MessagesBody): ToolChoice | null {
  if (!isRecord(choice)) return null;
  switch (choice.type) {
    case "auto":
    case "none":
      return { mode: choice.type };
    case "any":
      return { mode: "required" };
    case "tool":
      return typeof choice.name === "string" ? { mode: "named", name: choice.name } : null;
    default:
      return null;
  }
}

function parallelToolCallsOf({ tool_choice: choice }: MessagesBody): boolean | null {
  const one = isRecord(choice) ? choice.disable_parallel_tool_use : undefined;
  return typeof one === "boolean" ? !one : null;
}

function outputConfigOf({ output_config: config }: MessagesBody): Json {
  return isRecord(config) ? config : {};
}

function formatOf(body: MessagesBody): ResponseFormat | null {
  const format = outputConfigOf(body).format ?? body.output_format;
  if (!isRecord(format) || format.type !== "json_schema" || !isRecord(format.schema)) return null;
  return { kind: "schema", schema: format.schema, name: null, strict: true };
}

/** `thinking` and the effort; null if both are missing. */
function reasoningOf(body: MessagesBody): ReasoningAsk | null {
  const thinking = isRecord(body.thinking) ? body.thinking : null;
  const effort = effortOf(outputConfigOf(body).effort);
  if (thinking === null && effort === null) return null;
  return {
    off: thinking?.type === "disabled",
    effort,
    budgetTokens: thinking?.type === "enabled" ? (numberOf(thinking.budget_tokens) ?? null) : null,
    exclude: thinking?.display === "omitted",
  };
}

export function thoughtsShown({ thinking }: MessagesBody): ThoughtsShown {
  if (!isRecord(thinking) || thinking.type === "disabled") return "none";
  return thinking.display === "omitted" ? "sealed" : "all";
}

/** Tools whose schema only the vendor's own models know. */
function foreignTools({ tools }: MessagesBody): NeutralRequest["foreign"] {
  return listOf(tools)
    .filter(isRecord)
    .filter((tool) => !isFunction(tool))
    .map(({ type }) => ({
      field: "tools",
      reason: `tools of type ${wordOf(type).slice(0, 50)} have no place in its wire`,
    }));
}

function neutralOf(body: MessagesBody): NeutralRequest {
  return {
    turns: turnsOf(body),
    tools: toolsOf(body),
    toolChoice: toolChoiceOf(body),
    parallelToolCalls: parallelToolCallsOf(body),
    format: formatOf(body),
    sampling: samplingOf(body),
    reasoning: reasoningOf(body),
    stops: stopsIn(body.stop_sequences),
    choices: 1,
    // Clients put a session id into `metadata`, not a user.
    user: null,
    cacheMark: isCacheMark(body),
    extra: {},
    foreign: foreignTools(body),
  };
}

export function messagesRequest(body: MessagesBody): CallerRequest {
  return {
    wire: WIRE,
    body,
    mayBeEmpty: stopsIn(body.stop_sequences).length > 0,
    usesTools: listOf(body.tools).length > 0,
    reasoning: () => reasoningOf(body),
    format: () => formatOf(body),
    neutral: once(() => neutralOf(body)),
  };
}
