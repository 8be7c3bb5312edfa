// Reads the fields of an OpenAI chat request that a translating dialect has to put somewhere else.
import { isRecord } from "../json-pointer.ts";
import type { ChatBody, ChatContext, ChatMessage } from "./dialect.ts";

export type Json = Record<string, unknown>;

/** The fields whose value is not undefined. */
export function defined(fields: Json): Json {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** The request without the fields that the adapter says this model refuses. */
export function withoutDropped(body: ChatBody, context: ChatContext): ChatBody {
  const dropped = context.wire.dropFields ?? [];
  const kept = Object.entries(body).filter(([field]) => !dropped.includes(field));
  return { ...Object.fromEntries(kept), messages: body.messages };
}

export function messagesOf(body: ChatBody): readonly ChatMessage[] {
  const messages: readonly unknown[] = Array.isArray(body.messages) ? body.messages : [];
  return messages.filter((message): message is ChatMessage => isRecord(message));
}

export function stringOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** A value from outside as a word for a person or an id; only what is a word or a number has one. */
export function wordOf(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

export function numberOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** `stop` as a list; an empty string stops nothing. */
export function stopsOf(body: ChatBody): string[] {
  const stops: unknown[] = Array.isArray(body.stop) ? body.stop : [body.stop];
  return stops.filter((stop): stop is string => typeof stop === "string" && stop !== "");
}

export interface FunctionTool {
  readonly name: string;
  readonly description: string | undefined;
  readonly parameters: Json | undefined;
  readonly strict: boolean;
  readonly cacheControl: unknown;
}

/** The functions that the model may call: all that are declared, or those that `tool_choice` allows. */
export function toolsOf(body: ChatBody): FunctionTool[] {
  const allowed = allowedTools(body);
  const tools: FunctionTool[] = [];
  for (const tool of Array.isArray(body.tools) ? body.tools : []) {
    const told = isRecord(tool) && isRecord(tool.function) ? tool.function : null;
    if (told === null || typeof told.name !== "string" || told.name === "") continue;
    if (allowed !== null && !allowed.names.includes(told.name)) continue;
    tools.push({
      name: told.name,
      description: stringOf(told.description),
      parameters: isRecord(told.parameters) ? told.parameters : undefined,
      strict: told.strict === true,
      cacheControl: tool.cache_control,
    });
  }
  return tools;
}

export type ToolChoice =
  | { readonly mode: "auto" | "none" | "required" }
  | { readonly mode: "named"; readonly name: string };

/** Whether and what the model must call; null where the request leaves it open. */
export function toolChoiceOf(body: ChatBody): ToolChoice | null {
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

/** A tool call's arguments as an object. What is no JSON object is kept under `raw_arguments`, so that nothing is lost. */
export function argumentsOf(text: unknown): Json {
  if (isRecord(text)) return text;
  if (typeof text !== "string" || text.trim() === "") return {};
  try {
    const parsed: unknown = JSON.parse(text);
    if (isRecord(parsed)) return parsed;
  } catch {
    // A model that was cut off, or another vendor's, wrote half an object; the caller sends its words back all the same.
  }
  return { raw_arguments: text };
}

export type ResponseFormat = { readonly kind: "json" } | { readonly kind: "schema"; readonly schema: Json };

/** What the answer's text must be; null where it may be anything. */
export function responseFormatOf(body: ChatBody): ResponseFormat | null {
  const format = body.response_format;
  if (!isRecord(format)) return null;
  if (format.type === "json_object") return { kind: "json" };
  if (format.type !== "json_schema") return null;
  const schema = isRecord(format.json_schema) ? format.json_schema.schema : undefined;
  return isRecord(schema) ? { kind: "schema", schema } : { kind: "json" };
}

/**
 * Why a request asks for something that neither translated wire can give, or whose meaning would be lost; null where it
 * does not. Nudges such as `seed`, `verbosity` or a penalty without a place are left out, not refused.
 */
export function foreignField(body: ChatBody): string | null {
  if (body.logprobs === true || (numberOf(body.top_logprobs) ?? 0) > 0) return "logprobs has no place in its wire";
  if (isRecord(body.logit_bias) && Object.keys(body.logit_bias).length > 0)
    return "logit_bias has no place in its wire";
  if (isRecord(body.audio)) return "audio output has no place in its wire";
  const modalities = Array.isArray(body.modalities) ? body.modalities : [];
  if (modalities.some((modality) => modality !== "text")) return "modalities other than text have no place in its wire";
  if (Array.isArray(body.functions) && body.functions.length > 0) return "functions is out of date; use tools";
  for (const tool of Array.isArray(body.tools) ? body.tools : []) {
    const type = isRecord(tool) ? tool.type : undefined;
    if (type !== "function") return `tools of type ${wordOf(type).slice(0, 50)} have no place in its wire`;
  }
  return null;
}
