// Parses a converse request as strictly as its vendor: rejects unknown fields, wrong turn order and unanswered tool calls.
import { z } from "zod";
import { type Ask, jsonTokens, type Turn } from "../../../sandbox/ask.ts";
import { refuse, schemaRefusal } from "../../../sandbox/dialect.ts";
import { plainSchema } from "../../../sandbox/dialects/tool-schema.ts";
import type { Refusal } from "../../../sandbox/refusals.ts";
import { signatureOf } from "../messages/strict-request.ts";

const object = z.record(z.string(), z.unknown());
const base64 = z.string().regex(/^[\w+/]+={0,2}$/, "invalid base64 data");
const source = z.strictObject({ bytes: base64 });
const id = z.string().regex(/^[\w-]{1,64}$/);
const toolName = z.string().regex(/^[a-zA-Z][\w-]{0,63}$/);

const text = z.strictObject({ text: z.string().regex(/\S/, "The text field in the ContentBlock object is blank.") });
const cachePoint = z.strictObject({ cachePoint: z.strictObject({ type: z.literal("default") }) });
const image = z.strictObject({ image: z.strictObject({ format: z.enum(["png", "jpeg", "gif", "webp"]), source }) });
const document = z.strictObject({
  document: z.strictObject({
    format: z.enum(["pdf", "txt"]),
    name: z.string().regex(/^[A-Za-z0-9()[\]-]+( [A-Za-z0-9()[\]-]+)*$/, "The name is invalid"),
    source,
  }),
});
const toolUse = z.strictObject({ toolUse: z.strictObject({ toolUseId: id, name: toolName, input: object }) });
const toolResult = z.strictObject({
  toolResult: z.strictObject({
    toolUseId: id,
    content: z.array(z.union([text, image, document, z.strictObject({ json: object })])),
    status: z.enum(["success", "error"]).optional(),
  }),
});
const thought = z.strictObject({
  reasoningContent: z.union([
    z.strictObject({ reasoningText: z.strictObject({ text: z.string(), signature: z.string() }) }),
    z.strictObject({ redactedContent: base64 }),
  ]),
});
const block = z.union([text, image, document, toolUse, toolResult, thought, cachePoint]);

const body = z.strictObject({
  model: z.string().min(1),
  messages: z.array(z.strictObject({ role: z.enum(["user", "assistant"]), content: z.array(block).min(1) })).min(1),
  system: z.array(z.union([text, cachePoint])).optional(),
  inferenceConfig: z
    .strictObject({
      maxTokens: z.number().int().min(1).optional(),
      temperature: z.number().min(0).max(1).optional(),
      topP: z.number().min(0).max(1).optional(),
      stopSequences: z.array(z.string().min(1)).max(2_500).optional(),
    })
    .optional(),
  toolConfig: z
    .strictObject({
      tools: z
        .array(
          z.union([
            cachePoint,
            z.strictObject({
              toolSpec: z.strictObject({
                name: toolName,
                description: z.string().min(1).optional(),
                inputSchema: z.strictObject({ json: plainSchema }),
                strict: z.boolean().optional(),
              }),
            }),
          ]),
        )
        .min(1),
      toolChoice: z
        .union([
          z.strictObject({ auto: z.strictObject({}) }),
          z.strictObject({ any: z.strictObject({}) }),
          z.strictObject({ tool: z.strictObject({ name: toolName }) }),
        ])
        .optional(),
    })
    .optional(),
  outputConfig: z
    .strictObject({
      textFormat: z.strictObject({
        type: z.literal("json_schema"),
        structure: z.strictObject({
          jsonSchema: z.strictObject({ name: z.string().optional(), schema: z.string().transform(schemaIn) }),
        }),
      }),
    })
    .optional(),
  additionalModelRequestFields: object.optional(),
});

/** A schema is sent as text. */
function schemaIn(json: string, context: z.RefinementCtx): Record<string, unknown> {
  try {
    return object.parse(JSON.parse(json));
  } catch {
    context.addIssue("The schema is not valid JSON.");
    return z.NEVER;
  }
}

type Body = z.infer<typeof body>;
type Block = z.infer<typeof block>;

function callsIn(content: readonly Block[] | undefined): readonly string[] {
  return (content ?? []).flatMap((one) => ("toolUse" in one ? [one.toolUse.toolUseId] : []));
}

function resultsIn(content: readonly Block[]): readonly string[] {
  return content.flatMap((one) => ("toolResult" in one ? [one.toolResult.toolUseId] : []));
}

/** Rejects blocks that may not be combined in one turn. */
function oddBlocks(content: readonly Block[], names: Set<string>): Refusal | null {
  const documents = content.flatMap((one) => ("document" in one ? [one.document.name] : []));
  if (documents.length > 0 && !content.some((one) => "text" in one))
    return refuse("messages", "A text block is required beside a document block.");
  for (const name of documents) {
    if (names.has(name)) return refuse("messages", `Multiple document blocks have the name ${name}.`);
    names.add(name);
  }
  const forged = content.some((one) => {
    if (!("reasoningContent" in one) || !("reasoningText" in one.reasoningContent)) return false;
    const { text: thinking, signature } = one.reasoningContent.reasoningText;
    return signature !== signatureOf(thinking);
  });
  return forged ? refuse("messages", "The signature of a reasoningContent block is invalid.") : null;
}

function contradiction({ messages, toolConfig }: Body): Refusal | null {
  const names = new Set<string>();
  for (const { content } of messages) {
    const odd = oddBlocks(content, names);
    if (odd) return odd;
  }
  if (messages[0]?.role !== "user") return refuse("messages", "A conversation must start with a user message.");
  for (const [at, { role, content }] of messages.entries()) {
    if (role === messages[at - 1]?.role)
      return refuse("messages", "A conversation must alternate between user and assistant roles.");
    const [before, answered] = [callsIn(messages[at - 1]?.content), resultsIn(content)];
    if (answered.some((one) => !before.includes(one)) || before.some((one) => !answered.includes(one))) {
      return refuse(
        "messages",
        "The number of toolResult blocks does not match the toolUse blocks of the turn before.",
      );
    }
  }
  const usesTools = messages.some(({ content }) => callsIn(content).length + resultsIn(content).length > 0);
  if (usesTools && toolConfig === undefined) {
    return refuse(
      "toolConfig",
      "The toolConfig field must be defined when using toolUse and toolResult content blocks.",
    );
  }
  return null;
}

function textOf(one: Block): string {
  if ("text" in one) return one.text;
  if ("toolUse" in one) return JSON.stringify(one.toolUse.input);
  if ("toolResult" in one) return one.toolResult.content.map((part) => ("text" in part ? part.text : "")).join(" ");
  return "";
}

function turnsOf({ role, content }: Body["messages"][number]): Turn[] {
  const results = content.filter((one) => "toolResult" in one);
  const rest = content.filter((one) => !("toolResult" in one));
  const turn = (as: Turn["role"], some: readonly Block[]): Turn => ({
    role: as,
    text: some.map(textOf).filter(Boolean).join(" "),
    parts: some.filter((one) => "image" in one || "document" in one).length,
  });
  return [...results.map((one) => turn("tool", [one])), ...(rest.length > 0 ? [turn(role, rest)] : [])];
}

function toolUseOf(config: Body["toolConfig"]): Ask["toolUse"] {
  const choice = config?.toolChoice;
  if (choice !== undefined && "tool" in choice) return { name: choice.tool.name };
  return choice !== undefined && "any" in choice ? "any" : "auto";
}

export interface ConverseReading {
  readonly ask: Ask;
  /** True for models of the maker that signs thoughts; models of the other maker show them and accept none back. */
  readonly signsThoughts: boolean;
}

/** The number of thinking words, from either of the two fields that request thinking. */
function thinkingOf({ reasoning_effort: effort, reasoningConfig: config }: Record<string, unknown>): number {
  const thinks = typeof effort === "string" || (object.safeParse(config).data?.type ?? "disabled") !== "disabled";
  return thinks ? 16 : 0;
}

export function readConverseRequest(json: unknown, stream: boolean): ConverseReading | Refusal {
  const parsed = body.safeParse(json);
  if (!parsed.success) return schemaRefusal(parsed.error);
  const asked = parsed.data;
  const wrong = contradiction(asked);
  if (wrong) return wrong;
  const system = (asked.system ?? []).map((one) => ("text" in one ? one.text : "")).join(" ");
  const more = asked.additionalModelRequestFields ?? {};
  const ask: Ask = {
    model: asked.model,
    stream,
    usageAsked: true,
    turns: [
      ...(system === "" ? [] : [{ role: "system" as const, text: system, parts: 0 }]),
      ...asked.messages.flatMap(turnsOf),
    ],
    outputTokensMax: asked.inferenceConfig?.maxTokens ?? null,
    stops: asked.inferenceConfig?.stopSequences ?? [],
    choices: 1,
    tools: (asked.toolConfig?.tools ?? []).flatMap((one) =>
      "toolSpec" in one ? [{ name: one.toolSpec.name, schema: one.toolSpec.inputSchema.json }] : [],
    ),
    toolUse: toolUseOf(asked.toolConfig),
    parallelTools: true,
    schema:
      asked.outputConfig?.textFormat.structure.jsonSchema.schema ?? (/\bone JSON object\b/i.test(system) ? {} : null),
    thinkingTokens: thinkingOf(more),
    extraTokens: asked.toolConfig ? jsonTokens(asked.toolConfig.tools) : 0,
  };
  return { ask, signsThoughts: more.reasoningConfig !== undefined };
}
