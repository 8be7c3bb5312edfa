// Puts a request into the converse wire, whose conversation is that of the messages wire in other words.
import { defined, isRecord, type Json, stringOf } from "../../json.ts";
import type { NeutralRequest } from "../../neutral.ts";
import { formatOf } from "./converse-wire.ts";
import type { ChatContext, UpstreamBody } from "./dialect.ts";
import { withoutDropped } from "./dropped-fields.ts";
import { conversationOf, type Turn } from "./messages-turns.ts";

/** What stands for "any JSON object", for which the wire has no field. */
const JSON_ONLY = "Answer with one JSON object and nothing else: no words around it and no code fence.";
const DOCUMENT_NAME_CHARACTERS_MAX = 200;

/** A name without what the wire refuses in one. */
function documentName(title: unknown, at: number): string {
  const cleaned = (stringOf(title) ?? "").replace(/[^A-Za-z0-9 ()[\]-]+/g, " ").replace(/\s+/g, " ");
  return cleaned.trim().slice(0, DOCUMENT_NAME_CHARACTERS_MAX) || `document ${at + 1}`;
}

function sourceOf(block: Json): { readonly type: string; readonly data: string } | null {
  const { source } = block;
  if (!isRecord(source) || typeof source.data !== "string") return null;
  const type = stringOf(source.media_type) ?? "";
  return { type, data: source.type === "text" ? Buffer.from(source.data).toString("base64") : source.data };
}

/** A block of the messages wire in this one; null: it has no place here. */
function blockOf(block: Json, at: number): Json | null {
  switch (block.type) {
    case "text":
      return { text: block.text };
    case "image": {
      const source = sourceOf(block);
      if (source === null) return null;
      return { image: { format: source.type.replace("image/", ""), source: { bytes: source.data } } };
    }
    case "document": {
      const source = sourceOf(block);
      if (source === null) return null;
      const format = source.type === "application/pdf" ? "pdf" : "txt";
      return { document: { format, name: documentName(block.title, at), source: { bytes: source.data } } };
    }
    case "tool_use":
      return { toolUse: { toolUseId: block.id, name: block.name, input: block.input } };
    case "tool_result":
      return { toolResult: toolResult(block) };
    case "thinking":
      return { reasoningContent: { reasoningText: { text: block.thinking, signature: block.signature } } };
    case "redacted_thinking":
      return { reasoningContent: { redactedContent: block.data } };
    default:
      return null;
  }
}

function toolResult({ tool_use_id, content, is_error }: Json): Json {
  const blocks = Array.isArray(content) ? content.filter(isRecord).map(blockOf) : [];
  const text = typeof content === "string" ? [{ text: content }] : blocks.filter((block) => block !== null);
  return { toolUseId: tool_use_id, content: text, status: is_error === true ? "error" : "success" };
}

function hasCalls(turns: readonly Turn[]): boolean {
  return turns.some(({ content }) => content.some(({ type }) => type === "tool_use" || type === "tool_result"));
}

/** The wire cannot say that no tool may be called; where none has been, the tools are left out. */
function toolConfig({ tools, toolChoice }: NeutralRequest, turns: readonly Turn[]): Json | undefined {
  if (tools.length === 0 || (toolChoice?.mode === "none" && !hasCalls(turns))) return undefined;
  const specs = tools.flatMap((tool) => {
    if (tool.kind === "server") return [];
    const description = tool.description || undefined;
    const inputSchema = { json: { ...tool.parameters, type: "object" } };
    return [{ toolSpec: defined({ name: tool.name, description, inputSchema }) }];
  });
  const choices = { auto: undefined, none: undefined, required: { any: {} } } as const;
  const named = toolChoice?.mode === "named" ? { tool: { name: toolChoice.name } } : undefined;
  const choice = toolChoice === null || toolChoice.mode === "named" ? named : choices[toolChoice.mode];
  return defined({ tools: specs, toolChoice: choice });
}

/** The request in the converse wire. Fields that have no place in it are left out; see `converseUnsupported`. */
export function converseRequest(request: NeutralRequest, context: ChatContext): UpstreamBody {
  const asked = withoutDropped(request, context);
  const { system, turns } = conversationOf(asked.turns, formatOf(context));
  const instructions = system.map(({ text }) => ({ text }));
  if (asked.format?.kind === "json") instructions.push({ text: JSON_ONLY });
  const { temperature, topP } = asked.sampling;
  const sent = defined({
    system: instructions.length > 0 ? instructions : undefined,
    messages: turns.map(({ role, content }) => ({
      role,
      content: content.map(blockOf).filter((block) => block !== null),
    })),
    inferenceConfig: defined({
      maxTokens: context.outputTokensMax,
      temperature: temperature === null ? undefined : Math.min(Math.max(temperature, 0), 1),
      topP: temperature === null ? (topP ?? undefined) : undefined,
      stopSequences: asked.stops.length > 0 ? asked.stops : undefined,
    }),
    toolConfig: toolConfig(asked, turns),
  });
  const path = `/model/${encodeURIComponent(context.upstreamModel)}/${context.stream ? "converse-stream" : "converse"}`;
  return { path, body: Object.assign(sent, context.wire.extraFields) };
}

function isLinked(turns: readonly Turn[]): boolean {
  const linked = ({ source, content }: Json): boolean =>
    (isRecord(source) && source.type === "url") || (Array.isArray(content) && content.filter(isRecord).some(linked));
  return turns.some(({ content }) => content.some(linked));
}

/** Why the request cannot be put into the converse wire without losing its meaning; null where it can. */
export function converseUnsupported(request: NeutralRequest, context: ChatContext): string | null {
  const asked = withoutDropped(request, context);
  const [foreign] = asked.foreign;
  if (foreign !== undefined) return foreign.reason;
  if (asked.choices > 1) return "n above 1 has no place in its wire";
  if (asked.stops.some((stop) => stop.trim() === "")) return "a stop of nothing but white space is refused by its wire";
  if (asked.tools.some(({ kind }) => kind === "server")) return "tools of other vendors have no place in its wire";
  if (asked.tools.length > 0 && asked.parallelToolCalls === false)
    return "parallel_tool_calls: false has no place in its wire";
  if (asked.format?.kind === "schema") return "a response_format with a schema cannot be guaranteed by its wire";
  const { turns, reason } = conversationOf(asked.turns, formatOf(context));
  if (asked.toolChoice?.mode === "none" && hasCalls(turns)) return "tool_choice: none has no place in its wire";
  if (isLinked(turns)) return "links to images and files have no place in its wire";
  return reason;
}
