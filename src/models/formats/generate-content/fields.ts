// The allow-list of a body in the generate-content wire: what other wires can be told of it, and what is refused because it changes the price.
import { compilePlace, type PlaceSpec } from "../allow-list.ts";
import { json, oneOf, refused, setting, text } from "../places.ts";

export const SERVER_TOOLS = "tools that a provider runs are billed apart";

const LIVE = "only calls of functions that wait for their result are sold";

/** Encoded data, or an address of it, of the type that stands beside it. */
const media = { media: "file", typedBy: "mimeType" } as const;
const inlineData: PlaceSpec = { fields: { mimeType: setting, data: media, displayName: text } };
const fileData: PlaceSpec = { fields: { mimeType: setting, fileUri: media, displayName: text } };

const part: PlaceSpec = {
  fields: {
    text,
    thought: setting,
    thoughtSignature: text,
    inlineData,
    fileData,
    functionCall: { fields: { id: text, name: text, args: json } },
    functionResponse: {
      fields: {
        id: text,
        name: text,
        response: json,
        parts: { items: { fields: { inlineData, fileData } } },
        willContinue: refused(LIVE, oneOf(false)),
        scheduling: refused(LIVE, oneOf("SCHEDULING_UNSPECIFIED")),
      },
    },
  },
};

const content: PlaceSpec = { fields: { role: setting, parts: { read: true, items: part } } };

const functionDeclaration: PlaceSpec = {
  fields: {
    name: text,
    description: text,
    parameters: json,
    parametersJsonSchema: json,
    response: json,
    responseJsonSchema: json,
    behavior: refused(LIVE, oneOf("UNSPECIFIED", "BLOCKING")),
  },
};

/** Tools of the vendor's own, of which the gateway serves some; whether it does is looked at when the tools are read. */
const tool: PlaceSpec = {
  fields: {
    functionDeclarations: { items: functionDeclaration },
    googleSearch: { ours: true },
    googleSearchRetrieval: { ours: true },
    urlContext: { ours: true },
    ...Object.fromEntries(
      [
        ...["googleMaps", "codeExecution", "computerUse", "fileSearch", "enterpriseWebSearch", "retrieval"],
        "mcpServers",
      ].map((name) => [name, refused(SERVER_TOOLS)]),
    ),
  },
};

const body: PlaceSpec = {
  fields: {
    model: setting,
    models: { items: setting },
    contents: { items: content },
    systemInstruction: content,
    tools: {
      read: true,
      asJson: true,
      items: {
        by: { field: "type", cases: { action: { ours: true } }, missing: tool, otherwise: refused(SERVER_TOOLS) },
      },
    },
    toolConfig: {
      fields: { functionCallingConfig: { fields: { mode: setting, allowedFunctionNames: { items: setting } } } },
    },
    generationConfig: {
      fields: {
        stopSequences: { items: setting },
        responseMimeType: setting,
        responseSchema: json,
        responseJsonSchema: json,
        candidateCount: setting,
        maxOutputTokens: setting,
        temperature: setting,
        topP: setting,
        topK: setting,
        seed: setting,
        presencePenalty: setting,
        frequencyPenalty: setting,
        thinkingConfig: { fields: { includeThoughts: setting, thinkingBudget: setting, thinkingLevel: setting } },
        responseModalities: refused(
          "only text output is sold",
          (value) => Array.isArray(value) && value.every((kind) => kind === "TEXT"),
        ),
      },
    },
    safetySettings: { free: true },
    labels: { free: true },
    cachedContent: refused("caches that a provider keeps belong to its own customers"),
    max_cost_cents: { ours: true },
    max_tool_calls: { ours: true },
    provider: { ours: true },
  },
};

/** The whole of what a body in the generate-content wire may hold. */
export const GENERATE_FIELDS = compilePlace(body);
