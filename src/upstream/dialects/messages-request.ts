// Puts an OpenAI chat request into the messages wire.
import { isRecord } from "../json-pointer.ts";
import {
  defined,
  type FunctionTool,
  foreignField,
  type Json,
  messagesOf,
  numberOf,
  responseFormatOf,
  stopsOf,
  stringOf,
  toolChoiceOf,
  toolsOf,
  withoutDropped,
} from "./chat-request.ts";
import type { ChatBody, ChatContext, UpstreamBody } from "./dialect.ts";
import { guaranteedSchema } from "./messages-schema.ts";
import { type Thinking, thinkingOf, thinks } from "./messages-thinking.ts";
import { cacheMark, conversationOf } from "./messages-turns.ts";
import { formatOf } from "./messages-wire.ts";

const USER_ID_CHARACTERS_MAX = 512;

/** What stands for `response_format: json_object`, for which the wire has no field. */
const JSON_ONLY = "Answer with one JSON object and nothing else: no words around it and no code fence.";

function toolOf(tool: FunctionTool): Json {
  const declared: Json = { ...tool.parameters, type: "object" };
  const strict = tool.strict ? guaranteedSchema(declared) : null;
  return defined({
    name: tool.name,
    description: tool.description,
    input_schema: strict ?? declared,
    strict: strict === null ? undefined : true,
    cache_control: cacheMark(tool.cacheControl),
  });
}

function toolFields(body: ChatBody): { tools?: Json[]; tool_choice?: Json; forced: boolean } {
  const tools = toolsOf(body);
  if (tools.length === 0) return { forced: false };
  const choice = toolChoiceOf(body);
  const single = body.parallel_tool_calls === false ? { disable_parallel_tool_use: true } : {};
  const sent = { tools: tools.map(toolOf) };
  switch (choice?.mode) {
    case "none":
      return { ...sent, tool_choice: { type: "none" }, forced: false };
    case "required":
      return { ...sent, tool_choice: { type: "any", ...single }, forced: true };
    case "named":
      return { ...sent, tool_choice: { type: "tool", name: choice.name, ...single }, forced: true };
    default:
      if (choice === null && body.parallel_tool_calls !== false) return { ...sent, forced: false };
      return { ...sent, tool_choice: { type: "auto", ...single }, forced: false };
  }
}

/**
 * OpenAI's temperatures go to 2, this wire's to 1: higher ones become 1. A model takes temperature or top_p, not both,
 * so temperature wins; a model that thinks takes neither.
 */
function sampling(body: ChatBody, thinking: Thinking): Json {
  if (thinks(thinking)) return {};
  const temperature = numberOf(body.temperature);
  const topP = temperature === undefined && body.top_p !== 1 ? numberOf(body.top_p) : undefined;
  return {
    temperature: temperature === undefined ? undefined : Math.min(Math.max(temperature, 0), 1),
    top_p: topP,
    top_k: numberOf(body.top_k),
  };
}

function outputConfig(body: ChatBody, effort: string | undefined): Json | undefined {
  const format = responseFormatOf(body);
  const schema = format?.kind === "schema" ? guaranteedSchema(format.schema) : null;
  const config = defined({
    ...(isRecord(body.output_config) ? body.output_config : {}),
    ...(effort === undefined ? {} : { effort }),
    ...(schema === null ? {} : { format: { type: "json_schema", schema } }),
  });
  return Object.keys(config).length > 0 ? config : undefined;
}

function userId(body: ChatBody): string | undefined {
  const own = isRecord(body.metadata) ? stringOf(body.metadata.user_id) : undefined;
  return (own ?? stringOf(body.user))?.slice(0, USER_ID_CHARACTERS_MAX);
}

/** The request in the messages wire. Fields that have no place in it are left out; see `messagesUnsupported`. */
export function messagesRequest(body: ChatBody, context: ChatContext): UpstreamBody {
  const asked = withoutDropped(body, context);
  const { system, turns } = conversationOf(messagesOf(asked), formatOf(context));
  const { tools, tool_choice, forced } = toolFields(asked);
  const thinking = thinkingOf(asked, context, turns, forced);
  const instructions =
    responseFormatOf(asked)?.kind === "json" ? [...system, { type: "text", text: JSON_ONLY }] : system;
  const stops = stopsOf(asked);
  const user_id = userId(asked);
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
    metadata: user_id === undefined ? undefined : { user_id },
    cache_control: cacheMark(asked.cache_control),
    stream: context.stream ? true : undefined,
  });
  return { path: "/messages", body: Object.assign(sent, context.wire.extraFields) };
}

/** Why the request cannot be put into the messages wire without losing its meaning; null where it can. */
export function messagesUnsupported(body: ChatBody, context: ChatContext): string | null {
  const asked = withoutDropped(body, context);
  const foreign = foreignField(asked);
  if (foreign !== null) return foreign;
  if ((numberOf(asked.n) ?? 1) > 1) return "n above 1 has no place in its wire";
  if (stopsOf(asked).some((stop) => stop.trim() === ""))
    return "a stop of nothing but white space is refused by its wire";
  const format = responseFormatOf(asked);
  if (format?.kind === "schema" && guaranteedSchema(format.schema) === null) {
    return "a response_format with free keys (additionalProperties) cannot be guaranteed by its wire";
  }
  return conversationOf(messagesOf(asked), formatOf(context)).reason;
}
