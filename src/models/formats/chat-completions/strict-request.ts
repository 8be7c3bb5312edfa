// Parses a chat-completions request as strictly as vendors do, including the fields that the answer depends on.
import { z } from "zod";
import { type Ask, askOf } from "../../../sandbox/ask.ts";
import { refuse, schemaRefusal } from "../../../sandbox/dialect.ts";
import { schemaWithProperties } from "../../../sandbox/dialects/tool-schema.ts";
import type { Refusal } from "../../../sandbox/refusals.ts";
import type { ChatBody } from "./fields.ts";
import { chatRequest } from "./request.ts";

const textPart = z.looseObject({ type: z.literal("text"), text: z.string() });
const refusalPart = z.looseObject({ type: z.literal("refusal"), refusal: z.string() });
const imagePart = z.looseObject({ type: z.literal("image_url"), image_url: z.looseObject({ url: z.string().min(1) }) });
const audioPart = z.looseObject({
  type: z.literal("input_audio"),
  input_audio: z.looseObject({ data: z.string(), format: z.string() }),
});
const filePart = z.looseObject({ type: z.literal("file"), file: z.looseObject({}) });

const toolName = z.string().regex(/^[\w-]{1,64}$/);
const plain = z.union([z.string(), z.array(textPart).min(1)]);
const toolCall = z.looseObject({
  id: z.string().min(1).max(64),
  type: z.literal("function"),
  function: z.looseObject({ name: toolName, arguments: z.string() }),
});

const message = z.discriminatedUnion("role", [
  z.looseObject({ role: z.enum(["system", "developer"]), content: plain }),
  z.looseObject({
    role: z.literal("user"),
    content: z.union([
      z.string(),
      z.array(z.discriminatedUnion("type", [textPart, imagePart, audioPart, filePart])).min(1),
    ]),
  }),
  z.looseObject({
    role: z.literal("assistant"),
    content: z.union([z.string(), z.array(z.discriminatedUnion("type", [textPart, refusalPart])).min(1)]).nullish(),
    tool_calls: z.array(toolCall).min(1).optional(),
    refusal: z.string().nullish(),
  }),
  z.looseObject({ role: z.literal("tool"), content: plain, tool_call_id: z.string() }),
  z.looseObject({ role: z.literal("function"), content: z.string().nullable(), name: z.string() }),
]);

const schemaObject = z.record(z.string(), z.unknown());
const count = z.number().int().min(1).nullish();

const body = z.looseObject({
  model: z.string().min(1),
  messages: z.array(message).min(1),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  max_tokens: count,
  max_completion_tokens: count,
  n: z.number().int().min(1).max(128).nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  presence_penalty: z.number().min(-2).max(2).nullish(),
  frequency_penalty: z.number().min(-2).max(2).nullish(),
  stop: z.union([z.string(), z.array(z.string()).max(4)]).nullish(),
  tools: z
    .array(
      z.looseObject({
        type: z.literal("function"),
        function: z.looseObject({ name: toolName, parameters: schemaWithProperties.nullish() }),
      }),
    )
    .min(1)
    .nullish(),
  tool_choice: z
    .union([
      z.enum(["none", "auto", "required"]),
      z.looseObject({ type: z.literal("function"), function: z.looseObject({ name: z.string() }) }),
    ])
    .nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  response_format: z
    .discriminatedUnion("type", [
      z.looseObject({ type: z.literal("text") }),
      z.looseObject({ type: z.literal("json_object") }),
      z.looseObject({
        type: z.literal("json_schema"),
        json_schema: z.looseObject({ name: toolName, schema: schemaObject.optional() }),
      }),
    ])
    .nullish(),
  reasoning_effort: z.string().nullish(),
  reasoning: z
    .looseObject({ effort: z.string().nullish(), max_tokens: count, enabled: z.boolean().nullish() })
    .nullish(),
});

type Body = z.infer<typeof body>;

const THINKING_TOKENS: Readonly<Record<string, number>> = { none: 0, minimal: 4, low: 8, medium: 16, high: 32 };

/** Tool messages must answer calls of the assistant message before them. */
function orphanedTool(messages: Body["messages"]): number {
  let open = new Set<string>();
  return messages.findIndex((said) => {
    if (said.role === "tool") return !open.has(said.tool_call_id);
    open = new Set(said.role === "assistant" ? said.tool_calls?.map((call) => call.id) : []);
    return false;
  });
}

function contradiction(asked: Body): Refusal | null {
  if (asked.stream_options && !asked.stream)
    return refuse("stream_options", "The 'stream_options' parameter is only allowed when 'stream' is enabled.");
  if (asked.max_tokens && asked.max_completion_tokens)
    return refuse("max_tokens", "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.");
  if (asked.tool_choice && !asked.tools)
    return refuse("tool_choice", "'tool_choice' is only allowed when 'tools' are specified.");
  const named = typeof asked.tool_choice === "object" ? asked.tool_choice?.function.name : undefined;
  if (named !== undefined && !asked.tools?.some((tool) => tool.function.name === named))
    return refuse("tool_choice", `Tool choice '${named}' not found in 'tools' parameter.`);
  const orphan = orphanedTool(asked.messages);
  return orphan < 0
    ? null
    : refuse(`messages.${orphan}.role`, "A 'tool' message must follow a message with the 'tool_calls' it answers.");
}

function thinkingOf(asked: Body): number {
  const effort = asked.reasoning_effort ?? asked.reasoning?.effort;
  if (typeof effort === "string") return THINKING_TOKENS[effort] ?? 16;
  if (asked.reasoning?.max_tokens) return Math.min(asked.reasoning.max_tokens, 32);
  return asked.reasoning?.enabled ? 16 : 0;
}

export function readChatRequest(json: unknown): Ask | Refusal {
  const parsed = body.safeParse(json);
  if (!parsed.success) return schemaRefusal(parsed.error);
  const asked = parsed.data;
  return (
    contradiction(asked) ??
    askOf(chatRequest(json as ChatBody).neutral(), {
      model: asked.model,
      stream: asked.stream ?? false,
      usageAsked: asked.stream_options?.include_usage ?? false,
      outputTokensMax: asked.max_completion_tokens ?? asked.max_tokens ?? null,
      thinkingTokens: thinkingOf(asked),
      toolsJson: asked.tools,
    })
  );
}
