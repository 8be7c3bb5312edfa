// Reads a chat request: checks what we must understand, refuses what changes the price, drops what no allow-list knows.
import { z } from "zod";
import { GatewayError } from "../errors.ts";
import { type FieldIssue, readFields } from "../field-issues.ts";
import { isRecord } from "../upstream/json-pointer.ts";
import type { ChatBody } from "../wires/chat-completions/body.ts";
import { invalid, parseJson } from "../wires/parse-json.ts";
import { CHAT_FIELDS } from "./chat-fields.ts";
import { type Preferences, readPreferences } from "./preferences.ts";
import { type PromptShape, shapeOf } from "./prompt-bounds.ts";
import { NAMES_MAX, sift } from "./sift.ts";

export const OUTPUT_TOKENS_DEFAULT = 4_096;
export const OUTPUT_TOKENS_MAX = 16_384;

const ISSUES_SHOWN_MAX = 20;

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
  role: z.enum(["system", "developer", "user", "assistant", "tool", "function"]),
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
const chatBody = z.object({
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

/** What the pipeline needs of a chat request, beside the body that goes upstream. */
export interface ChatRequest {
  /** What goes to vendors: nothing but what the allow-list knows. */
  readonly body: ChatBody;
  /** What goes to servers of the operator's own, which may know more: all that was sent, but for our own fields. */
  readonly unsifted: () => ChatBody;
  /** The body as it was sent, for the fingerprint of its Idempotency-Key. */
  readonly sent: unknown;
  /** The fields that vendors are not sent, such as `messages.foo`; fit for a header, and at most 20. */
  readonly dropped: readonly string[];
  readonly shape: PromptShape;
  /** The type of a content part that nobody could bound. */
  readonly unknownPart: string | null;
  readonly maxCostCents: unknown;
  /** Who may serve, and in which order; null: whoever can, in ours. */
  readonly preferences: Preferences | null;
  /** In order of preference, as the caller wrote them, with the field each came from. */
  readonly wanted: readonly { readonly name: string; readonly param: string }[];
  readonly stream: boolean;
  readonly includeUsage: boolean;
  readonly choices: number;
  readonly outputTokensMax: number;
  /** The caller asked for more than we sell. */
  readonly lowered: boolean;
}

/** The first thing wrong with a body, as an error that names the field. */
export function schemaError(issues: readonly FieldIssue[]): GatewayError {
  const fields = issues.slice(0, ISSUES_SHOWN_MAX).map(({ path, message }) => ({ field: path, message }));
  const { field, message } = fields[0] ?? { field: "", message: "is not valid" };
  return new GatewayError("bad_request", {
    ...(field === "" ? {} : { param: field }),
    detail: { detail: `${field || "body"}: ${message}` },
    data: { fields },
  });
}

const OURS: ReadonlySet<string> = new Set(["max_cost_cents", "usage", "provider", "__proto__"]);

/** All that was sent, but for what is meant for us, and for a name that no object can carry on. */
export function unsifted(sent: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const fields = Object.entries(sent).filter(([field]) => !OURS.has(field));
  return Object.fromEntries(fields);
}

/** OpenRouter's way of asking for usage. */
function includesUsage(usage: unknown): boolean {
  return isRecord(usage) && usage.include === true;
}

/** Checks a chat request. */
export function readChatBody(bytes: Buffer): ChatRequest | GatewayError {
  const sent = parseJson(bytes);
  if (sent instanceof GatewayError) return sent;
  const sifted = isRecord(sent) ? sift(sent, CHAT_FIELDS) : null;
  // Of a body with a million fields a schema would look at each for long; what is sifted has few.
  const parsed = readFields(chatBody, sifted?.body ?? sent);
  if (!("data" in parsed)) return schemaError(parsed);
  if (sifted === null || !isRecord(sent)) return invalid("", "must be an object");
  if (sifted.refused !== null) return sifted.refused;
  const body = parsed.data;
  const { preferences, dropped } = readPreferences(sent.provider);
  const wanted = [
    ...(typeof body.model === "string" ? [{ name: body.model, param: "model" }] : []),
    ...(body.models ?? []).map((name, at) => ({ name, param: `models.${at}` })),
  ];
  if (wanted.length === 0) return invalid("model", "name a model or a tier, such as core/cheap");
  const asked = Math.min(
    body.max_tokens ?? Number.POSITIVE_INFINITY,
    body.max_completion_tokens ?? Number.POSITIVE_INFINITY,
  );
  const outputTokensMax = Number.isFinite(asked) ? asked : OUTPUT_TOKENS_DEFAULT;
  return {
    body: sifted.body as ChatBody,
    sent,
    unsifted: () => unsifted(sent) as ChatBody,
    dropped: dropped.length === 0 ? sifted.dropped : [...sifted.dropped, ...dropped].slice(0, NAMES_MAX),
    preferences,
    shape: shapeOf(sifted),
    unknownPart: sifted.unknown,
    maxCostCents: sent.max_cost_cents,
    wanted,
    stream: body.stream === true,
    includeUsage: body.stream === true && (body.stream_options?.include_usage === true || includesUsage(sent.usage)),
    choices: body.n ?? 1,
    outputTokensMax: Math.min(outputTokensMax, OUTPUT_TOKENS_MAX),
    lowered: outputTokensMax > OUTPUT_TOKENS_MAX,
  };
}
