// The allow-list of a body in the generate-content wire: what other wires can be told of it, and what is refused because it changes the price.
import { compilePlace, type PlaceSpec } from "../allow-list.ts";
import { json, refused, setting, text } from "../places.ts";

const SERVER_TOOLS = "tools that a provider runs are billed apart";
const serverTool = refused(SERVER_TOOLS);

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
        willContinue: setting,
        scheduling: setting,
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
    behavior: setting,
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
        fields: {
          functionDeclarations: { items: functionDeclaration },
          googleSearch: serverTool,
          googleSearchRetrieval: serverTool,
          googleMaps: serverTool,
          codeExecution: serverTool,
          urlContext: serverTool,
          computerUse: serverTool,
          fileSearch: serverTool,
          enterpriseWebSearch: serverTool,
          retrieval: serverTool,
          mcpServers: serverTool,
        },
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
    provider: { ours: true },
  },
};

/** The whole of what a body in the generate-content wire may hold. */
export const GENERATE_FIELDS = compilePlace(body);
