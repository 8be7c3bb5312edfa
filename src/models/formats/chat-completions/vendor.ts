// The vendor side of chat completions: translates a request, or passes it on. Adapter fields say how vendors that copied the format differ.

import { defined, isRecord, type Json } from "../../../core/json.ts";
import type {
  MediaBlock,
  NeutralBlock,
  NeutralRequest,
  NeutralTool,
  NeutralTurn,
  TextBlock,
  ToolResultBlock,
} from "../../../core/neutral.ts";
import { classify } from "../../../upstream/classify.ts";
import { fittedFields, unfit } from "../../../upstream/format-kit/chat-completions-fit.ts";
import type { ChatContext, Dialect, Passing, UnaryAnswer, UpstreamBody } from "../../../upstream/format-kit/dialect.ts";
import { readError, statusInside } from "../../../upstream/format-kit/error-body.ts";
import { formatOf } from "../../../upstream/format-kit/open-blocks.ts";
import { effortOf } from "../../../upstream/format-kit/thinking-budget.ts";
import { fitOf, type ToolPlaces } from "../../../upstream/format-kit/tool-fit.ts";
import { resultText } from "../../../upstream/format-kit/tool-results.ts";
import { atPointer } from "../../../upstream/json-pointer.ts";
import { bodyLinksOf, bodyWithMedia, type LinkPlace, type Media } from "../../../upstream/media-links.ts";
import { detailOf } from "./answers.ts";
import { EMPTY, nameThoughts, readUsage } from "./vendor-answer.ts";
import { chatCompletionsEvents } from "./vendor-events.ts";
import { bearsContent, createChatCompletionsReader } from "./vendor-stream.ts";

/** Fields that we set ourselves or hide from vendors. */
const OWN_FIELDS = new Set(["model", "models", "max_tokens", "max_completion_tokens", "stream", "stream_options"]);

/** An empty tool list means no tools; some vendors reject it, as well as a tool choice without tools. */
const TOOL_FIELDS = new Set(["tools", "tool_choice", "parallel_tool_calls"]);

/** Fields that contain ids, names and schemas of tools. Calls come first, because a thought refers to its call. */
const TOOLS: ToolPlaces = {
  messages: [
    {
      tool_calls: [{ id: "call", function: { name: "name", arguments: "arguments" }, custom: { name: "name" } }],
      reasoning_details: [{ id: "thought" }],
      tool_call_id: ({ role }) => (role === "tool" ? "result" : null),
      name: ({ role }) => (role === "tool" ? "name" : null),
    },
  ],
  tools: [{ function: { name: "name", parameters: "schema" } }],
  tool_choice: { function: { name: "name" }, allowed_tools: { tools: [{ function: { name: "name" } }] } },
};

function request(asked: Json, context: ChatContext): UpstreamBody {
  const { spec, wire } = context;
  const body = fitOf(context, "chat-completions").fitted(asked, TOOLS);
  const noTools = Array.isArray(body.tools) && body.tools.length === 0;
  // Add fields, never delete them: V8 serializes an object with a deleted field several times slower.
  const sent: Record<string, unknown> = { model: context.upstreamModel };
  for (const field of Object.keys(body)) {
    if (OWN_FIELDS.has(field) || wire.dropFields?.includes(field) || (noTools && TOOL_FIELDS.has(field))) continue;
    sent[field] = body[field];
  }
  Object.assign(sent, fittedFields(body, wire));
  sent[wire.maxTokensField ?? "max_tokens"] = context.outputTokensMax;
  if (context.stream) {
    sent.stream = true;
    if (spec.streamUsage !== "always") sent.stream_options = { include_usage: true, ...spec.streamOptions };
  }
  return { path: "/chat/completions", body: Object.assign(sent, wire.extraFields) };
}

function textOf(choices: readonly unknown[]): string {
  return choices
    .map((choice) => {
      const message = atPointer(choice, "/message");
      if (!isRecord(message)) return "";
      const calls = Array.isArray(message.tool_calls) ? JSON.stringify(message.tool_calls) : "";
      const reasoning = message.reasoning ?? message.reasoning_content ?? "";
      return `${typeof message.content === "string" ? message.content : ""}${reasoning}${calls}`;
    })
    .join("");
}

/** True if a choice stopped without text, call, refusal or audio. */
function isEmpty(choice: unknown): boolean {
  if (atPointer(choice, "/finish_reason") !== "stop") return false;
  const message = atPointer(choice, "/message");
  return isRecord(message) && !bearsContent(message);
}

function answer(json: unknown, context: ChatContext): UnaryAnswer {
  if (isRecord(json) && json.error) return classify(statusInside(json), readError(json), null);
  if (!isRecord(json) || !Array.isArray(json.choices) || json.choices.length === 0)
    return { kind: "provider_malformed", status: 200, message: "the answer has no choices", retryAfterMs: null };
  const empty = context.mayBeEmpty !== true && json.choices.every(isEmpty) ? { empty: EMPTY } : {};
  const { usage, upstreamCostNano } = readUsage(json, context);
  // Changes the vendor's object in place; undefined fields are not serialized.
  json.id = context.completionId;
  json.model = context.servedSlug;
  json.usage = undefined;
  if (json.x_groq !== undefined) json.x_groq = undefined;
  for (const choice of json.choices) {
    const message = atPointer(choice, "/message");
    if (isRecord(message)) nameThoughts(message);
  }
  return { usage, upstreamCostNano, body: json, text: usage === null ? textOf(json.choices) : "", ...empty };
}

/** The fields of the parts that can have links, by type. */
const LINKED: ReadonlyMap<unknown, readonly [field: string, kind: "image" | "file"]> = new Map([
  ["image_url", ["url", "image"]],
  ["file", ["file_data", "file"]],
]);

function linkIn(part: Json): LinkPlace | null {
  const [field, kind] = LINKED.get(part.type) ?? [];
  const type = String(part.type);
  const inner = part[type];
  if (field === undefined || kind === undefined || !isRecord(inner)) return null;
  const url = inner[field];
  if (typeof url !== "string" || !/^https?:/i.test(url)) return null;
  const put = ({ mediaType, base64 }: Media) => ({ ...inner, [field]: `data:${mediaType};base64,${base64}` });
  return { url, kind, put: (media) => ({ ...part, [type]: put(media) }) };
}

export const chatCompletionsPassing: Passing = {
  request,
  unsupported: ({ tools, n }, { wire }) => unfit({ tools, choices: n }, wire),
  links: (body, { wire }) => bodyLinksOf(body, wire.fetches, linkIn),
  withMedia: (body, media) => bodyWithMedia(body, media, linkIn),
  answer,
  error: readError,
  reader: createChatCompletionsReader,
};

// Translates a neutral request to OpenAI's wire.

function textsOf(blocks: readonly NeutralBlock[], between: string): string {
  return blocks
    .map((block) => (block.kind === "text" ? block.text : null))
    .filter(Boolean)
    .join(between);
}

/** A part of a user message, without cache marks: they are hints, and strict servers refuse them. */
function partOf(block: TextBlock | MediaBlock): Json {
  if (block.kind === "text") return { type: "text", text: block.text };
  const { source, filename } = block;
  const url = source.at === "url" ? source.url : `data:${source.mediaType};base64,${source.base64}`;
  if (block.kind === "image") return { type: "image_url", image_url: { url } };
  if (block.kind === "file")
    return { type: "file", file: defined({ filename: filename ?? undefined, file_data: url }) };
  const [data, format] = source.at === "url" ? [url, ""] : [source.base64, source.mediaType.replace(/^audio\//, "")];
  return { type: "input_audio", input_audio: { data, format } };
}

function isPart(block: NeutralBlock): block is TextBlock | MediaBlock {
  return ["text", "image", "file", "audio"].includes(block.kind);
}

/** Tool results follow their calls directly, as separate messages; media in them moves to the user message. */
function userMessages(blocks: readonly NeutralBlock[]): Json[] {
  const results = blocks.filter((block): block is ToolResultBlock => block.kind === "tool-result");
  const answers = results.map(({ callId, content, isError }) => ({
    role: "tool",
    tool_call_id: callId ?? "",
    content: resultText(typeof content === "string" ? content : textsOf(content, "\n"), isError),
  }));
  const media = results.flatMap(({ content }) => (typeof content === "string" ? [] : content.filter(isPart)));
  const parts = [...media.filter(({ kind }) => kind !== "text"), ...blocks.filter(isPart)];
  const [only] = parts;
  if (only === undefined) return answers;
  const content = parts.length === 1 && only.kind === "text" ? only.text : parts.map(partOf);
  return [...answers, { role: "user", content }];
}

function assistantMessage(blocks: readonly NeutralBlock[], format: string): Json {
  const text = textsOf(blocks, "");
  const calls = blocks.filter((block) => block.kind === "tool-call");
  const thoughts = blocks.filter((block) => block.kind === "reasoning").filter((thought) => thought.format === format);
  return defined({
    role: "assistant",
    content: text === "" && calls.length > 0 ? null : text,
    reasoning_details: thoughts.length > 0 ? thoughts.map(detailOf) : undefined,
    tool_calls:
      calls.length > 0
        ? calls.map(({ id, name, arguments: text }) => {
            return { id: id ?? "", type: "function", function: { name, arguments: text || "{}" } };
          })
        : undefined,
  });
}

function messagesOf({ role, blocks }: NeutralTurn, format: string): Json[] {
  if (role === "user") return userMessages(blocks);
  if (role === "assistant") return [assistantMessage(blocks, format)];
  return [{ role, content: textsOf(blocks, "\n\n") }];
}

function toolFields({ tools, toolChoice, parallelToolCalls }: NeutralRequest): Json {
  const functions = tools.filter((tool) => tool.kind === "function");
  if (functions.length === 0) return {};
  return {
    tools: functions.map(({ name, description, parameters, strict }) => ({
      type: "function",
      function: defined({
        name,
        description: description ?? undefined,
        parameters: parameters ?? undefined,
        strict: strict ? true : undefined,
      }),
    })),
    tool_choice:
      toolChoice?.mode === "named" ? { type: "function", function: { name: toolChoice.name } } : toolChoice?.mode,
    parallel_tool_calls: parallelToolCalls ?? undefined,
  };
}

function responseFormat({ format }: NeutralRequest): Json | undefined {
  if (format === null) return undefined;
  if (format.kind === "json") return { type: "json_object" };
  const { name, schema, strict } = format;
  return { type: "json_schema", json_schema: defined({ name: name ?? "answer", schema, strict: strict ?? undefined }) };
}

/** The request in OpenAI's wire, then adapted to this vendor like any other. */
function chatCompletionsRequest(request: NeutralRequest, context: ChatContext): UpstreamBody {
  const { sampling, stops, choices, user, extra } = request;
  const body = defined({
    ...extra,
    messages: request.turns.flatMap((turn) => messagesOf(turn, formatOf(context, "chat-completions"))),
    ...toolFields(request),
    response_format: responseFormat(request),
    reasoning_effort: effortOf(request.reasoning),
    temperature: sampling.temperature ?? undefined,
    top_p: sampling.topP ?? undefined,
    top_k: sampling.topK ?? undefined,
    presence_penalty: sampling.presencePenalty ?? undefined,
    frequency_penalty: sampling.frequencyPenalty ?? undefined,
    seed: sampling.seed ?? undefined,
    stop: stops.length > 0 ? stops : undefined,
    n: choices > 1 ? choices : undefined,
    user: user ?? undefined,
  });
  return chatCompletionsPassing.request(body, context);
}

function placeless(blocks: readonly NeutralBlock[]): string | null {
  for (const block of blocks) {
    if (block.kind === "foreign") return block.what;
    if (block.kind === "native") return `parts in the format ${block.format}`;
    if (block.kind === "audio" && block.source.at === "url") return "audio by its address";
    const inner = block.kind === "tool-result" && typeof block.content !== "string" ? placeless(block.content) : null;
    if (inner !== null) return inner;
  }
  return null;
}

function chatCompletionsUnsupported(request: NeutralRequest, { wire }: ChatContext): string | null {
  const why = unfit(request, wire);
  if (why !== null) return why;
  const foreign = request.foreign.find(({ field }) => !wire.dropFields?.includes(field));
  if (foreign !== undefined) return foreign.reason;
  const server = request.tools.find((tool: NeutralTool) => tool.kind === "server");
  if (server?.kind === "server") return `tools of type ${server.type} have no place in its wire`;
  for (const { role, blocks } of request.turns) {
    const what = placeless(blocks);
    if (what !== null) return `${what} cannot be put into its wire`;
    const media = role !== "user" && blocks.some((block) => isPart(block) && block.kind !== "text");
    if (media) return `media in messages of role ${role} cannot be put into its wire`;
  }
  return null;
}

export const chatCompletions: Dialect = {
  wire: "chat-completions",
  passing: chatCompletionsPassing,
  end: "[DONE]",
  grows: "messages",
  request: chatCompletionsRequest,
  reader: chatCompletionsEvents,
  error: readError,
  unsupported: chatCompletionsUnsupported,
};
