// Parses a messages request as strictly as its vendor: rejects unknown fields, wrong turn order and unanswered tool calls.
import { z } from "zod";
import { type Ask, askOf } from "../../../sandbox/ask.ts";
import { refuse, schemaRefusal } from "../../../sandbox/dialect.ts";
import { plainSchema } from "../../../sandbox/dialects/tool-schema.ts";
import type { Refusal } from "../../../sandbox/refusals.ts";
import { seedOf } from "../../../sandbox/vocabulary.ts";
import { messagesRequest } from "./request.ts";

const object = z.record(z.string(), z.unknown());
const cache = { cache_control: z.strictObject({ type: z.literal("ephemeral"), ttl: z.string().optional() }).nullish() };

const text = z.strictObject({
  type: z.literal("text"),
  text: z.string().min(1, "text content blocks must be non-empty"),
  citations: z.unknown().optional(),
  ...cache,
});
const source = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("base64"),
    media_type: z.string().regex(/^(image\/(jpeg|png|gif|webp)|application\/pdf)$/),
    data: z.string().regex(/^[\w+/]+={0,2}$/, "invalid base64 data"),
  }),
  z.strictObject({
    type: z.literal("url"),
    url: z.string().regex(/^https?:\/\//, "Only HTTP and HTTPS URLs are supported"),
  }),
  z.strictObject({ type: z.literal("text"), media_type: z.literal("text/plain"), data: z.string() }),
  z.strictObject({ type: z.literal("file"), file_id: z.string() }),
]);
const image = z.strictObject({ type: z.literal("image"), source, ...cache });
const document = z.strictObject({
  type: z.literal("document"),
  source,
  title: z.string().nullish(),
  context: z.string().nullish(),
  citations: z.unknown().optional(),
  ...cache,
});
const toolUse = z.strictObject({
  type: z.literal("tool_use"),
  id: z.string().regex(/^[\w-]+$/),
  name: z.string().regex(/^[\w-]{1,128}$/),
  input: object,
  ...cache,
});
const toolResult = z.strictObject({
  type: z.literal("tool_result"),
  tool_use_id: z.string().regex(/^[\w-]+$/),
  content: z.union([z.string(), z.array(z.discriminatedUnion("type", [text, image, document]))]).optional(),
  is_error: z.boolean().optional(),
  ...cache,
});
const thinkingBlock = z.strictObject({ type: z.literal("thinking"), thinking: z.string(), signature: z.string() });
const redacted = z.strictObject({ type: z.literal("redacted_thinking"), data: z.string() });
const blocks = z.array(
  z.discriminatedUnion("type", [text, image, document, toolUse, toolResult, thinkingBlock, redacted]),
);

/** Newer models also accept system turns in the middle of a conversation. */
const systemTurn = z.strictObject({
  role: z.literal("system"),
  content: z.union([z.string(), z.array(text)]),
  output_config: z.strictObject({ effort: z.string().nullish() }).nullish(),
});

const budget = z.number().int().min(1_024);
const toolName = z.string().regex(/^[\w-]{1,128}$/);
const parallel = { disable_parallel_tool_use: z.boolean().optional() };
const format = z.strictObject({ type: z.literal("json_schema"), schema: object });
const display = { display: z.enum(["summarized", "omitted"]).nullish() };

const body = z.strictObject({
  model: z.string().min(1),
  messages: z
    .array(
      z.union([
        z.strictObject({ role: z.enum(["user", "assistant"]), content: z.union([z.string(), blocks]) }),
        systemTurn,
      ]),
    )
    .min(1, "at least one message is required"),
  max_tokens: z.number().int().min(0),
  system: z.union([z.string(), z.array(text)]).optional(),
  stream: z.boolean().optional(),
  temperature: z.number().min(0).max(1).optional(),
  top_p: z.number().min(0).max(1).optional(),
  top_k: z.number().int().min(0).optional(),
  stop_sequences: z.array(z.string().regex(/\S/, "each stop sequence must contain non-whitespace")).optional(),
  tools: z
    .array(
      z.union([
        z.strictObject({
          type: z
            .string()
            .regex(/^custom$/)
            .nullish(),
          name: toolName,
          description: z.string().optional(),
          input_schema: plainSchema,
          strict: z.boolean().optional(),
          eager_input_streaming: z.boolean().nullish(),
          defer_loading: z.boolean().optional(),
          input_examples: z.array(object).optional(),
          allowed_callers: z.array(z.string()).optional(),
          ...cache,
        }),
        z.looseObject({ type: z.string().regex(/_\d{8}$/), name: z.string() }),
      ]),
    )
    .optional(),
  tool_choice: z
    .discriminatedUnion("type", [
      z.strictObject({ type: z.literal("auto"), ...parallel }),
      z.strictObject({ type: z.literal("any"), ...parallel }),
      z.strictObject({ type: z.literal("tool"), name: z.string(), ...parallel }),
      z.strictObject({ type: z.literal("none") }),
    ])
    .optional(),
  thinking: z
    .discriminatedUnion("type", [
      z.strictObject({ type: z.literal("enabled"), budget_tokens: budget, ...display }),
      z.strictObject({ type: z.literal("adaptive"), ...display }),
      z.strictObject({ type: z.literal("disabled") }),
    ])
    .optional(),
  output_config: z
    .strictObject({ effort: z.enum(["low", "medium", "high", "xhigh", "max"]).nullish(), format: format.nullish() })
    .optional(),
  metadata: z.strictObject({ user_id: z.string().max(512).nullish() }).optional(),
  service_tier: z.enum(["auto", "standard_only"]).optional(),
  container: z.string().nullish(),
  inference_geo: z.string().nullish(),
  context_management: z.strictObject({ edits: z.array(z.looseObject({ type: z.string() })) }).nullish(),
  ...cache,
});

type Body = z.infer<typeof body>;
type Message = Body["messages"][number];
type Block = z.infer<typeof blocks>[number];

/** The signature of a thought, which must come back unchanged. */
export function signatureOf(thinking: string): string {
  return `c2FuZGJveA${seedOf(thinking).toString(36)}`;
}

function blocksOf(message: Message | undefined): readonly Block[] {
  if (message === undefined) return [];
  return typeof message.content === "string" ? [{ type: "text", text: message.content }] : message.content;
}

/** A message's calls must be answered in the next message, and no others. */
function toolTurnRefusal(messages: readonly Message[]): Refusal | null {
  const called = messages.flatMap((message) =>
    blocksOf(message).flatMap((one) => (one.type === "tool_use" ? [one.id] : [])),
  );
  if (new Set(called).size < called.length) return refuse("messages", "`tool_use` ids must be unique");
  for (const [at, message] of messages.entries()) {
    const before = blocksOf(messages[at - 1]).flatMap((block) => (block.type === "tool_use" ? [block.id] : []));
    const answered = blocksOf(message).flatMap((block) => (block.type === "tool_result" ? [block.tool_use_id] : []));
    const orphan = answered.find((id) => !before.includes(id));
    if (orphan !== undefined)
      return refuse(`messages.${at}.content`, `unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${orphan}.`);
    const open = before.find((id) => !answered.includes(id));
    if (open !== undefined) {
      const said = `\`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${open}.`;
      return refuse(`messages.${at - 1}`, said);
    }
  }
  return null;
}

function messageRefusal(message: Message, at: number, last: boolean): Refusal | null {
  const held = blocksOf(message);
  const path = `messages.${at}`;
  if (message.content.length === 0 && !(last && message.role === "assistant"))
    return refuse(path, `${message.role} messages must have non-empty content`);
  const foreign =
    message.role === "user" ? ["tool_use", "thinking", "redacted_thinking"] : ["tool_result", "image", "document"];
  const wrong = held.findIndex((block) => foreign.includes(block.type));
  if (wrong >= 0) return refuse(`${path}.content.${wrong}.type`, `not allowed in ${message.role} messages`);
  const forged = held.findIndex(
    (block) => block.type === "thinking" && block.thinking !== "" && block.signature !== signatureOf(block.thinking),
  );
  if (forged >= 0) return refuse(`${path}.content.${forged}`, "Invalid `signature` in `thinking` block");
  const end = held.at(-1);
  if (last && message.role === "assistant" && end?.type === "text" && /\s$/.test(end.text))
    return refuse("messages", "final assistant content cannot end with trailing whitespace");
  return null;
}

function thinkingRefusal(asked: Body): Refusal | null {
  if (!asked.thinking || asked.thinking.type === "disabled") return null;
  if (asked.thinking.type === "enabled" && asked.thinking.budget_tokens >= asked.max_tokens)
    return refuse("max_tokens", "`max_tokens` must be greater than `thinking.budget_tokens`.");
  if (asked.temperature !== undefined && asked.temperature !== 1)
    return refuse("temperature", "`temperature` may only be set to 1 when thinking is enabled.");
  if (asked.top_k !== undefined) return refuse("top_k", "`top_k` must be unset when thinking is enabled.");
  if (asked.tool_choice?.type === "any" || asked.tool_choice?.type === "tool")
    return refuse("tool_choice", "Thinking may not be enabled when tool_choice forces tool use.");
  const answersTools = blocksOf(asked.messages.at(-1)).some((block) => block.type === "tool_result");
  const first = blocksOf(asked.messages.at(-2))[0];
  if (asked.thinking.type === "enabled" && answersTools && !first?.type.endsWith("thinking")) {
    const at = asked.messages.length - 2;
    return refuse(
      `messages.${at}.content.0.type`,
      `Expected \`thinking\` or \`redacted_thinking\`, but found \`${first?.type}\`.`,
    );
  }
  return null;
}

/** Every object in an output schema must be closed. */
function openObject(schema: unknown): boolean {
  if (typeof schema !== "object" || schema === null) return false;
  const closed =
    !("type" in schema) ||
    schema.type !== "object" ||
    ("additionalProperties" in schema && schema.additionalProperties === false);
  return !closed || Object.values(schema).some(openObject);
}

function contradiction(asked: Body): Refusal | null {
  if (asked.messages[0]?.role === "system") return refuse("messages.0.role", "a conversation does not begin with it");
  if (asked.messages[0]?.role !== "user") return refuse("messages", 'first message must use the "user" role');
  for (const [at, message] of asked.messages.entries()) {
    const wrong = messageRefusal(message, at, at === asked.messages.length - 1);
    if (wrong) return wrong;
  }
  const { tool_choice: choice, output_config: output } = asked;
  if (choice && choice.type !== "none" && !asked.tools?.length)
    return refuse("tool_choice", "may only be specified while providing `tools`.");
  if (choice?.type === "tool" && !asked.tools?.some((tool) => tool.name === choice.name))
    return refuse("tool_choice", `Tool '${choice.name}' not found in provided tools`);
  if (openObject(output?.format?.schema)) {
    return refuse(
      "output_config.format.schema",
      "For 'object' type, 'additionalProperties' must be explicitly set to false",
    );
  }
  return toolTurnRefusal(asked.messages) ?? thinkingRefusal(asked);
}

/** The format has no field for arbitrary JSON objects; callers ask for one in the prompt, and the model complies. */
function wantsJson({ turns }: Ask): boolean {
  return turns.some(({ role, text }) => role === "system" && /\bJSON object and nothing else\b/i.test(text));
}

export interface MessagesRequest {
  readonly ask: Ask;
  /** Thinking is always counted and signed; this shows it. */
  readonly showThinking: boolean;
}

/** Fields allowed only if the headers name their beta. */
const BETA_FIELDS: Readonly<Record<string, string>> = { context_management: "context-management-" };

export function readMessagesRequest(json: unknown, betas = ""): MessagesRequest | Refusal {
  const parsed = body.safeParse(json);
  if (!parsed.success) return schemaRefusal(parsed.error);
  const asked = parsed.data;
  const early = Object.keys(asked).find((field) => !betas.includes(BETA_FIELDS[field] ?? ""));
  if (early !== undefined) return refuse(early, "Extra inputs are not permitted");
  const wrong = contradiction(asked);
  if (wrong) return wrong;
  const thinks = asked.thinking !== undefined && asked.thinking.type !== "disabled";
  const ask = askOf(messagesRequest(asked).neutral(), {
    model: asked.model,
    stream: asked.stream ?? false,
    outputTokensMax: asked.max_tokens,
    thinkingTokens: thinks ? 16 : 0,
    toolsJson: asked.tools,
  });
  const hidden = asked.thinking && "display" in asked.thinking && asked.thinking.display === "omitted";
  return { ask: ask.schema === null && wantsJson(ask) ? { ...ask, schema: {} } : ask, showThinking: !hidden };
}
