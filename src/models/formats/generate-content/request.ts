// Translates a request in the generate-content format to the neutral one.
import { isRecord, type Json, listOf, numberOf, stringOf, wordOf } from "../../../core/json.ts";
import type {
  CallerRequest,
  NeutralRequest,
  NeutralTool,
  ReasoningAsk,
  ResponseFormat,
  ToolChoice,
} from "../../../core/neutral.ts";
import { once } from "../neutral-blocks.ts";
import { effortOf, samplingOf, stopsIn } from "../request-parts.ts";
import { WIRE } from "./errors.ts";
import { turnsOf } from "./turns.ts";

/** Integer keywords, which protobuf writes as strings. */
const COUNTS = ["minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"];
/** Keywords that JSON Schema lacks or defines differently. */
const DROPPED: ReadonlySet<string> = new Set(["nullable", "propertyOrdering", "property_ordering", "example"]);

function typeOf(type: unknown, nullable: boolean): unknown {
  if (typeof type !== "string") return type;
  const word = type.toLowerCase();
  return nullable ? [word, "null"] : word;
}

function schemasOf(value: unknown): unknown {
  return isRecord(value)
    ? Object.fromEntries(Object.entries(value).map(([name, one]) => [name, jsonSchema(one)]))
    : value;
}

/** Converts to JSON Schema. A JSON Schema passes unchanged, except for the keywords above. */
function jsonSchema(schema: unknown): unknown {
  if (!isRecord(schema)) return schema;
  const out: Json = {};
  for (const [key, value] of Object.entries(schema)) {
    if (DROPPED.has(key) || key === "__proto__") continue;
    if (key === "type") out.type = typeOf(value, schema.nullable === true);
    else if (key === "properties") out.properties = schemasOf(value);
    else if (key === "items") out.items = jsonSchema(value);
    else if (key === "anyOf" || key === "any_of") out.anyOf = Array.isArray(value) ? value.map(jsonSchema) : value;
    else out[key] = COUNTS.includes(key) ? (numberOf(Number(value)) ?? value) : value;
  }
  return out;
}

const JSON_TYPE = "application/json";
/** All of these mean plain text. */
const PLAIN_TYPES: readonly unknown[] = [undefined, null, "", "text/plain"];

function part(body: Json, field: string): Json {
  const value = body[field];
  return isRecord(value) ? value : {};
}

function configOf(body: Json): Json {
  return part(body, "generationConfig");
}

export function declarationsOf(body: Json): readonly Json[] {
  return listOf(body.tools)
    .filter(isRecord)
    .flatMap(({ functionDeclarations }) => listOf(functionDeclarations).filter(isRecord));
}

function callingOf(body: Json): { readonly mode: string; readonly allowed: readonly string[] } {
  const config = part(part(body, "toolConfig"), "functionCallingConfig");
  const allowed = listOf(config.allowedFunctionNames).filter((name): name is string => typeof name === "string");
  return { mode: wordOf(config.mode).toUpperCase(), allowed };
}

function parametersOf({ parameters, parametersJsonSchema }: Json): Json | null {
  const schema = parametersJsonSchema ?? jsonSchema(parameters);
  return isRecord(schema) ? schema : null;
}

/** Appends the response schema to the description: other formats have no field for it. */
function descriptionOf({ description, response, responseJsonSchema = jsonSchema(response) }: Json): string | null {
  const about = stringOf(description) ?? null;
  return isRecord(responseJsonSchema) ? `${about ?? ""}\nReturns: ${JSON.stringify(responseJsonSchema)}`.trim() : about;
}

/** The functions that the model may call: all, or those allowed. */
function toolsOf(body: Json): NeutralTool[] {
  const { allowed } = callingOf(body);
  const declared = declarationsOf(body).filter(({ name }) => typeof name === "string" && name !== "");
  const kept = allowed.length === 0 ? declared : declared.filter(({ name }) => allowed.includes(wordOf(name)));
  return kept.map((tool) => ({
    kind: "function",
    name: wordOf(tool.name),
    description: descriptionOf(tool),
    parameters: parametersOf(tool),
    strict: false,
    cacheMark: false,
  }));
}

function toolChoiceOf(body: Json): ToolChoice | null {
  const { mode, allowed } = callingOf(body);
  const [only, ...others] = allowed;
  switch (mode) {
    case "ANY":
      return only !== undefined && others.length === 0 ? { mode: "named", name: only } : { mode: "required" };
    case "NONE":
      return { mode: "none" };
    case "AUTO":
    case "VALIDATED":
      return { mode: "auto" };
    default:
      return null;
  }
}

function formatOf(body: Json): ResponseFormat | null {
  const { responseMimeType, responseSchema, responseJsonSchema } = configOf(body);
  const schema = responseJsonSchema ?? jsonSchema(responseSchema);
  if (isRecord(schema)) return { kind: "schema", schema, name: null, strict: null };
  return responseMimeType === JSON_TYPE ? { kind: "json" } : null;
}

/** Thoughts are shown only on request. */
export function showsThoughts(body: Json): boolean {
  return part(configOf(body), "thinkingConfig").includeThoughts === true;
}

function reasoningOf(body: Json): ReasoningAsk | null {
  const { thinkingConfig } = configOf(body);
  if (!isRecord(thinkingConfig)) return null;
  const budget = numberOf(thinkingConfig.thinkingBudget) ?? null;
  const level = wordOf(thinkingConfig.thinkingLevel).toLowerCase();
  return {
    off: budget === 0,
    effort: effortOf(level),
    budgetTokens: budget !== null && budget > 0 ? budget : null,
    exclude: !showsThoughts(body),
  };
}

function foreignOf(body: Json): NeutralRequest["foreign"] {
  const { responseMimeType: type } = configOf(body);
  if (type === JSON_TYPE || PLAIN_TYPES.includes(type)) return [];
  const field = "generationConfig.responseMimeType";
  return [{ field, reason: `${field}: answers of type ${wordOf(type).slice(0, 50)} have no place in its wire` }];
}

function neutralOf(body: Json): NeutralRequest {
  return {
    turns: turnsOf(body),
    tools: toolsOf(body),
    toolChoice: toolChoiceOf(body),
    parallelToolCalls: null,
    format: formatOf(body),
    sampling: samplingOf(configOf(body), "camel"),
    reasoning: reasoningOf(body),
    stops: stopsIn(configOf(body).stopSequences),
    choices: numberOf(configOf(body).candidateCount) ?? 1,
    user: null,
    cacheMark: false,
    extra: Array.isArray(body.safetySettings) ? { safetySettings: body.safetySettings } : {},
    foreign: foreignOf(body),
  };
}

export function generateRequest(body: Json): CallerRequest {
  return {
    wire: WIRE,
    body,
    mayBeEmpty: stopsIn(configOf(body).stopSequences).length > 0,
    usesTools: declarationsOf(body).length > 0,
    reasoning: () => reasoningOf(body),
    format: () => formatOf(body),
    neutral: once(() => neutralOf(body)),
  };
}
