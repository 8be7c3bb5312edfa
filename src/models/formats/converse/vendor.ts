// The wire in which one vendor serves models of many makers; streams are binary frames.

import { defined, type Json } from "../../../core/json.ts";
import type { NeutralRequest } from "../../../core/neutral.ts";
import { nearestEffort } from "../../../upstream/format-kit/chat-completions-fit.ts";
import type { ChatContext, Dialect, UpstreamBody } from "../../../upstream/format-kit/dialect.ts";
import { withoutDropped } from "../../../upstream/format-kit/dropped-fields.ts";
import { JSON_ONLY, jsonBySchema } from "../../../upstream/format-kit/json-words.ts";
import { formatOf } from "../../../upstream/format-kit/open-blocks.ts";
import { effortOf } from "../../../upstream/format-kit/thinking-budget.ts";
import { fitOf, NEUTRAL_TOOLS } from "../../../upstream/format-kit/tool-fit.ts";
import { guaranteedSchema } from "../messages/vendor-schema.ts";
import { conversationOf, type Turn } from "../messages/vendor-turns.ts";
import { ConverseReader, converseError } from "./vendor-answer.ts";
import { ConverseTurns, hasCalls, isLinked } from "./vendor-turns.ts";

// Translates a request to the converse wire, whose conversations are those of the messages wire under other names.

/** The wire cannot forbid tool calls; the tools are dropped instead, unless the conversation has calls. */
function toolConfig({ tools, toolChoice }: NeutralRequest, turns: readonly Turn[], put: ConverseTurns) {
  if (tools.length === 0 || (toolChoice?.mode === "none" && !hasCalls(turns))) return undefined;
  const specs = tools.flatMap((tool) => {
    if (tool.kind === "server") return [];
    const description = tool.description || undefined;
    const inputSchema = { json: { ...tool.parameters, type: "object" } };
    const toolSpec = defined({ name: tool.name, description, inputSchema });
    return [{ toolSpec }, ...put.cachePoint("tools", tool.cacheMark)];
  });
  const choices = { auto: undefined, none: undefined, required: { any: {} } } as const;
  const named = toolChoice?.mode === "named" ? { tool: { name: toolChoice.name } } : undefined;
  const choice = toolChoice === null || toolChoice.mode === "named" ? named : choices[toolChoice.mode];
  return defined({ tools: specs, toolChoice: choice });
}

/** The thinking fields: the format passes on any fields that the model's maker defines. */
function thinkingFields({ reasoning }: NeutralRequest, { wire }: ChatContext): Json | undefined {
  const { effortField, efforts = [] } = wire.takes ?? {};
  if (reasoning === null || effortField === undefined) return undefined;
  const effort = nearestEffort(effortOf(reasoning) ?? "medium", efforts);
  if (effort === undefined) return undefined;
  if (effortField === "reasoning_effort") return { reasoning_effort: effort };
  const off = effort === "none";
  return { reasoningConfig: off ? { type: "disabled" } : { type: "enabled", maxReasoningEffort: effort } };
}

/** The instruction that replaces a response format the model does not support. */
function formatWords({ format }: NeutralRequest, { wire }: ChatContext): Json[] {
  if (format === null) return [];
  if (format.kind === "json") return [{ text: JSON_ONLY }];
  return wire.takes?.formats === "json_object" ? [{ text: jsonBySchema(format.schema) }] : [];
}

/** A response format that the vendor guarantees; null: none requested, or the model supports none. */
function guaranteed({ format }: NeutralRequest, { wire }: ChatContext) {
  return format?.kind === "schema" && wire.takes?.formats !== "json_object" ? format : null;
}

/** The wire takes the schema as text. */
function outputConfig(asked: NeutralRequest, context: ChatContext): Json | undefined {
  const format = guaranteed(asked, context);
  if (format === null) return undefined;
  const jsonSchema = { name: format.name ?? "answer", schema: JSON.stringify(guaranteedSchema(format.schema)) };
  return { textFormat: { type: "json_schema", structure: { jsonSchema } } };
}

/** The request in the converse wire. Drops fields that it cannot express; see `converseUnsupported`. */
function converseRequest(request: NeutralRequest, context: ChatContext): UpstreamBody {
  const asked = withoutDropped(fitOf(context, "converse").fitted(request, NEUTRAL_TOOLS), context);
  const { system, turns } = conversationOf(asked.turns, formatOf(context, "converse"));
  const put = new ConverseTurns(context.wire.takes?.cachePoints ?? []);
  const instructions = [...put.system(system), ...formatWords(asked, context)];
  const { temperature, topP } = asked.sampling;
  const sent = defined({
    system: instructions.length > 0 ? instructions : undefined,
    messages: put.messages(turns, asked.cacheMark),
    inferenceConfig: defined({
      maxTokens: context.outputTokensMax,
      temperature: temperature === null ? undefined : Math.min(Math.max(temperature, 0), 1),
      topP: temperature === null ? (topP ?? undefined) : undefined,
      stopSequences: asked.stops.length > 0 ? asked.stops : undefined,
    }),
    toolConfig: toolConfig(asked, turns, put),
    outputConfig: outputConfig(asked, context),
    additionalModelRequestFields: thinkingFields(asked, context),
  });
  const path = `/model/${encodeURIComponent(context.upstreamModel)}/${context.stream ? "converse-stream" : "converse"}`;
  return { path, body: Object.assign(sent, context.wire.extraFields) };
}

function converseUnsupported(request: NeutralRequest, context: ChatContext): string | null {
  const asked = withoutDropped(request, context);
  const [foreign] = asked.foreign;
  if (foreign !== undefined) return foreign.reason;
  if (asked.choices > 1) return "n above 1 has no place in its wire";
  if (asked.stops.some((stop) => stop.trim() === "")) return "a stop of nothing but white space is refused by its wire";
  if (asked.tools.some(({ kind }) => kind === "server")) return "tools of other vendors have no place in its wire";
  if (asked.tools.length > 0 && asked.parallelToolCalls === false)
    return "parallel_tool_calls: false has no place in its wire";
  const format = guaranteed(asked, context);
  if (format !== null && guaranteedSchema(format.schema) === null)
    return "a response_format with free keys (additionalProperties) cannot be guaranteed by its wire";
  const { turns, reason } = conversationOf(asked.turns, formatOf(context, "converse"));
  if (asked.toolChoice?.mode === "none" && hasCalls(turns)) return "tool_choice: none has no place in its wire";
  if (asked.tools.length === 0 && hasCalls(turns)) return "calls without tools have no place in its wire";
  if (isLinked(turns)) return "links to images and files have no place in its wire";
  return reason;
}

export const converse: Dialect = {
  wire: "converse",
  passing: null,
  end: "metadata",
  grows: "messages",
  fetches: "none",
  request: converseRequest,
  reader: (context, out) => new ConverseReader(context, out),
  error: converseError,
  unsupported: converseUnsupported,
};
