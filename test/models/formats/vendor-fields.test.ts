// Every field of a vendor's wire is served or refused by name, and none is silently ignored; unknown fields too.
import { describe, expect, it } from "vitest";
import { GatewayError, refusalIn } from "../../../src/core/errors.ts";
import { CHAT_FIELDS } from "../../../src/models/formats/chat-completions/fields.ts";
import type { Field } from "../../../src/models/formats/field-table.ts";
import { GENERATE_FIELDS } from "../../../src/models/formats/generate-content/fields.ts";
import { checkGenerate } from "../../../src/models/formats/generate-content/read-body.ts";
import { embeddingsBody } from "../../../src/models/formats/generate-content/wire.ts";
import { keepKnown } from "../../../src/models/formats/known-fields.ts";
import { MESSAGES_FIELDS } from "../../../src/models/formats/messages/fields.ts";
import { RESPONSES_FIELDS } from "../../../src/models/formats/responses/fields.ts";

type Json = Record<string, unknown>;

const WORD = "nothing-known";

/** The fields of GenerateContentRequest and its parts, from its vendor's reference of November 2026. */
const SERVED: readonly [path: string, value: unknown][] = [
  ["contents.0.role", "user"],
  ["contents.0.parts.0.text", "Hi"],
  ["contents.0.parts.0.thought", true],
  ["contents.0.parts.0.thoughtSignature", "c2ln"],
  ["contents.0.parts.0.inlineData", { mimeType: "image/png", data: "aGk=" }],
  ["contents.0.parts.0.fileData", { mimeType: "image/png", fileUri: "https://a.example/a.png" }],
  ["contents.0.parts.0.functionCall", { id: "1", name: "f", args: {} }],
  ["contents.0.parts.0.functionResponse", { id: "1", name: "f", response: {}, willContinue: false }],
  ["systemInstruction", { parts: [{ text: "Be kind" }] }],
  [
    "tools.0.functionDeclarations.0",
    { name: "f", description: "d", parameters: {}, response: {}, behavior: "BLOCKING" },
  ],
  ["tools.0.functionDeclarations.0", { name: "f", parametersJsonSchema: {}, responseJsonSchema: {} }],
  ["tools.0.googleSearch", {}],
  ["tools.0.googleSearchRetrieval", {}],
  ["tools.0.urlContext", {}],
  ["toolConfig.functionCallingConfig", { mode: "any", allowedFunctionNames: ["f"] }],
  ["safetySettings", [{ category: "HARM_CATEGORY_HARASSMENT", threshold: "BLOCK_NONE" }]],
  ["labels", { team: "red" }],
  ["generationConfig.stopSequences", ["x"]],
  ["generationConfig.responseMimeType", "application/json"],
  ["generationConfig.responseSchema", { type: "OBJECT" }],
  ["generationConfig.responseJsonSchema", { type: "object" }],
  ["generationConfig.responseModalities", ["TEXT"]],
  ["generationConfig.candidateCount", 1],
  ["generationConfig.maxOutputTokens", 10],
  ["generationConfig.temperature", 1],
  ["generationConfig.topP", 1],
  ["generationConfig.topK", 1],
  ["generationConfig.seed", 1],
  ["generationConfig.presencePenalty", 0],
  ["generationConfig.frequencyPenalty", 0],
  ["generationConfig.thinkingConfig", { includeThoughts: true, thinkingBudget: 0, thinkingLevel: "LOW" }],
];

const REFUSED: readonly [path: string, value: unknown][] = [
  ["cachedContent", "cachedContents/1"],
  ["serviceTier", "flex"],
  ["store", true],
  ["modelArmorConfig", {}],
  ["contents.0.parts.0.videoMetadata", { fps: 1 }],
  ["contents.0.parts.0.executableCode", { language: "PYTHON", code: "1" }],
  ["contents.0.parts.0.codeExecutionResult", { outcome: "OUTCOME_OK" }],
  ["contents.0.parts.0.toolCall", { id: "1" }],
  ["contents.0.parts.0.toolResponse", { id: "1" }],
  ["contents.0.parts.0.partMetadata", { a: 1 }],
  ["contents.0.parts.0.mediaResolution", { level: "MEDIA_RESOLUTION_HIGH" }],
  ["contents.0.parts.0.functionResponse.willContinue", true],
  ["contents.0.parts.0.functionResponse.scheduling", "SILENT"],
  ["tools.0.functionDeclarations.0.behavior", "NON_BLOCKING"],
  ["tools.0.googleMaps", {}],
  ["tools.0.codeExecution", {}],
  ["tools.0.computerUse", {}],
  ["tools.0.fileSearch", {}],
  ["tools.0.enterpriseWebSearch", {}],
  ["tools.0.retrieval", {}],
  ["tools.0.mcpServers", [{}]],
  ["toolConfig.retrievalConfig", { languageCode: "en" }],
  ["toolConfig.includeServerSideToolInvocations", true],
  ["toolConfig.functionCallingConfig.streamFunctionCallArguments", true],
  ["toolConfig.functionCallingConfig.mode", WORD],
  ["generationConfig.responseModalities", ["AUDIO"]],
  ["generationConfig.responseLogprobs", true],
  ["generationConfig.logprobs", 3],
  ["generationConfig.enableEnhancedCivicAnswers", true],
  ["generationConfig.speechConfig", { languageCode: "en" }],
  ["generationConfig.imageConfig", { aspectRatio: "1:1" }],
  ["generationConfig.mediaResolution", "MEDIA_RESOLUTION_LOW"],
  ["generationConfig.audioTimestamp", true],
  ["generationConfig.routingConfig", {}],
  ["generationConfig.modelSelectionConfig", {}],
  ["generationConfig.thinkingConfig.thinkingLevel", WORD],
];

/** A valid body with a value at a path; `0` is a list's only item. */
function bodyWith(path: string, value: unknown): Json {
  const body: Json = { contents: [{ parts: [{}] }] };
  const names = path.split(".");
  let at: Json = body;
  for (const [place, name] of names.slice(0, -1).entries()) {
    at[name] ??= names[place + 1] === "0" ? [] : name === "0" && at !== body ? {} : {};
    at = at[name] as Json;
    if (name === "functionDeclarations") at[0] ??= { name: "f" };
  }
  at[names.at(-1) ?? ""] = value;
  return body;
}

const snake = (path: string) => path.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** The result, or the error that it throws for the caller. */
function checked(read: () => unknown): unknown {
  try {
    return read();
  } catch (error) {
    return refusalIn(error);
  }
}

describe("a request in the generate-content wire", () => {
  it.each(SERVED)("takes %s", (path, value) => {
    for (const spelled of [path, snake(path)]) {
      const read = checked(() => checkGenerate(Buffer.from(JSON.stringify(bodyWith(spelled, value)))));
      expect([spelled, read instanceof GatewayError ? read.message : ""]).toEqual([spelled, ""]);
    }
  });

  it.each(REFUSED)("refuses %s by its name", (path, value) => {
    const read = checked(() => checkGenerate(Buffer.from(JSON.stringify(bodyWith(path, value)))));
    if (!(read instanceof GatewayError)) throw new Error(`${path} was passed over`);
    expect([read.status, read.options.param, read.message]).toEqual([400, path, expect.stringContaining(path)]);
  });

  it.each(["", ...SERVED.filter(([, value]) => typeof value === "object").map(([path]) => path)])(
    "refuses what nobody knows in %s",
    (path) => {
      const [, value] = SERVED.find(([one]) => one === path) ?? ["", null];
      const free = [
        "labels",
        "safetySettings",
        "generationConfig.responseSchema",
        "generationConfig.responseJsonSchema",
      ];
      if (Array.isArray(value) || free.includes(path) || /google|urlContext/.test(path)) return;
      const at = path === "" ? WORD : `${path}.${WORD}`;
      const body = path === "" ? bodyWith(at, 1) : bodyWith(path, { ...(value as Json), [WORD]: 1 });
      const read = checked(() => checkGenerate(Buffer.from(JSON.stringify(body))));
      expect([read instanceof GatewayError && read.options.param, path]).toEqual([at, path]);
    },
  );

  it.each(["taskType", "title", WORD])("of embeddings refuses %s", (field) => {
    const content = { parts: [{ text: "a" }] };
    for (const [body, isBatch] of [
      [{ content, [field]: "x" }, false],
      [{ requests: [{ content, model: "m", [field]: "x" }] }, true],
    ] as const) {
      const read = checked(() => embeddingsBody(Buffer.from(JSON.stringify(body)), "m", isBatch));
      expect(read instanceof GatewayError && [read.status, read.message.includes(field)]).toEqual([400, true]);
    }
  });
});

const ALL: readonly [name: string, fields: Field, isClosed: boolean][] = [
  ["chat", CHAT_FIELDS, false],
  ["messages", MESSAGES_FIELDS, false],
  ["responses", RESPONSES_FIELDS, false],
  ["generate-content", GENERATE_FIELDS, true],
];

describe.each(ALL)("at the top of a body in the %s wire", (_, fields, isClosed) => {
  const refused = [...(fields.fields ?? [])].filter(([, place]) => place.refused !== null);

  it.each(refused.map(([name]) => name))("%s is refused by its name", (name) => {
    const { refused: error } = keepKnown({ [name]: "dear" }, fields, isClosed);
    expect([error?.code, error?.options.param]).toEqual(["unsupported_field", name]);
  });

  it("what nobody knows is dropped and named, or refused where the wire is closed", () => {
    const { body, dropped, refused: error } = keepKnown({ [WORD]: 1 }, fields, isClosed);
    expect(body).toEqual({});
    expect([dropped, error?.options.param]).toEqual(isClosed ? [[], WORD] : [[WORD], undefined]);
  });
});
