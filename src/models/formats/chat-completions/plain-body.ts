// Nearly every chat body is of plain fields: they are looked at by hand, at a fraction of what the schema takes.
import { isRecord } from "../../../core/json.ts";

/** Who speaks in a message of a chat. */
export const ROLES = ["system", "developer", "user", "assistant", "tool", "function"] as const;
const IS_ROLE: ReadonlySet<unknown> = new Set(ROLES);

/** Fields that few send; where one of them is there, the schema reads the body. */
const RARE = [
  ...(["models", "cache_control", "tool_choice", "response_format", "logprobs", "logit_bias"] as const),
  ...(["metadata", "safetySettings"] as const),
] as const;

const MESSAGES_MAX = 100_000;
const OUTPUT_TOKENS_MAX = 10_000_000;

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}

function isTextOrAbsent(value: unknown): boolean {
  return typeof value === "string" || isAbsent(value);
}

function isBooleanOrAbsent(value: unknown): boolean {
  return typeof value === "boolean" || isAbsent(value);
}

function isWithin(value: unknown, least: number, most: number): boolean {
  return isAbsent(value) || (typeof value === "number" && value >= least && value <= most);
}

function isWholeWithin(value: unknown, least: number, most: number): boolean {
  return isAbsent(value) || (Number.isSafeInteger(value) && isWithin(value, least, most));
}

function isPlainPart(part: unknown): boolean {
  return (
    isRecord(part) &&
    typeof part.type === "string" &&
    isTextOrAbsent(part.text) &&
    isAbsent(part.image_url) &&
    isAbsent(part.cache_control)
  );
}

/** A function that may be called, or one that was. */
function isPlainFunction(named: unknown): boolean {
  return isAbsent(named) || (isRecord(named) && typeof named.name === "string");
}

function isPlainCall(call: unknown): boolean {
  return isRecord(call) && isTextOrAbsent(call.id) && isPlainFunction(call.function);
}

function isPlainTool(tool: unknown): boolean {
  return (
    isRecord(tool) && typeof tool.type === "string" && isPlainFunction(tool.function) && isAbsent(tool.cache_control)
  );
}

function isListOf(value: unknown, isOne: (one: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isOne);
}

function isPlainMessage(message: unknown): boolean {
  return (
    isRecord(message) &&
    IS_ROLE.has(message.role) &&
    (isTextOrAbsent(message.content) || isListOf(message.content, isPlainPart)) &&
    (isAbsent(message.tool_calls) || isListOf(message.tool_calls, isPlainCall)) &&
    isTextOrAbsent(message.tool_call_id) &&
    isTextOrAbsent(message.name) &&
    isAbsent(message.cache_control)
  );
}

/** Whether the schema of chat bodies would surely take a body as it is. False: the schema is to say. */
export function isPlainChat(body: Readonly<Record<string, unknown>>): boolean {
  const { model, messages, stream_options: options } = body;
  return (
    typeof model === "string" &&
    model.length > 0 &&
    model.length <= 200 &&
    isListOf(messages, isPlainMessage) &&
    (messages as readonly unknown[]).length > 0 &&
    (messages as readonly unknown[]).length <= MESSAGES_MAX &&
    isBooleanOrAbsent(body.stream) &&
    (isAbsent(options) || (isRecord(options) && isBooleanOrAbsent(options.include_usage))) &&
    isWholeWithin(body.max_tokens, 1, OUTPUT_TOKENS_MAX) &&
    isWholeWithin(body.max_completion_tokens, 1, OUTPUT_TOKENS_MAX) &&
    isWholeWithin(body.n, 1, 8) &&
    isWithin(body.temperature, 0, 2) &&
    isWithin(body.top_p, 0, 1) &&
    isWithin(body.frequency_penalty, -2, 2) &&
    isWithin(body.presence_penalty, -2, 2) &&
    isWholeWithin(body.seed, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER) &&
    isTextOrAbsent(body.stop) &&
    (isAbsent(body.tools) || isListOf(body.tools, isPlainTool)) &&
    isBooleanOrAbsent(body.parallel_tool_calls) &&
    isTextOrAbsent(body.user) &&
    RARE.every((field) => isAbsent(body[field]))
  );
}
