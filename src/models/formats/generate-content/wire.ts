// The generate-content format: model and verb are in the path; answers are whole, event streams, or a growing list.
import type { EndpointSpec, PlanCall } from "../../../core/endpoint.ts";
import { GatewayError } from "../../../core/errors.ts";
import { isRecord, type Json } from "../../../core/json.ts";
import type { Hosts } from "../action-tools.ts";
import { parseJson } from "../parse-json.ts";
import { readText } from "../prompt-text.ts";
import type { CountContext, CountRead, ModelWire, WireCall, WireEmbeddings, WireHost, WirePaths } from "../wire.ts";
import { embeddingsAnswer, embeddingsBody } from "./embeddings.ts";
import { generateContentErrors, WIRE } from "./errors.ts";
import { GENERATE_FIELDS } from "./fields.ts";
import { modelJson, modelPageJson } from "./models.ts";
import { checkGenerate, readGenerate, shapeOfGenerate } from "./read-body.ts";
import { streamForm } from "./stream-form.ts";

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
      async answer({ request, caller }) {
        const body = modelPageJson(await models.all(caller), request.query);
        return body instanceof GatewayError ? body : { status: 200, body };
      },
    },
    {
      ...FREE,
      ...below(LISTED, "/models/{model...}"),
      answer({ request, caller }) {
        const row = models.one(request.params.model ?? "", caller);
        return row instanceof GatewayError ? row : { status: 200, body: modelJson(row) };
      },
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
