// Parses a responses request as strictly as vendors do, including the fields that the answer depends on.
import { z } from "zod";
import type { Json } from "../../../core/json.ts";
import { type Ask, askOf } from "../../../sandbox/ask.ts";
import { refuse, schemaRefusal } from "../../../sandbox/dialect.ts";
import { schemaWithProperties } from "../../../sandbox/dialects/tool-schema.ts";
import type { Refusal } from "../../../sandbox/refusals.ts";
import type { ResponsesBody } from "./fields.ts";
import { responsesRequest } from "./request.ts";
import { toolLists } from "./tools.ts";

const detail = z.enum(["low", "high", "auto", "original"]);
const inputText = z.strictObject({ type: z.literal("input_text"), text: z.string() });
const inputImage = z.strictObject({
  type: z.literal("input_image"),
  image_url: z.string().min(1),
  detail: detail.optional(),
});
const inputFile = z
  .strictObject({
    type: z.literal("input_file"),
    filename: z.string().optional(),
    file_data: z.string().optional(),
    file_url: z.string().optional(),
  })
  .refine(
    ({ file_data, file_url }) => (file_data === undefined) !== (file_url === undefined),
    "wants data or an address",
  );
const outputText = z.strictObject({
  type: z.literal("output_text"),
  text: z.string(),
  annotations: z.array(z.unknown()).optional(),
  logprobs: z.array(z.unknown()).optional(),
});
const refusal = z.strictObject({ type: z.literal("refusal"), refusal: z.string() });
const parts = z.array(z.discriminatedUnion("type", [inputText, inputImage, inputFile])).min(1);

const callId = z.string().min(1).max(64);
const toolName = z.string().regex(/^[\w-]{1,64}$/);
const schemaObject = z.record(z.string(), z.unknown());

const status = z.enum(["in_progress", "completed", "incomplete"]).nullish();
/** An item id starts with its kind. */
const idOf = (prefix: string) => z.string().startsWith(`${prefix}_`).nullish();
const messageFields = { type: z.literal("message").optional(), id: idOf("msg"), status };
const systemText = z.union([z.string(), z.array(inputText).min(1)]);

const message = z.discriminatedUnion("role", [
  z.strictObject({ ...messageFields, role: z.enum(["system", "developer"]), content: systemText }),
  z.strictObject({ ...messageFields, role: z.literal("user"), content: z.union([z.string(), parts]) }),
  z.strictObject({
    ...messageFields,
    role: z.literal("assistant"),
    phase: z.enum(["commentary", "final_answer"]).nullish(),
    content: z.union([z.string(), z.array(z.union([outputText, refusal])).min(1)]),
  }),
]);

const functionTool = z.strictObject({
  type: z.literal("function"),
  name: toolName,
  description: z.string().nullish(),
  parameters: schemaWithProperties.nullish(),
  strict: z.boolean().nullish(),
});
const customTool = z.strictObject({
  type: z.literal("custom"),
  name: toolName,
  description: z.string().optional(),
  format: z
    .union([
      z.strictObject({ type: z.literal("text") }),
      z.strictObject({ type: z.literal("grammar"), syntax: z.enum(["lark", "regex"]), definition: z.string() }),
    ])
    .optional(),
});
const plainTool = z.discriminatedUnion("type", [functionTool, customTool]);
const namespaceTool = z.strictObject({
  type: z.literal("namespace"),
  name: toolName,
  description: z.string(),
  tools: z.array(plainTool).min(1),
});
const tool = z.discriminatedUnion("type", [functionTool, customTool, namespaceTool]);

const callFields = { call_id: callId, name: toolName, namespace: toolName.optional(), status };
const outputFields = { call_id: callId, status, output: z.union([z.string(), parts]) };
const item = z.union([
  z.strictObject({ type: z.literal("function_call"), id: idOf("fc"), ...callFields, arguments: z.string() }),
  z.strictObject({ type: z.literal("custom_tool_call"), id: idOf("ctc"), ...callFields, input: z.string() }),
  z.strictObject({ type: z.literal("function_call_output"), id: z.string().nullish(), ...outputFields }),
  z.strictObject({ type: z.literal("custom_tool_call_output"), id: z.string().nullish(), ...outputFields }),
  z.strictObject({
    type: z.literal("reasoning"),
    id: z.string().startsWith("rs_"),
    summary: z.array(z.strictObject({ type: z.literal("summary_text"), text: z.string() })),
    encrypted_content: z.string().startsWith("sealed-"),
  }),
  z.strictObject({
    type: z.literal("additional_tools"),
    id: z.string().nullish(),
    role: z.literal("developer"),
    tools: z.array(tool).min(1),
  }),
  message,
]);

const format = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("text") }),
  z.strictObject({ type: z.literal("json_object") }),
  z.strictObject({
    type: z.literal("json_schema"),
    name: toolName,
    schema: schemaObject,
    strict: z.boolean().optional(),
  }),
]);

const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;
const THINKING_TOKENS: Readonly<Record<(typeof EFFORTS)[number], number>> = {
  none: 0,
  minimal: 4,
  low: 8,
  medium: 16,
  high: 32,
  xhigh: 32,
  max: 32,
};

const body = z.strictObject({
  model: z.string().min(1),
  input: z.union([z.string().min(1), z.array(item).min(1)]),
  instructions: z.string().optional(),
  max_output_tokens: z.number().int().min(16).optional(),
  store: z.boolean().optional(),
  include: z.array(z.enum(["reasoning.encrypted_content", "message.output_text.logprobs"])).optional(),
  tools: z.array(tool).min(1).optional(),
  tool_choice: z
    .union([
      z.enum(["none", "auto", "required"]),
      z.strictObject({ type: z.enum(["function", "custom"]), name: z.string(), namespace: z.string().optional() }),
      z.strictObject({
        type: z.literal("allowed_tools"),
        mode: z.enum(["auto", "required"]),
        tools: z.array(z.looseObject({ type: z.string(), name: z.string() })).min(1),
      }),
    ])
    .optional(),
  max_tool_calls: z.number().int().min(1).optional(),
  top_logprobs: z.number().int().min(0).max(20).optional(),
  truncation: z.enum(["auto", "disabled"]).optional(),
  parallel_tool_calls: z.boolean().optional(),
  text: z
    .strictObject({ format: format.optional(), verbosity: z.enum(["low", "medium", "high"]).optional() })
    .optional(),
  reasoning: z
    .strictObject({
      effort: z.enum(EFFORTS).nullish(),
      summary: z.enum(["auto", "concise", "detailed"]).nullish(),
      context: z.string().optional(),
    })
    .optional(),
  temperature: z.number().min(0).max(2).optional(),
  top_p: z.number().min(0).max(1).optional(),
  user: z.string().optional(),
  prompt_cache_key: z.string().optional(),
  prompt_cache_retention: z.string().optional(),
  safety_identifier: z.string().optional(),
  service_tier: z.string().optional(),
  metadata: z.record(z.string(), z.string()).optional(),
  stream: z.boolean().optional(),
  stream_options: z.strictObject({ include_obfuscation: z.boolean().optional() }).optional(),
});

type Body = z.infer<typeof body>;
type Item = z.infer<typeof item>;

export interface ResponsesRequest {
  /** Normalized: every item has a type. */
  readonly body: ResponsesBody;
  readonly ask: Ask;
  /** Which thoughts the caller wants to see, and which to send back. */
  readonly showsSummary: boolean;
  readonly seals: boolean;
}

/** The tool names; for tools in a namespace, without the namespace. */
function namesIn(tools: readonly Json[]): readonly unknown[] {
  return tools.flatMap((tool) => (Array.isArray(tool.tools) ? namesIn(tool.tools) : [tool.name]));
}

function contradiction(asked: Body, declared: readonly unknown[]): Refusal | null {
  if (asked.stream_options && !asked.stream)
    return refuse("stream_options", "The 'stream_options' parameter is only allowed when 'stream' is enabled.");
  if (asked.tool_choice && declared.length === 0)
    return refuse("tool_choice", "Tool choice must be 'none' or left out where no tools are given.");
  const choice = asked.tool_choice;
  const named = typeof choice === "object" && "name" in choice ? choice.name : undefined;
  if (named !== undefined && !declared.includes(named))
    return refuse("tool_choice", `Tool choice '${named}' not found in 'tools' parameter.`);
  return typeof asked.input === "string" ? null : strayItem(asked.input);
}

function strayItem(input: readonly Item[]): Refusal | null {
  const called = new Set<string>();
  const answered = new Set<string>();
  for (const [at, one] of input.entries()) {
    if ("role" in one) continue;
    if (one.type === "function_call" || one.type === "custom_tool_call") called.add(one.call_id);
    if (one.type === "reasoning") {
      const next = input[at + 1];
      const isOwn = next !== undefined && ("role" in next ? next.role === "assistant" : !next.type.endsWith("_output"));
      if (isOwn) continue;
      return refuse(
        `input.${at}`,
        `Item '${one.id}' of type 'reasoning' was provided without its required following item.`,
      );
    }
    if (one.type !== "function_call_output" && one.type !== "custom_tool_call_output") continue;
    if (!called.has(one.call_id))
      return refuse("input", `No tool call found for function call output with call_id ${one.call_id}.`);
    answered.add(one.call_id);
  }
  const open = [...called].find((id) => !answered.has(id));
  return open === undefined ? null : refuse("input", `No tool output found for function call ${open}.`);
}

export function readResponsesRequest(json: unknown): ResponsesRequest | Refusal {
  const parsed = body.safeParse(json);
  if (!parsed.success) return schemaRefusal(parsed.error);
  const asked = parsed.data;
  const { input } = asked;
  const typed = (one: Item) => ("role" in one ? { ...one, type: one.type ?? "message" } : one);
  const typedBody: ResponsesBody = { ...asked, input: typeof input === "string" ? input : input.map(typed) };
  const wrong = contradiction(asked, namesIn(toolLists(typedBody)));
  if (wrong) return wrong;
  return {
    body: typedBody,
    showsSummary: asked.reasoning?.summary !== undefined,
    seals: asked.include?.includes("reasoning.encrypted_content") === true,
    ask: askOf(responsesRequest(typedBody).neutral(), {
      model: asked.model,
      stream: asked.stream ?? false,
      outputTokensMax: asked.max_output_tokens ?? null,
      thinkingTokens: asked.reasoning?.effort === undefined ? 0 : THINKING_TOKENS[asked.reasoning.effort ?? "none"],
      toolsJson: asked.tools,
    }),
  };
}
