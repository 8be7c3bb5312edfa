// The field table of the generate-content format: what other formats can express, and what is refused for its price.
import type { Json } from "../../../core/json.ts";
import {
  among,
  anyObject,
  cases,
  compileTable,
  each,
  type FieldSpec,
  type Fields,
  fields,
  free,
  json,
  list,
  number,
  object,
  oneOf,
  ours,
  refused,
  required,
  setting,
  string,
  text,
  whole,
} from "../field-table.ts";

export const SERVER_TOOLS = "tools that a provider runs are billed apart";
const LIVE = "only calls of functions that wait for their result are sold";

/** Encoded data or its URL; the sibling field has the media type. */
const media = { media: "file", typedBy: "mimeType" } as const;
const inlineData = fields({ mimeType: setting, data: media, displayName: text });
const fileData = fields({ mimeType: setting, fileUri: media, displayName: text });
const name: FieldSpec = { ...text, ...string() };

const part = object({
  text: { ...text, ...string() },
  functionCall: object({ name: required(name), id: text, args: json }),
  functionResponse: object({
    name,
    id: text,
    response: json,
    parts: { items: fields({ inlineData, fileData }) },
    willContinue: refused(LIVE, among(false)),
    scheduling: refused(LIVE, among("SCHEDULING_UNSPECIFIED")),
  }),
  thought: setting,
  thoughtSignature: text,
  inlineData,
  fileData,
});

function content(partsMax?: number): Fields {
  return { parts: required({ ...list(part, partsMax), read: true }) };
}

const roles = oneOf("user", "model", "function", "system", "");

const declaration = object({
  name: required(name),
  description: text,
  ...each(json, "parameters", "parametersJsonSchema", "response", "responseJsonSchema"),
  behavior: refused(LIVE, among("UNSPECIFIED", "BLOCKING")),
});

/** The code that reads tools decides whether the gateway serves one of the vendor's tools. */
const tool = fields({
  functionDeclarations: list(declaration),
  ...each(ours, "googleSearch", "googleSearchRetrieval", "urlContext"),
  ...each(refused(SERVER_TOOLS), "googleMaps", "codeExecution", "computerUse", "fileSearch", "enterpriseWebSearch"),
  ...each(refused(SERVER_TOOLS), "retrieval", "mcpServers"),
});
const tools = cases("type", { action: ours }, { missing: tool, otherwise: refused(SERVER_TOOLS) });

function anyCase(...words: readonly string[]): FieldSpec {
  const issues = [{ path: "", message: `must be one of ${words.join(", ")}` }];
  const check = (value: unknown) => (words.includes(String(value).toUpperCase()) ? [] : issues);
  return { type: { kinds: ["string"], check } };
}

const isText = (value: unknown) => Array.isArray(value) && value.every((kind) => kind === "TEXT");

/** A body that passed the table, with the fields that we read. */
export type GenerateBody = Json & {
  readonly models?: readonly string[] | null;
  readonly contents: readonly Json[];
  readonly generationConfig?: (Json & { maxOutputTokens?: number | null; candidateCount?: number | null }) | null;
};

export const GENERATE_FIELDS = compileTable(
  fields({
    models: list(string(1, 200), 16, 1),
    contents: required(list(object({ role: roles, ...content(100_000) }), 100_000, 1)),
    systemInstruction: object({ role: setting, ...content() }),
    tools: { ...list({ ...tools, ...anyObject }), read: true, asJson: true },
    toolConfig: object({
      functionCallingConfig: object({
        mode: anyCase("MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED"),
        allowedFunctionNames: { items: setting },
      }),
    }),
    generationConfig: object({
      maxOutputTokens: whole(1, 10_000_000),
      candidateCount: whole(1, 8),
      temperature: number(0, 2),
      topP: number(0, 1),
      topK: number(0),
      seed: whole(),
      presencePenalty: number(-2, 2),
      frequencyPenalty: number(-2, 2),
      stopSequences: list(string(), 16),
      responseMimeType: string(0, 100),
      thinkingConfig: object({
        thinkingBudget: whole(-1),
        thinkingLevel: anyCase("THINKING_LEVEL_UNSPECIFIED", "MINIMAL", "LOW", "MEDIUM", "HIGH"),
        includeThoughts: setting,
      }),
      responseSchema: json,
      responseJsonSchema: json,
      responseModalities: refused("only text output is sold", isText),
    }),
    safetySettings: { ...free, type: { kinds: ["list"], max: 64 } },
    labels: free,
    model: setting,
    cachedContent: refused("caches that a provider keeps belong to its own customers"),
    ...each(ours, "max_cost_cents", "max_tool_calls", "provider"),
  }),
);
