// Reads a request of the responses dialect as strictly as its vendor does, down to what the answer depends on.
import { z } from "zod";
import { type Ask, jsonTokens, type Schema, type Turn } from "../ask.ts";
import { refuse, schemaRefusal } from "../dialect.ts";
import type { Refusal } from "../refusals.ts";

const detail = z.enum(["low", "high", "auto", "original"]);
const inputText = z.strictObject({ type: z.literal("input_text"), text: z.string() });
const inputImage = z.strictObject({ type: z.literal("input_image"), image_url: z.string().min(1), detail });
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
const outputText = z.strictObject({ type: z.literal("output_text"), text: z.string() });
const parts = z.array(z.discriminatedUnion("type", [inputText, inputImage, inputFile])).min(1);

const callId = z.string().min(1).max(64);
const toolName = z.string().regex(/^[\w-]{1,64}$/);
const schemaObject = z.record(z.string(), z.unknown());

const message = z.discriminatedUnion("role", [
  z.strictObject({ role: z.enum(["system", "developer"]), content: z.array(inputText).min(1) }),
  z.strictObject({ role: z.literal("user"), content: parts }),
  z.strictObject({ role: z.literal("assistant"), content: z.array(outputText).min(1) }),
]);
const item = z.union([
  z.strictObject({
    type: z.literal("function_call"),
    call_id: callId,
    name: toolName,
    arguments: z.string(),
  }),
  z.strictObject({
    type: z.literal("function_call_output"),
    call_id: callId,
    output: z.union([z.string(), parts]),
  }),
  z.strictObject({
    type: z.literal("reasoning"),
    id: z.string().startsWith("rs_"),
    summary: z.array(z.strictObject({ type: z.literal("summary_text"), text: z.string() })),
    encrypted_content: z.string().startsWith("sealed-"),
  }),
  message,
]);

const tool = z.strictObject({
  type: z.literal("function"),
  name: toolName,
  description: z.string().optional(),
  parameters: schemaObject,
  strict: z.boolean(),
});
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
/** Words of thinking for each effort. */
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
  input: z.array(item).min(1),
  max_output_tokens: z.number().int().min(16).optional(),
  store: z.boolean().optional(),
  include: z.array(z.literal("reasoning.encrypted_content")).optional(),
  tools: z.array(tool).min(1).optional(),
  tool_choice: z
    .union([z.enum(["none", "auto", "required"]), z.strictObject({ type: z.literal("function"), name: z.string() })])
    .optional(),
  parallel_tool_calls: z.boolean().optional(),
  text: z
    .strictObject({ format: format.optional(), verbosity: z.enum(["low", "medium", "high"]).optional() })
    .optional(),
  reasoning: z
    .strictObject({ effort: z.enum(EFFORTS).optional(), summary: z.enum(["auto", "concise", "detailed"]).optional() })
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
type Item = Body["input"][number];

export interface ResponsesRequest {
  readonly ask: Ask;
  /** What of its thoughts the caller wants to see, and to carry back. */
  readonly showsSummary: boolean;
  readonly seals: boolean;
}

function textsOf(content: readonly { readonly type: string }[]): string {
  return content.map((part) => ("text" in part && typeof part.text === "string" ? part.text : "")).join(" ");
}

function mediaOf(content: readonly { readonly type: string }[]): number {
  return content.filter(({ type }) => type === "input_image" || type === "input_file").length;
}

function turnOf(one: Item): Turn {
  if ("role" in one) {
    const role = one.role === "developer" ? "system" : one.role;
    return { role, text: textsOf(one.content), parts: mediaOf(one.content) };
  }
  if (one.type === "function_call") return { role: "assistant", text: `${one.name} ${one.arguments}`, parts: 0 };
  if (one.type === "reasoning") return { role: "assistant", text: one.id, parts: 0 };
  const { output } = one;
  if (typeof output === "string") return { role: "tool", text: output, parts: 0 };
  return { role: "tool", text: textsOf(output), parts: mediaOf(output) };
}

/** What no schema of single fields can say. */
function contradiction(asked: Body): Refusal | null {
  if (asked.stream_options && !asked.stream) {
    return refuse("stream_options", "The 'stream_options' parameter is only allowed when 'stream' is enabled.");
  }
  if (asked.tool_choice && !asked.tools) {
    return refuse("tool_choice", "Tool choice must be 'none' or left out where no tools are given.");
  }
  const named = typeof asked.tool_choice === "object" ? asked.tool_choice.name : undefined;
  if (named !== undefined && !asked.tools?.some(({ name }) => name === named)) {
    return refuse("tool_choice", `Tool choice '${named}' not found in 'tools' parameter.`);
  }
  return strayItem(asked.input);
}

function strayItem(input: readonly Item[]): Refusal | null {
  const called = new Set<string>();
  const answered = new Set<string>();
  for (const [at, one] of input.entries()) {
    if ("role" in one) continue;
    if (one.type === "function_call") called.add(one.call_id);
    if (one.type === "reasoning") {
      const next = input[at + 1];
      const isOwn =
        next !== undefined && ("role" in next ? next.role === "assistant" : next.type !== "function_call_output");
      if (isOwn) continue;
      return refuse(
        `input.${at}`,
        `Item '${one.id}' of type 'reasoning' was provided without its required following item.`,
      );
    }
    if (one.type !== "function_call_output") continue;
    if (!called.has(one.call_id))
      return refuse("input", `No tool call found for function call output with call_id ${one.call_id}.`);
    answered.add(one.call_id);
  }
  const open = [...called].find((id) => !answered.has(id));
  return open === undefined ? null : refuse("input", `No tool output found for function call ${open}.`);
}

function toolUseOf(choice: Body["tool_choice"]): Ask["toolUse"] {
  if (typeof choice === "object") return { name: choice.name };
  return choice === "required" ? "any" : (choice ?? "auto");
}

function schemaOf(text: Body["text"]): Schema | null {
  if (text?.format?.type === "json_schema") return text.format.schema;
  return text?.format?.type === "json_object" ? {} : null;
}

/** Reads a body, or says which field is wrong. */
export function readResponsesRequest(json: unknown): ResponsesRequest | Refusal {
  const parsed = body.safeParse(json);
  if (!parsed.success) return schemaRefusal(parsed.error);
  const asked = parsed.data;
  const wrong = contradiction(asked);
  if (wrong) return wrong;
  return {
    showsSummary: asked.reasoning?.summary !== undefined,
    seals: asked.include !== undefined,
    ask: {
      model: asked.model,
      stream: asked.stream ?? false,
      usageAsked: true,
      turns: asked.input.map(turnOf),
      outputTokensMax: asked.max_output_tokens ?? null,
      stops: [],
      choices: 1,
      tools: (asked.tools ?? []).map(({ name, parameters }) => ({ name, schema: parameters })),
      toolUse: toolUseOf(asked.tool_choice),
      parallelTools: asked.parallel_tool_calls ?? true,
      schema: schemaOf(asked.text),
      thinkingTokens: asked.reasoning?.effort === undefined ? 0 : THINKING_TOKENS[asked.reasoning.effort],
      extraTokens: asked.tools ? jsonTokens(asked.tools) : 0,
    },
  };
}
