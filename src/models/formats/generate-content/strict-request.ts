// Parses a generateContent request as strictly as its vendor: rejects unknown fields and unsupported JSON Schema keywords.
import { z } from "zod";
import { type Ask, askOf, type Schema } from "../../../sandbox/ask.ts";
import { refuse, schemaRefusal } from "../../../sandbox/dialect.ts";
import type { Refusal } from "../../../sandbox/refusals.ts";
import { generateRequest } from "./request.ts";

const object = z.record(z.string(), z.unknown());
const base64 = z.string().regex(/^[\w+/-]+={0,2}$/, "Base64 decoding failed");

const functionName = z.string().regex(/^[A-Za-z_][\w.:-]{0,63}$/, "Invalid function name");

const part = z
  .strictObject({
    text: z.string().optional(),
    inlineData: z
      .strictObject({ mimeType: z.string().min(1), data: base64, displayName: z.string().optional() })
      .optional(),
    fileData: z.strictObject({ mimeType: z.string().optional(), fileUri: z.string().min(1) }).optional(),
    functionCall: z.strictObject({ id: z.string().optional(), name: functionName, args: object.optional() }).optional(),
    functionResponse: z
      .strictObject({
        id: z.string().optional(),
        name: z.string().min(1),
        response: object,
        parts: z.array(object).optional(),
      })
      .optional(),
    thought: z.boolean().optional(),
    thoughtSignature: base64.optional(),
    videoMetadata: object.optional(),
    mediaResolution: z.unknown().optional(),
  })
  .refine(
    (held) =>
      [held.text, held.inlineData, held.fileData, held.functionCall, held.functionResponse].filter(
        (one) => one !== undefined,
      ).length === 1,
    "required oneof field 'data' must have one initialized field",
  );
const parts = z.array(part).min(1, "must include at least one parts field");
const content = z.strictObject({ role: z.enum(["user", "model", "function"]).optional(), parts });

const generationConfig = z.strictObject({
  temperature: z.number().min(0).max(2).optional(),
  topP: z.number().min(0).max(1).optional(),
  topK: z.number().int().min(1).optional(),
  maxOutputTokens: z.number().int().min(1).optional(),
  candidateCount: z.number().int().min(1).max(8).optional(),
  stopSequences: z.array(z.string().min(1)).max(5).optional(),
  responseMimeType: z.enum(["text/plain", "application/json", "text/x.enum"]).optional(),
  responseSchema: object.optional(),
  responseJsonSchema: z.unknown().optional(),
  responseModalities: z.array(z.string()).optional(),
  thinkingConfig: z
    .strictObject({
      thinkingBudget: z.number().int().min(-1).optional(),
      thinkingLevel: z.string().optional(),
      includeThoughts: z.boolean().optional(),
    })
    .optional(),
  seed: z.number().int().optional(),
  presencePenalty: z.number().optional(),
  frequencyPenalty: z.number().optional(),
  responseLogprobs: z.boolean().optional(),
  logprobs: z.number().int().optional(),
  mediaResolution: z.string().optional(),
  speechConfig: object.optional(),
  imageConfig: object.optional(),
  enableEnhancedCivicAnswers: z.boolean().optional(),
});

const declaration = z.strictObject({
  name: functionName,
  description: z.string().optional(),
  parameters: object.optional(),
  parametersJsonSchema: object.optional(),
  response: object.optional(),
  behavior: z.string().optional(),
});

const body = z.strictObject({
  contents: z.array(content).min(1, "contents is not specified"),
  systemInstruction: z.strictObject({ role: z.string().optional(), parts }).optional(),
  generationConfig: generationConfig.optional(),
  tools: z
    .array(
      z.strictObject({
        functionDeclarations: z.array(declaration).optional(),
        googleSearch: object.optional(),
        codeExecution: object.optional(),
        urlContext: object.optional(),
      }),
    )
    .optional(),
  toolConfig: z
    .strictObject({
      functionCallingConfig: z
        .strictObject({
          mode: z.enum(["MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED"]).optional(),
          allowedFunctionNames: z.array(z.string()).optional(),
        })
        .optional(),
    })
    .optional(),
  safetySettings: z.array(z.strictObject({ category: z.string(), threshold: z.string() })).optional(),
  cachedContent: z.string().optional(),
  labels: z.record(z.string(), z.string()).optional(),
});

type Body = z.infer<typeof body>;
type Content = Body["contents"][number];

const SCHEMA_WORDS: ReadonlySet<string> = new Set(
  (
    "type format title description nullable enum maxItems minItems properties required minProperties maxProperties " +
    "minLength maxLength pattern example anyOf propertyOrdering default items minimum maximum"
  ).split(" "),
);
const SCHEMA_TYPE = /^(string|number|integer|boolean|array|object|null)$/i;

/** Rejects what the vendor's schema language, a subset of OpenAPI's, does not support. */
function schemaRefusalAt(schema: unknown, path: string): Refusal | null {
  if (typeof schema !== "object" || schema === null) return refuse(path, "not a schema");
  const held = schema as Schema;
  const unknown = Object.keys(held).find((word) => !SCHEMA_WORDS.has(word));
  if (unknown !== undefined)
    return refuse(`${path}.${unknown}`, `Invalid JSON payload received. Unknown name "${unknown}": Cannot find field.`);
  if (held.type !== undefined && !SCHEMA_TYPE.test(String(held.type))) return refuse(`${path}.type`, "Invalid value");
  if (Array.isArray(held.type)) return refuse(`${path}.type`, "Proto field is not repeating, cannot start list.");
  if (Array.isArray(held.enum) && held.enum.some((one) => typeof one !== "string"))
    return refuse(`${path}.enum`, "Invalid value (TYPE_STRING)");
  const named = Object.entries((held.properties ?? {}) as Schema).map(
    ([name, inner]) => [`properties.${name}`, inner] as const,
  );
  const options = (Array.isArray(held.anyOf) ? held.anyOf : []).map((inner, at) => [`anyOf.${at}`, inner] as const);
  const items = held.items === undefined ? [] : [["items", held.items] as const];
  for (const [name, inner] of [...named, ...options, ...items]) {
    const wrong = schemaRefusalAt(inner, `${path}.${name}`);
    if (wrong) return wrong;
  }
  return null;
}

function declarationsOf(asked: Body) {
  return (asked.tools ?? []).flatMap((tool) => tool.functionDeclarations ?? []);
}

function toolsRefusal(asked: Body): Refusal | null {
  for (const [at, { parameters, parametersJsonSchema }] of declarationsOf(asked).entries()) {
    const path = `tools.0.functionDeclarations.${at}.parameters`;
    if (parameters && parametersJsonSchema)
      return refuse(path, "only one of parameters and parametersJsonSchema may be set");
    const wrong = parameters ? schemaRefusalAt(parameters, path) : null;
    if (wrong) return wrong;
    const isObject = /^object$/i.test(String(parameters?.type));
    if (isObject && Object.keys(parameters?.properties ?? {}).length === 0)
      return refuse(`${path}.properties`, "should be non-empty for OBJECT type");
  }
  const config = asked.toolConfig?.functionCallingConfig;
  if (config?.allowedFunctionNames?.length && config.mode !== "ANY" && config.mode !== "VALIDATED") {
    return refuse(
      "toolConfig.functionCallingConfig.allowedFunctionNames",
      "should only be set when mode is ANY or VALIDATED",
    );
  }
  const names = declarationsOf(asked).map((tool) => tool.name);
  const stranger = config?.allowedFunctionNames?.find((name) => !names.includes(name));
  return stranger === undefined
    ? null
    : refuse("toolConfig.functionCallingConfig.allowedFunctionNames", `unknown: ${stranger}`);
}

function answersIn(content: Content | undefined): number {
  return content?.parts.filter((held) => held.functionResponse).length ?? 0;
}

/** All calls of one turn must be answered in the next. */
function turnsRefusal(contents: readonly Content[]): Refusal | null {
  for (const [at, one] of contents.entries()) {
    const called = contents[at - 1]?.parts.filter((held) => held.functionCall).length ?? 0;
    if (called !== answersIn(one)) {
      return refuse(
        `contents.${at}`,
        "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.",
      );
    }
    if (one.role === "model" && answersIn(one) > 0)
      return refuse(`contents.${at}.role`, "a model does not respond to functions");
    if (one.role !== "model" && one.parts.some((held) => held.functionCall))
      return refuse(`contents.${at}.role`, "Please ensure that function call turns are the model's.");
  }
  return null;
}

function contradiction(asked: Body): Refusal | null {
  const config = asked.generationConfig ?? {};
  const schema = config.responseSchema ?? config.responseJsonSchema;
  if (schema !== undefined && config.responseMimeType !== "application/json")
    return refuse("generationConfig.responseSchema", "only allowed with responseMimeType application/json");
  if (config.thinkingConfig?.thinkingBudget !== undefined && config.thinkingConfig.thinkingLevel !== undefined) {
    return refuse(
      "generationConfig.thinkingConfig",
      "You can only set only one of thinking budget and thinking level.",
    );
  }
  const wrong = config.responseSchema
    ? schemaRefusalAt(config.responseSchema, "generationConfig.responseSchema")
    : null;
  return wrong ?? toolsRefusal(asked) ?? turnsRefusal(asked.contents);
}

export interface GenerateContentRequest {
  readonly ask: Ask;
  /** Thinking always counts, but is shown only on request. */
  readonly showThoughts: boolean;
}

/** Parses a body, or names the wrong field. The model and the choice to stream are in the path. */
export function readGenerateContentRequest(
  json: unknown,
  model: string,
  stream: boolean,
): GenerateContentRequest | Refusal {
  const parsed = body.safeParse(json);
  if (!parsed.success) return schemaRefusal(parsed.error);
  const asked = parsed.data;
  const wrong = contradiction(asked);
  if (wrong) return wrong;
  const { thinkingConfig, maxOutputTokens } = asked.generationConfig ?? {};
  const ask = askOf(generateRequest(asked).neutral(), {
    model,
    stream,
    outputTokensMax: maxOutputTokens ?? null,
    thinkingTokens: thinkingConfig !== undefined && thinkingConfig.thinkingBudget !== 0 ? 16 : 0,
    toolsJson: asked.tools,
  });
  return { ask, showThoughts: thinkingConfig?.includeThoughts ?? false };
}
