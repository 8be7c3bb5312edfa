// The field table of the generate-content format: what other formats can express, and what is refused for its price.
import type { Json } from "../../../core/json.ts";
import * as f from "../field-table.ts";

export const SERVER_TOOLS = "tools that a provider runs are billed apart";
const LIVE = "only calls of functions that wait for their result are sold";

/** Encoded data or its URL; the sibling field has the media type. */
const media = { media: "file", typedBy: "mimeType" } as const;
const inlineData = f.fields({ mimeType: f.setting, data: media, displayName: f.text });
const fileData = f.fields({ mimeType: f.setting, fileUri: media, displayName: f.text });
const name: f.FieldSpec = { ...f.text, ...f.string() };

const part = f.object({
  text: { ...f.text, ...f.string() },
  functionCall: f.object({ name: f.required(name), id: f.text, args: f.json }),
  functionResponse: f.object({
    name,
    id: f.text,
    response: f.json,
    parts: { items: f.fields({ inlineData, fileData }) },
    willContinue: f.refused(LIVE, f.among(false)),
    scheduling: f.refused(LIVE, f.among("SCHEDULING_UNSPECIFIED")),
  }),
  thought: f.setting,
  thoughtSignature: f.text,
  inlineData,
  fileData,
});

function content(partsMax?: number): f.Fields {
  return { parts: f.required({ ...f.list(part, partsMax), read: true }) };
}

const roles = f.oneOf("user", "model", "function", "system", "");

const declaration = f.object({
  name: f.required(name),
  description: f.text,
  ...f.each(f.json, "parameters", "parametersJsonSchema", "response", "responseJsonSchema"),
  behavior: f.refused(LIVE, f.among("UNSPECIFIED", "BLOCKING")),
});

/** The code that reads tools decides whether the gateway serves one of the vendor's tools. */
const tool = f.fields({
  functionDeclarations: f.list(declaration),
  ...f.each(f.ours, "googleSearch", "googleSearchRetrieval", "urlContext"),
  ...f.each(f.refused(SERVER_TOOLS), "googleMaps", "codeExecution", "computerUse", "fileSearch", "enterpriseWebSearch"),
  ...f.each(f.refused(SERVER_TOOLS), "retrieval", "mcpServers"),
});
const tools = f.cases("type", { action: f.ours }, { missing: tool, otherwise: f.refused(SERVER_TOOLS) });

function anyCase(...words: readonly string[]): f.FieldSpec {
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

export const GENERATE_FIELDS = f.compileTable(
  f.fields({
    models: f.list(f.string(1, 200), 16, 1),
    contents: f.required(f.list(f.object({ role: roles, ...content(100_000) }), 100_000, 1)),
    systemInstruction: f.object({ role: f.setting, ...content() }),
    tools: { ...f.list({ ...tools, ...f.anyObject }), read: true, asJson: true },
    toolConfig: f.object({
      functionCallingConfig: f.object({
        mode: anyCase("MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED"),
        allowedFunctionNames: { items: f.setting },
      }),
    }),
    generationConfig: f.object({
      maxOutputTokens: f.whole(1, 10_000_000),
      candidateCount: f.whole(1, 8),
      temperature: f.number(0, 2),
      topP: f.number(0, 1),
      topK: f.number(0),
      seed: f.whole(),
      presencePenalty: f.number(-2, 2),
      frequencyPenalty: f.number(-2, 2),
      stopSequences: f.list(f.string(), 16),
      responseMimeType: f.string(0, 100),
      thinkingConfig: f.object({
        thinkingBudget: f.whole(-1),
        thinkingLevel: anyCase("THINKING_LEVEL_UNSPECIFIED", "MINIMAL", "LOW", "MEDIUM", "HIGH"),
        includeThoughts: f.setting,
      }),
      responseSchema: f.json,
      responseJsonSchema: f.json,
      responseModalities: f.refused("only text output is sold", isText),
    }),
    safetySettings: { ...f.free, type: { kinds: ["list"], max: 64 } },
    labels: f.free,
    model: f.setting,
    cachedContent: f.refused("caches that a provider keeps belong to its own customers"),
    ...f.each(f.ours, "max_cost_cents", "max_tool_calls", "provider"),
  }),
);
