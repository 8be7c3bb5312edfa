// Reads a request in the generate-content format: validates fields, refuses unknown ones and those that change the price.
import type { PlanCall } from "../../../core/endpoint.ts";
import { GatewayError } from "../../../core/errors.ts";
import { isRecord, type Json, listOf } from "../../../core/json.ts";
import type { ThoughtSeal } from "../../../core/neutral.ts";
import { addHosted, type Hosts, readActions, type WantedHosted } from "../action-tools.ts";
import { readBody } from "../check-fields.ts";
import { type Field, fieldFor } from "../field-table.ts";
import { type KnownBody, unknownField } from "../known-fields.ts";
import type { ModelRequest } from "../model-request.ts";
import { parseJson } from "../parse-json.ts";
import type { PromptShape } from "../prompt-text.ts";
import { commonParts, sharedOutput, wantedNames } from "../request-parts.ts";
import { generateAnswers } from "./answers.ts";
import { GENERATE_FIELDS, type GenerateBody, SERVER_TOOLS } from "./fields.ts";
import { GenerateFrame } from "./frame.ts";
import { declarationsOf, generateRequest, showsThoughts } from "./request.ts";
import type { StreamForm } from "./stream-form.ts";

// Protobuf allows two spellings of each field; both are read under the name in the table.

function camel(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function listedName(key: string, object: Readonly<Record<string, unknown>>, field: Field): string {
  if (!key.includes("_") || field.fields?.has(key) === true) return key;
  const other = camel(key);
  return field.fields?.has(other) === true && object[other] === undefined ? other : key;
}

/** Renames fields to the names in the table; arbitrary JSON stays as it is. */
function withListedNames(value: unknown, field: Field): unknown {
  if (field.free || field.refused !== null) return value;
  if (Array.isArray(value)) {
    const { items } = field;
    return items === null ? value : value.map((one) => withListedNames(one, items));
  }
  const at = isRecord(value) ? fieldFor(value, field) : "unknown";
  if (!isRecord(value) || at === "unknown" || at.fields === null) return value;
  const named: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    if (key === "__proto__") continue;
    const name = listedName(key, value, at);
    const inner = at.fields.get(name);
    named[name] = inner === undefined ? value[key] : withListedNames(value[key], inner);
  }
  return named;
}

// Web search and page reading in the generate-content format, which the gateway serves to any model.

/** Hosted tools by field. */
const TOOLS = { googleSearch: "web_search", googleSearchRetrieval: "web_search", urlContext: "web_fetch" } as const;

function hostedIn({ tools }: Json, hosts: Hosts): readonly WantedHosted[] {
  const found: WantedHosted[] = [];
  for (const [at, tool] of listOf(tools).entries()) {
    for (const [name, kind] of Object.entries(TOOLS)) {
      const asked = isRecord(tool) ? tool[name] : null;
      if (!isRecord(asked)) continue;
      const param = `tools.${at}.${name}`;
      if (!hosts(kind)) throw new GatewayError("unsupported_field", { param, detail: SERVER_TOOLS });
      const { excludeDomains, exclude_domains: without = excludeDomains, ...rest } = asked;
      const [unknown] = Object.keys(rest);
      if (unknown !== undefined) throw unknownField(`${param}.${unknown}`);
      const excludeOnly = [{ excludeDomains: without }, param, null, "excludeDomains"] as const;
      addHosted(found, { param, tool: kind }, excludeOnly);
    }
  }
  return found;
}

export interface CheckedGenerate {
  readonly sent: Json;
  readonly known: KnownBody<GenerateBody>;
}

export function checkGenerate(bytes: Buffer): CheckedGenerate {
  const sent = withListedNames(parseJson(bytes), GENERATE_FIELDS);
  return { sent: sent as Json, known: readBody<GenerateBody>(sent, GENERATE_FIELDS, true) };
}

export function shapeOfGenerate({ body, parts, dataChars, jsonTokens }: KnownBody<GenerateBody>): PromptShape {
  const { responseSchema, responseJsonSchema } = body.generationConfig ?? {};
  const hasFormat = isRecord(responseSchema) || isRecord(responseJsonSchema);
  const hasTools = declarationsOf(body).length > 0;
  return { parts, dataChars, jsonTokens, messages: 1 + body.contents.length, hasSchemas: hasTools || hasFormat };
}

/** The model in the path, and the form of its stream; null for a whole answer. */
export interface AskedAtPath {
  readonly model: string;
  readonly form: StreamForm | null;
  readonly hosts: Hosts;
}

export function readGenerate(
  { request }: PlanCall,
  { form, model, hosts }: AskedAtPath,
  seal: ThoughtSeal,
): ModelRequest {
  const { sent, known } = checkGenerate(request.body);
  const { body } = known;
  const choices = body.generationConfig?.candidateCount ?? 1;
  const hosted = hostedIn(sent, hosts);
  const actions = readActions(sent, { oneText: true, hosted, choices: ["generationConfig.candidateCount", choices] });
  const asked = generateRequest(body);
  return {
    ...commonParts(sent, known, GENERATE_FIELDS, actions),
    operation: "generate",
    idPrefix: "gen_",
    asked,
    unsifted: () => asked,
    named: { metadata: body.labels },
    promptField: "contents",
    shape: shapeOfGenerate(known),
    wanted: wantedNames(model, body.models),
    stream: form !== null,
    choices,
    output: sharedOutput(body.generationConfig?.maxOutputTokens),
    seal,
    answers: (head) =>
      generateAnswers(head, { showsThoughts: showsThoughts(body), choices, form, acts: actions !== null }),
    frame: ({ id, trace }) => new GenerateFrame({ form, choices, trace, id }),
  };
}
