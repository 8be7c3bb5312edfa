// Pass-through with OpenAI's wire on both sides: forwards the caller's body and the vendor's bytes, and replaces their names with ours.

import { isRecord, type Json } from "../../../core/json.ts";
import { classify } from "../../../upstream/classify.ts";
import { fittedFields, unfit } from "../../../upstream/dialects/chat-completions-fit.ts";
import type { ChatContext, Passing, UnaryAnswer, UpstreamBody } from "../../../upstream/dialects/dialect.ts";
import { readError, statusInside } from "../../../upstream/dialects/error-body.ts";
import { fitOf, type ToolPlaces } from "../../../upstream/dialects/tool-fit.ts";
import { atPointer } from "../../../upstream/json-pointer.ts";
import { bodyLinksOf, bodyWithMedia } from "../../../upstream/media-links.ts";
import { EMPTY, nameThoughts, readUsage } from "./vendor-answer.ts";
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

export const chatCompletionsPassing: Passing = {
  request,
  unsupported: ({ tools, n }, { wire }) => unfit({ tools, choices: n }, wire),
  links: (body, { wire }) => bodyLinksOf(body, wire.fetches),
  withMedia: bodyWithMedia,
  answer,
  error: readError,
  reader: createChatCompletionsReader,
};
