// Reads a chat request: checks what we must understand, refuses what changes the price, drops what no allow-list knows.
import { z } from "zod";
import { GatewayError } from "../../../core/errors.ts";
import { readFields } from "../../../core/field-issues.ts";
import { isRecord } from "../../../core/json.ts";
import { HOSTS_NOTHING, type Hosts, readActions } from "../action-tools.ts";
import type { ModelRequest } from "../model-request.ts";
import { wantedNames } from "../neutral-blocks.ts";
import { invalid, parseJson } from "../parse-json.ts";
import { readPreferences } from "../preferences.ts";
import { shapeOf } from "../prompt-shape.ts";
import { readText, sentText } from "../prompt-text.ts";
import { schemaError } from "../schema-error.ts";
import { type Sifted, sift } from "../sift.ts";
import { chatAnswers } from "./answers.ts";
import type { ChatBody } from "./body.ts";
import { CHAT_FIELDS } from "./fields.ts";
import { createChatFrame } from "./frame.ts";
import { hostedIn, withoutOnline } from "./hosted.ts";
import { isPlainChat, ROLES } from "./plain-body.ts";
import { chatRequest } from "./request.ts";

const OUTPUT_TOKENS_DEFAULT = 4_096;
const OUTPUT_TOKENS_MAX = 16_384;

const count = z.number().int().min(1).max(10_000_000);

/** A longer-lived cache costs more to write than the price we sell at. */
const cacheControl = z.object({ ttl: z.literal("5m", "only the five-minute cache is sold").nullish() }).nullish();

const part = z.object({
  type: z.string(),
  text: z.string().nullish(),
  image_url: z.union([z.string(), z.object({ url: z.string() })], "must be an object with a url").nullish(),
  cache_control: cacheControl,
});

const message = z.object({
  role: z.enum(ROLES),
  content: z.union([z.string(), z.array(part)], "must be text or a list of content parts").nullish(),
  tool_calls: z
    .array(z.object({ id: z.string().nullish(), function: z.object({ name: z.string() }).nullish() }))
    .nullish(),
  tool_call_id: z.string().nullish(),
  name: z.string().nullish(),
  cache_control: cacheControl,
});

const tool = z.object({
  type: z.string(),
  function: z.object({ name: z.string() }).nullish(),
  cache_control: cacheControl,
});

/** More is nothing that a client sends, and much of it is slow to read. */
function entries(max: number) {
  const few = (value: unknown) => isRecord(value) && Object.keys(value).length <= max;
  return z.unknown().refine(few, `must be an object of at most ${max} entries`).nullish();
}

/** What we must understand. The allow-list says what else there may be. */
export const chatBody = z.object({
  model: z.string().min(1).max(200).nullish(),
  models: z.array(z.string().min(1).max(200)).min(1).max(16).nullish(),
  messages: z.array(message).min(1).max(100_000),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
  max_tokens: count.nullish(),
  max_completion_tokens: count.nullish(),
  n: z.number().int().min(1).max(8).nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  frequency_penalty: z.number().min(-2).max(2).nullish(),
  presence_penalty: z.number().min(-2).max(2).nullish(),
  seed: z.number().int().nullish(),
  stop: z.union([z.string(), z.array(z.string()).max(16)], "must be text or a list of at most 16 texts").nullish(),
  tools: z.array(tool).nullish(),
  cache_control: cacheControl,
  tool_choice: z.union([z.string(), z.object({})], "must be text or an object").nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  response_format: z.object({ type: z.string() }).nullish(),
  user: z.string().nullish(),
  logprobs: z.boolean().nullish(),
  logit_bias: entries(1_024),
  metadata: entries(64),
  safetySettings: z.array(z.unknown()).max(64).nullish(),
});

const OURS: ReadonlySet<string> = new Set([
  "max_cost_cents",
  "max_tool_calls",
  "plugins",
  "usage",
  "provider",
  "__proto__",
]);

/** All that was sent, but for what is meant for us, and for a name that no object can carry on. */
export function unsifted(sent: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const fields = Object.entries(sent).filter(([field]) => !OURS.has(field));
  return Object.fromEntries(fields);
}

/** OpenRouter's way of asking for usage. */
function includesUsage(usage: unknown): boolean {
  return isRecord(usage) && usage.include === true;
}

/** The request that a checked body makes, and how its answer is framed. */
function requestOf(sent: Record<string, unknown>, sifted: Sifted, body: z.infer<typeof chatBody>): ModelRequest {
  const { preferences, dropped } = readPreferences(sent.provider);
  const asked = Math.min(
    body.max_tokens ?? Number.POSITIVE_INFINITY,
    body.max_completion_tokens ?? Number.POSITIVE_INFINITY,
  );
  const stream = body.stream === true;
  const includeUsage = stream && (body.stream_options?.include_usage === true || includesUsage(sent.usage));
  const kept = sifted.body as ChatBody;
  return {
    operation: "chat",
    idPrefix: "chatcmpl-",
    asked: chatRequest(kept),
    unsifted: () => chatRequest(unsifted(sent) as ChatBody),
    sent,
    named: body,
    promptField: "messages",
    dropped: dropped.length === 0 ? sifted.dropped : [...sifted.dropped, ...dropped],
    shape: shapeOf(sifted),
    unknownPart: sifted.unknown,
    maxCostCents: sent.max_cost_cents,
    preferences,
    wanted: wantedNames(body.model, body.models),
    stream,
    choices: body.n ?? 1,
    output: {
      asked: Number.isFinite(asked) ? asked : null,
      fallback: OUTPUT_TOKENS_DEFAULT,
      cap: OUTPUT_TOKENS_MAX,
      shared: false,
    },
    sentText: () => sentText(kept, CHAT_FIELDS),
    readText: () => readText(kept, CHAT_FIELDS),
    answers: chatAnswers,
    frame: ({ id, createdS, trace }) => createChatFrame({ completionId: id, createdS, stream, includeUsage, trace }),
  };
}

function isPlain(sifted: Sifted | null): sifted is Sifted & { readonly body: z.infer<typeof chatBody> } {
  return sifted !== null && isPlainChat(sifted.body);
}

function withoutOnlineIn(wanted: ModelRequest["wanted"], hosts: Hosts): ModelRequest["wanted"] {
  return wanted.map(({ name, param }) => ({ name: withoutOnline(name, hosts), param }));
}

/** Checks a chat request. */
export function readChatBody(bytes: Buffer, hosts: Hosts = HOSTS_NOTHING): ModelRequest | GatewayError {
  const sent = parseJson(bytes);
  if (sent instanceof GatewayError) return sent;
  const sifted = isRecord(sent) ? sift(sent, CHAT_FIELDS) : null;
  // Of a body with a million fields a schema would look at each for long; what is sifted has few.
  const parsed = isPlain(sifted) ? { data: sifted.body } : readFields(chatBody, sifted?.body ?? sent);
  if (!("data" in parsed)) return schemaError(parsed);
  if (sifted === null || !isRecord(sent)) return invalid("", "must be an object");
  if (sifted.refused !== null) return sifted.refused;
  const hosted = hostedIn(sent, hosts);
  if (hosted instanceof GatewayError) return hosted;
  const actions = readActions(sent, { oneText: true, hosted });
  if (actions instanceof GatewayError) return actions;
  const whole = requestOf(sent, sifted, parsed.data);
  const read = actions === null ? whole : { ...whole, actions, wanted: withoutOnlineIn(whole.wanted, hosts) };
  return read.wanted.length > 0 ? read : invalid("model", "name a model or a tier, such as core/cheap");
}
