// The generate-content format: model and verb are in the path; answers are whole, event streams, or a growing list.

import { z } from "zod";
import type { EndpointSpec, PlanCall } from "../../../core/endpoint.ts";
import { readFields } from "../../../core/field-issues.ts";
import { isRecord, type Json } from "../../../core/json.ts";
import type { Hosts } from "../action-tools.ts";
import { invalid, parseJson, schemaError } from "../parse-json.ts";
import { readText } from "../prompt-text.ts";
import type {
  CountContext,
  CountRead,
  ModelRow,
  ModelWire,
  WireCall,
  WireEmbeddings,
  WireHost,
  WirePaths,
} from "../wire.ts";
import { generateContentErrors, WIRE } from "./errors.ts";
import { GENERATE_FIELDS } from "./fields.ts";
import { checkGenerate, readGenerate, shapeOfGenerate } from "./read-body.ts";
import { streamForm } from "./stream-form.ts";

// The paginated list of models in the generate-content format.

const PAGE_MAX = 1_000;
const PAGE_DEFAULT = 50;

const METHODS: Readonly<Record<string, readonly string[]>> = {
  chat: ["generateContent", "streamGenerateContent", "countTokens"],
  tier: ["generateContent", "streamGenerateContent", "countTokens"],
  embedding: ["embedContent", "batchEmbedContents"],
};

function modelJson({ id, kind, context_length, max_output_tokens }: ModelRow): Json {
  return {
    name: `models/${id}`,
    displayName: id,
    inputTokenLimit: context_length ?? null,
    outputTokenLimit: max_output_tokens ?? null,
    supportedGenerationMethods: METHODS[kind] ?? [],
  };
}

/** One page of the models that this format can call. A page token is the number of models before the page. */
function modelPageJson(all: readonly ModelRow[], query: URLSearchParams): Json {
  const rows = all.filter(({ kind }) => METHODS[kind] !== undefined);
  const [size, token] = [query.get("pageSize") ?? String(PAGE_DEFAULT), query.get("pageToken") ?? "0"];
  for (const [param, value] of [
    ["pageSize", size],
    ["pageToken", token],
  ] as const) {
    if (/^\d{1,6}$/.test(value)) continue;
    throw invalid(param, "must be a whole number");
  }
  const from = Number(token);
  const until = from + Math.min(Math.max(1, Number(size)), PAGE_MAX);
  const models = rows.slice(from, until).map(modelJson);
  return until < rows.length ? { models, nextPageToken: String(until) } : { models };
}

// Translates generate-content embeddings to OpenAI's format, which all embedding vendors accept.

const REQUESTS_MAX = 2_048;

/** Strict, because an unknown field could change the vectors. */
const content = z.strictObject({
  parts: z.array(z.strictObject({ text: z.string() })).min(1),
  role: z.string().nullish(),
});
const one = z.strictObject({
  model: z.string().nullish(),
  content,
  outputDimensionality: z.number().int().min(1).nullish(),
  output_dimensionality: z.number().int().min(1).nullish(),
});
const many = z.strictObject({ requests: z.array(one).min(1).max(REQUESTS_MAX) });

type One = z.infer<typeof one>;

function textOf({ content: { parts } }: One): string {
  return parts.map(({ text }) => text).join("\n");
}

function dimensionsOf(requests: readonly One[]): number | null {
  const [first] = requests;
  return first?.outputDimensionality ?? first?.output_dimensionality ?? null;
}

/** A body in the format of OpenAI's embeddings endpoint. */
export function embeddingsBody(bytes: Buffer, model: string, isBatch: boolean): Json {
  const sent = parseJson(bytes);
  const read = isBatch ? readFields(many, sent) : readFields(one, sent);
  if (!("data" in read)) throw schemaError(read);
  const requests = "requests" in read.data ? read.data.requests : [read.data];
  const dimensions = dimensionsOf(requests);
  const asked = { model, input: requests.map(textOf) };
  return dimensions === null ? asked : { ...asked, dimensions };
}

function embeddingsAnswer({ data, usage }: Json, isBatch: boolean): Json {
  const rows = Array.isArray(data) ? data.filter(isRecord) : [];
  const embeddings = rows.map(({ embedding }) => ({ values: embedding }));
  const tokens = isRecord(usage) ? { usageMetadata: { promptTokenCount: usage.prompt_tokens, cost: usage.cost } } : {};
  return isBatch ? { embeddings, ...tokens } : { embedding: embeddings[0] ?? { values: [] }, ...tokens };
}

/** Counts are free, so their bodies have a tighter limit. */
const COUNTED_BYTES_MAX = 8 * 1024 * 1024;

/** The API versions of current and older clients. */
const VERSIONS = ["v1beta", "v1"] as const;
const LISTED = "v1beta";
/** Sent by every client of the format. */
const CLIENT_HEADER = "x-goog-api-client";

/** Clients' base URLs end before the version. */
function below(version: string, rest: string) {
  return { path: `/api/llm/${version}${rest}`, alias: `/${version}${rest}` };
}

/** The endpoint under the path of each version. */
function asked<Spec extends object>(verb: string, spec: Spec): readonly (Spec & WirePaths)[] {
  return VERSIONS.map((version) => Object.assign(below(version, `/models/{model...}:${verb}`), spec));
}

function modelOf({ request }: PlanCall): string {
  return request.params.model ?? "";
}

function readIn(call: PlanCall, isStreamed: boolean, host: WireHost) {
  const form = isStreamed ? streamForm(call.request.query) : null;
  const hosts: Hosts = (tool) => host.hosts(tool, call.audience);
  return readGenerate(call, { model: modelOf(call), form, hosts }, host.seals(call.audience.payer));
}

/** The body is a whole request, or only its contents. */
function countRead(bytes: Buffer, { params }: CountContext): CountRead {
  const sent = parseJson(bytes);
  const inner = isRecord(sent) ? (sent.generateContentRequest ?? sent.generate_content_request) : null;
  const { known } = checkGenerate(isRecord(inner) ? Buffer.from(JSON.stringify(inner)) : bytes);
  const text = readText(known.body, GENERATE_FIELDS);
  return { model: params.model ?? "", shape: shapeOfGenerate(known), text };
}

function embeddings(verb: string, isBatch: boolean): readonly WireEmbeddings[] {
  return asked(verb, {
    read: (call: PlanCall) => embeddingsBody(call.request.body, modelOf(call), isBatch),
    answer: (body: Json) => embeddingsAnswer(body, isBatch),
  });
}

function call(verb: string, isStreamed: boolean): readonly WireCall[] {
  return asked(verb, { read: (one: PlanCall, host: WireHost) => readIn(one, isStreamed, host) });
}

const FREE = { method: "GET", auth: "none", bodyBytesMax: 0 } as const;

/** The format's own list paths, in addition to the shared one. */
function listEndpoints({ models }: WireHost): readonly EndpointSpec[] {
  return [
    {
      ...FREE,
      ...below(LISTED, "/models"),
      answer: async ({ request, caller }) => ({
        status: 200,
        body: modelPageJson(await models.all(caller), request.query),
      }),
    },
    {
      ...FREE,
      ...below(LISTED, "/models/{model...}"),
      answer: ({ request, caller }) => ({
        status: 200,
        body: modelJson(models.one(request.params.model ?? "", caller)),
      }),
    },
  ];
}

export const generateContentWire: ModelWire = {
  name: WIRE,
  errors: generateContentErrors,
  calls: [...call("generateContent", false), ...call("streamGenerateContent", true)],
  embeddings: [...embeddings("embedContent", false), ...embeddings("batchEmbedContents", true)],
  counts: asked("countTokens", {
    bodyBytesMax: COUNTED_BYTES_MAX,
    read: countRead,
    answer: (totalTokens: number) => ({ totalTokens }),
  }),
  models: { isAsked: ({ headers }) => headers.has(CLIENT_HEADER), list: modelPageJson, one: modelJson },
  free: listEndpoints,
};
