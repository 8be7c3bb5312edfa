// Reads a request in the generate-content format: validates fields, refuses unknown ones and those that change the price.
import type { PlanCall } from "../../../core/endpoint.ts";
import { isRecord, type Json } from "../../../core/json.ts";
import type { ThoughtSeal } from "../../../core/neutral.ts";
import { type Hosts, readActions } from "../action-tools.ts";
import { readBody } from "../check-fields.ts";
import type { KnownBody } from "../known-fields.ts";
import type { ModelRequest } from "../model-request.ts";
import { parseJson } from "../parse-json.ts";
import type { PromptShape } from "../prompt-shape.ts";
import { commonParts, sharedOutput, wantedNames } from "../request-parts.ts";
import { generateAnswers } from "./answers.ts";
import { GENERATE_FIELDS, type GenerateBody } from "./fields.ts";
import { GenerateFrame } from "./frame.ts";
import { hostedIn } from "./hosted.ts";
import { withListedNames } from "./listed-names.ts";
import { declarationsOf, generateRequest, showsThoughts } from "./request.ts";
import type { StreamForm } from "./stream-form.ts";

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

/** Reads a request in this format; `seal` seals and opens thoughts. */
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
