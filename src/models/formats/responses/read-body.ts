// Reads a request in the responses wire: checks what we must understand, refuses what changes the price, drops what no allow-list knows.
import { z } from "zod";
import { GatewayError } from "../../../core/errors.ts";
import { readFields } from "../../../core/field-issues.ts";
import { isRecord, type Json, numberOf } from "../../../core/json.ts";
import type { ThoughtSeal } from "../../../core/neutral.ts";
import { type Hosts, readActions } from "../action-tools.ts";
import type { ModelRequest } from "../model-request.ts";
import { wantedNames } from "../neutral-blocks.ts";
import { invalid } from "../parse-json.ts";
import { readPreferences } from "../preferences.ts";
import type { PromptShape } from "../prompt-shape.ts";
import { readText, sentText } from "../prompt-text.ts";
import { schemaError } from "../schema-error.ts";
import { headerSafe, NAMES_MAX, type Sifted, sift } from "../sift.ts";
import { ResponsesCall } from "./answers.ts";
import type { ResponsesBody } from "./body.ts";
import { RESPONSES_FIELDS } from "./fields.ts";
import { plainBody } from "./input.ts";
import { includes, responsesRequest } from "./request.ts";
import { toolLists } from "./tools.ts";

export const ID_PREFIX = "resp_";

/** The least bound on output that the wire knows. */
const OUTPUT_TOKENS_MIN = 16;
/** A tool of text gets a schema of ours, and one in a namespace a longer name, in every other wire. */
const TOKENS_PER_UNUSUAL_TOOL = 64;

const word = z.string().max(512).nullish();
const item = z.object({
  type: z.string(),
  role: z.enum(["system", "developer", "user", "assistant"]).nullish(),
  call_id: word,
  name: word,
  namespace: word,
});
const tool = z.object({ type: z.string(), name: z.string().max(512).nullish() });

const METADATA_MAX = 16;
const metadata = z
  .record(z.string().max(64), z.string().max(512))
  .refine((pairs) => Object.keys(pairs).length <= METADATA_MAX, `must have at most ${METADATA_MAX} pairs`)
  .nullish();

/** What we must understand. The allow-list says what else there may be. */
const responsesBody = z.object({
  model: z.string().min(1).max(200).nullish(),
  models: z.array(z.string().min(1).max(200)).min(1).max(16).nullish(),
  input: z.union([z.string(), z.array(item).min(1).max(100_000)], "must be text or a list of items"),
  instructions: z.string().nullish(),
  max_output_tokens: z.number().int().min(OUTPUT_TOKENS_MIN).max(10_000_000).nullish(),
  max_tool_calls: z.number().int().min(1).nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  presence_penalty: z.number().min(-2).max(2).nullish(),
  frequency_penalty: z.number().min(-2).max(2).nullish(),
  top_logprobs: z.number().int().min(0).max(20).nullish(),
  stream: z.boolean().nullish(),
  text: z
    .object({ format: z.object({ type: z.string() }).nullish(), verbosity: z.string().max(20).nullish() })
    .nullish(),
  reasoning: z.object({ effort: z.string().max(20).nullish(), summary: z.string().max(20).nullish() }).nullish(),
  tools: z.array(tool).max(10_000).nullish(),
  tool_choice: z.union([z.string(), z.object({})], "must be text or an object").nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  include: z.array(z.string().max(100)).max(64).nullish(),
  store: z.boolean().nullish(),
  previous_response_id: z.string().max(200).nullish(),
  truncation: z.enum(["auto", "disabled"]).nullish(),
  metadata,
  user: word,
  safety_identifier: word,
  prompt_cache_key: word,
});

type Read = z.infer<typeof responsesBody>;

/** What reading a request takes beside its body. */
export interface ReadOptions {
  readonly seal: ThoughtSeal;
  /** Seconds since the epoch. */
  readonly nowS: () => number;
  /** It came on a socket. */
  readonly onSocket?: boolean;
  /** The conversation before the input, where the request names an answer that is kept. */
  readonly earlier: { readonly items: readonly unknown[]; readonly bytes: number } | null;
  /** The items that the input names and that are kept; null where it names none. */
  /** Absent: no tool of a vendor's is served here. */
  readonly hosts?: Hosts;
  readonly named: { readonly byId: ReadonlyMap<string, Json>; readonly bytes: number } | null;
}

/** A request, with the answer side that all of its attempts share. */
export interface ReadResponses {
  readonly request: ModelRequest;
  readonly call: ResponsesCall;
  /** The body as it is understood, the earlier conversation included. */
  readonly body: ResponsesBody;
  /** What is kept of the answer: all of it where that was asked for, and nothing where the request says so. */
  readonly keeps: "answer" | "items" | "nothing";
}

/** The input as items, those of the earlier conversation before it. */
function withEarlier(sent: Json, earlier: ReadOptions["earlier"]): Json {
  if (earlier === null) return sent;
  const { input } = sent;
  const items = typeof input === "string" ? [{ type: "message", role: "user", content: input }] : input;
  return Array.isArray(items) ? { ...sent, input: [...earlier.items, ...items] } : sent;
}

function isUnusual(tool: Json): boolean {
  return tool.type === "custom";
}

function shapeOf(sifted: Sifted, body: ResponsesBody): PromptShape {
  const lists = toolLists(body);
  const inner = lists.flatMap(({ tools }) => (Array.isArray(tools) ? tools : []));
  const unusual = lists.filter(isUnusual).length + inner.length;
  const { text, input } = body;
  return {
    parts: sifted.parts,
    dataChars: sifted.dataChars,
    jsonTokens: sifted.jsonTokens + TOKENS_PER_UNUSUAL_TOOL * unusual,
    // Instructions are a message of their own, and so is a plain text.
    messages: 1 + (typeof input === "string" ? 1 : input.length),
    hasSchemas: lists.length > 0 || (isRecord(text) && isRecord(text.format)),
  };
}

function requestOf(
  sent: Json,
  sifted: Sifted,
  read: Read,
  options: ReadOptions,
  plainDropped: readonly string[],
): ReadResponses {
  const { preferences, dropped } = readPreferences(sent.provider);
  const body = sifted.body as ResponsesBody;
  const stream = read.stream === true;
  const store = read.store === true;
  const asked = read.max_output_tokens ?? null;
  const seals = store || includes(body, "reasoning.encrypted_content");
  const { nowS, onSocket = false } = options;
  const call = new ResponsesCall(body, { store, maxOutputTokens: asked, seals, nowS, onSocket });
  const asWire = responsesRequest(body);
  const request: ModelRequest = {
    operation: "responses",
    idPrefix: ID_PREFIX,
    asked: asWire,
    unsifted: () => asWire,
    sent,
    named: { user: read.user, metadata: read.metadata },
    promptField: "input",
    dropped: [...plainDropped.slice(0, NAMES_MAX).map(headerSafe), ...sifted.dropped, ...dropped],
    shape: shapeOf(sifted, body),
    unknownPart: sifted.unknown,
    maxCostCents: sent.max_cost_cents,
    preferences,
    wanted: wantedNames(read.model, read.models),
    stream,
    choices: 1,
    output: { asked: numberOf(asked) ?? null, fallback: null, cap: null, shared: true },
    keptBytes: (options.earlier?.bytes ?? 0) + (options.named?.bytes ?? 0),
    seal: options.seal,
    sentText: () => sentText(body, RESPONSES_FIELDS),
    readText: () => readText(body, RESPONSES_FIELDS),
    answers: (head) => call.answers(head),
    frame: (parts) => call.frame({ ...parts, stream }),
  };
  return { request, call, body, keeps: store ? "answer" : read.store === false ? "nothing" : "items" };
}

/** Checks a request in the responses wire. */
export function readResponsesBody(sent: Json, options: ReadOptions): ReadResponses | GatewayError {
  const plain = plainBody(withEarlier(sent, options.earlier), options.seal, options.named?.byId, options.hosts);
  if (plain.refused !== null) return plain.refused;
  const actions = readActions(sent, { oneText: false, hosted: plain.hosted });
  if (actions instanceof GatewayError) return actions;
  const sifted = sift(plain.body, RESPONSES_FIELDS);
  const parsed = readFields(responsesBody, sifted.body);
  if (!("data" in parsed)) return schemaError(parsed);
  if (sifted.refused !== null) return sifted.refused;
  const whole = requestOf(sent, sifted, parsed.data, options, plain.dropped);
  const read = actions === null ? whole : { ...whole, request: { ...whole.request, actions } };
  if (read.request.wanted.length > 0) return read;
  return invalid("model", "name a model or a tier, such as core/cheap");
}
