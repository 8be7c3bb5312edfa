// Reads a request in the generate-content wire: checks what we must understand, refuses what changes the price, drops what no allow-list knows.
import { z } from "zod";
import type { PlanCall } from "../../../core/endpoint.ts";
import { GatewayError } from "../../../core/errors.ts";
import { readFields } from "../../../core/field-issues.ts";
import { isRecord, type Json } from "../../../core/json.ts";
import type { ThoughtSeal } from "../../../core/neutral.ts";
import { type Hosts, readActions } from "../action-tools.ts";
import type { ModelRequest } from "../model-request.ts";
import { wantedNames } from "../neutral-blocks.ts";
import { invalid, parseJson } from "../parse-json.ts";
import { readPreferences } from "../preferences.ts";
import type { PromptShape } from "../prompt-shape.ts";
import { readText, sentText } from "../prompt-text.ts";
import { schemaError } from "../schema-error.ts";
import { type Sifted, sift } from "../sift.ts";
import { generateAnswers } from "./answers.ts";
import { GENERATE_FIELDS } from "./fields.ts";
import { createGenerateFrame } from "./frame.ts";
import { hostedIn } from "./hosted.ts";
import { withListedNames } from "./listed-names.ts";
import { generateRequest, showsThoughts } from "./request.ts";
import type { StreamForm } from "./stream-form.ts";

const part = z.object({
  text: z.string().nullish(),
  functionCall: z.object({ name: z.string() }).nullish(),
  functionResponse: z.object({ name: z.string().nullish() }).nullish(),
});
const content = z.object({
  role: z.enum(["user", "model", "function", "system", ""]).nullish(),
  parts: z.array(part).max(100_000),
});

const MODES = ["MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED"];
const LEVELS = ["THINKING_LEVEL_UNSPECIFIED", "MINIMAL", "LOW", "MEDIUM", "HIGH"];
const word = (words: readonly string[]) =>
  z.string().refine((said) => words.includes(said.toUpperCase()), `must be one of ${words.join(", ")}`);

/** What we must understand. The allow-list says what else there may be. */
const generateBody = z.object({
  models: z.array(z.string().min(1).max(200)).min(1).max(16).nullish(),
  contents: z.array(content).min(1).max(100_000),
  systemInstruction: z.object({ parts: z.array(part) }).nullish(),
  tools: z.array(z.object({ functionDeclarations: z.array(z.object({ name: z.string() })).nullish() })).nullish(),
  toolConfig: z.object({ functionCallingConfig: z.object({ mode: word(MODES).nullish() }).nullish() }).nullish(),
  generationConfig: z
    .object({
      maxOutputTokens: z.number().int().min(1).max(10_000_000).nullish(),
      candidateCount: z.number().int().min(1).max(8).nullish(),
      temperature: z.number().min(0).max(2).nullish(),
      topP: z.number().min(0).max(1).nullish(),
      topK: z.number().min(0).nullish(),
      seed: z.number().int().nullish(),
      presencePenalty: z.number().min(-2).max(2).nullish(),
      frequencyPenalty: z.number().min(-2).max(2).nullish(),
      stopSequences: z.array(z.string()).max(16).nullish(),
      responseMimeType: z.string().max(100).nullish(),
      thinkingConfig: z
        .object({ thinkingBudget: z.number().int().min(-1).nullish(), thinkingLevel: word(LEVELS).nullish() })
        .nullish(),
    })
    .nullish(),
  safetySettings: z.array(z.unknown()).max(64).nullish(),
});

/** A body that has passed the allow-list and the schema. */
export interface CheckedGenerate {
  readonly sent: Json;
  readonly sifted: Sifted;
  readonly body: z.infer<typeof generateBody>;
}

/** Checks a body, or says what is wrong with it. */
export function checkGenerate(bytes: Buffer): CheckedGenerate | GatewayError {
  const parsed = parseJson(bytes);
  if (parsed instanceof GatewayError) return parsed;
  const sent = withListedNames(parsed, GENERATE_FIELDS);
  const sifted = isRecord(sent) ? sift(sent, GENERATE_FIELDS, true) : null;
  const read = readFields(generateBody, sifted?.body ?? sent);
  if (!("data" in read)) return schemaError(read);
  if (sifted === null || !isRecord(sent)) return invalid("", "must be an object");
  return sifted.refused ?? { sent, sifted, body: read.data };
}

/** What a bound needs to know of a checked body. */
export function shapeOfGenerate({ sifted, body }: CheckedGenerate): PromptShape {
  const { parts, dataChars, jsonTokens } = sifted;
  const { responseSchema, responseJsonSchema } = isRecord(sifted.body.generationConfig)
    ? sifted.body.generationConfig
    : {};
  const hasFormat = isRecord(responseSchema) || isRecord(responseJsonSchema);
  const hasTools = (body.tools ?? []).some(({ functionDeclarations }) => (functionDeclarations ?? []).length > 0);
  return { parts, dataChars, jsonTokens, messages: 1 + body.contents.length, hasSchemas: hasTools || hasFormat };
}

/** The model that a path names, and how its answer is to come: null for a whole one. */
export interface AskedAtPath {
  readonly model: string;
  readonly form: StreamForm | null;
  readonly hosts: Hosts;
}

/** Reads a request to a model in this wire; thoughts come and go under `seal`. */
export function readGenerate(
  { request }: PlanCall,
  asked: AskedAtPath,
  seal: ThoughtSeal,
): ModelRequest | GatewayError {
  const checked = checkGenerate(request.body);
  if (checked instanceof GatewayError) return checked;
  const { sent, sifted, body } = checked;
  const { form, model, hosts } = asked;
  const choices = body.generationConfig?.candidateCount ?? 1;
  const hosted = hostedIn(sent, hosts);
  if (hosted instanceof GatewayError) return hosted;
  const actions = readActions(sent, { oneText: true, hosted, choices: ["generationConfig.candidateCount", choices] });
  if (actions instanceof GatewayError) return actions;
  const { preferences, dropped } = readPreferences(sent.provider);
  const kept = sifted.body;
  const made = generateRequest(kept);
  return {
    operation: "generate",
    idPrefix: "gen_",
    asked: made,
    unsifted: () => made,
    sent,
    named: { metadata: kept.labels },
    promptField: "contents",
    dropped: dropped.length === 0 ? sifted.dropped : [...sifted.dropped, ...dropped],
    shape: shapeOfGenerate(checked),
    unknownPart: sifted.unknown,
    maxCostCents: sent.max_cost_cents,
    preferences,
    wanted: wantedNames(model, body.models),
    stream: form !== null,
    ...(actions === null ? {} : { actions }),
    choices,
    output: { asked: body.generationConfig?.maxOutputTokens ?? null, fallback: null, cap: null, shared: true },
    seal,
    sentText: () => sentText(kept, GENERATE_FIELDS),
    readText: () => readText(kept, GENERATE_FIELDS),
    answers: (head) =>
      generateAnswers(head, { showsThoughts: showsThoughts(kept), choices, form, acts: actions !== null }),
    frame: ({ id, trace }) => createGenerateFrame({ form, choices, trace, id }),
  };
}
