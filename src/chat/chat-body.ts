// Reads a chat request: checks what we must understand, refuses what changes the price, lets the rest ride along.
import { z } from "zod";
import { GatewayError } from "../errors.ts";
import { invalid, parseJson } from "../pipeline/parse-json.ts";
import type { ChatBody } from "../wires/chat-completions/body.ts";

export const OUTPUT_TOKENS_DEFAULT = 4_096;
export const OUTPUT_TOKENS_MAX = 16_384;

const count = z.number().int().min(1).max(10_000_000);

/** A longer-lived cache costs more to write than the price we sell at. */
const cacheControl = z.looseObject({ ttl: z.literal("5m", "only the five-minute cache is sold").nullish() }).nullish();

const part = z.looseObject({
  type: z.string(),
  text: z.string().nullish(),
  image_url: z.union([z.string(), z.looseObject({ url: z.string() })], "must be an object with a url").nullish(),
  cache_control: cacheControl,
});

const message = z.looseObject({
  role: z.enum(["system", "developer", "user", "assistant", "tool", "function"]),
  content: z.union([z.string(), z.array(part)], "must be text or a list of content parts").nullish(),
  tool_calls: z
    .array(z.looseObject({ id: z.string().nullish(), function: z.looseObject({ name: z.string() }).nullish() }))
    .nullish(),
  tool_call_id: z.string().nullish(),
  name: z.string().nullish(),
  cache_control: cacheControl,
});

const tool = z.looseObject({
  type: z.string(),
  function: z.looseObject({ name: z.string() }).nullish(),
  cache_control: cacheControl,
});

const chatBody = z.looseObject({
  model: z.string().min(1).max(200).nullish(),
  models: z.array(z.string().min(1).max(200)).min(1).max(16).nullish(),
  messages: z.array(message).min(1).max(100_000),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
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
  tool_choice: z.union([z.string(), z.looseObject({})], "must be text or an object").nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  response_format: z.looseObject({ type: z.string() }).nullish(),
  user: z.string().nullish(),
  logprobs: z.boolean().nullish(),
});

/** What the pipeline needs of a chat request, beside the body that goes upstream. */
export interface ChatRequest {
  readonly body: ChatBody;
  /** In order of preference, as the caller wrote them, with the field each came from. */
  readonly wanted: readonly { readonly name: string; readonly param: string }[];
  readonly stream: boolean;
  readonly includeUsage: boolean;
  readonly choices: number;
  readonly outputTokensMax: number;
  /** The caller asked for more than we sell. */
  readonly lowered: boolean;
}

/** A price-changing field: refused, unless its value is one of those that change nothing. */
interface PricedField {
  readonly why: string;
  readonly neutral?: (value: unknown) => boolean;
}

const oneOf =
  (...values: string[]) =>
  (value: unknown) =>
    typeof value === "string" && values.includes(value);

const PRICED_FIELDS: Readonly<Record<string, PricedField>> = {
  service_tier: {
    why: "only the standard tier is sold",
    neutral: oneOf("auto", "default", "standard", "standard_only"),
  },
  modalities: {
    why: "only text output is sold",
    neutral: (value) => Array.isArray(value) && value.every((kind) => kind === "text"),
  },
  audio: { why: "audio output is not sold" },
  plugins: { why: "plugins are billed apart" },
  web_search_options: { why: "searches are billed apart" },
  search_parameters: { why: "searches are billed apart" },
  web_search: { why: "searches are billed apart" },
  provider: { why: "the gateway chooses among its own routes" },
  preset: { why: "presets can change model and price" },
  speed: { why: "faster processing is billed apart", neutral: oneOf("standard") },
  inference_geo: { why: "a fixed region is billed apart" },
  mcp_servers: { why: "remote tools are billed apart" },
  container: { why: "containers are billed apart" },
  compound_custom: { why: "built-in tools are billed apart" },
  prediction: { why: "rejected predictions are billed beyond max_tokens" },
};

const PRICED_ENTRIES = Object.entries(PRICED_FIELDS);

function pricedField(body: Record<string, unknown>): GatewayError | null {
  for (const [field, { why, neutral }] of PRICED_ENTRIES) {
    const value = body[field];
    if (value === undefined || value === null || neutral?.(value)) continue;
    return new GatewayError("unsupported_field", { param: field, detail: { detail: why } });
  }
  for (const [at, tool] of ((body.tools as { type: string }[] | null | undefined) ?? []).entries()) {
    if (tool.type === "function") continue;
    const param = `tools.${at}.type`;
    return new GatewayError("unsupported_field", { param, detail: { detail: "only function tools are sold" } });
  }
  return null;
}

interface Wrong {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/** What a schema found wrong; of a field that may be one of several things, with the one it comes nearest to. */
function wrongOf(issue: z.core.$ZodIssue): Wrong {
  if (issue.code === "invalid_type" && issue.message.endsWith("received undefined")) {
    return { path: issue.path, message: `is missing, must be ${issue.expected}` };
  }
  if (issue.code !== "invalid_union") return issue;
  const ofItsKind = issue.errors.filter(([first]) => first?.code !== "invalid_type" || first.path.length > 0);
  const [nearest] = ofItsKind.sort((a, b) => a.length - b.length)[0] ?? [];
  if (nearest === undefined) return issue;
  const { path, message } = wrongOf(nearest);
  return { path: [...issue.path, ...path], message };
}

/** The first thing wrong with a body, as an error that names the field. */
export function schemaError(error: z.ZodError): GatewayError {
  const fields = error.issues.slice(0, 20).map((issue) => {
    const { path, message } = wrongOf(issue);
    return { field: path.join("."), message };
  });
  const { field, message } = fields[0] ?? { field: "", message: "invalid" };
  return new GatewayError("bad_request", {
    ...(field === "" ? {} : { param: field }),
    detail: { detail: `${field || "body"}: ${message}` },
    data: { fields },
  });
}

/** Checks a chat request. */
export function readChatBody(bytes: Buffer): ChatRequest | GatewayError {
  const json = parseJson(bytes);
  if (json instanceof GatewayError) return json;
  const parsed = chatBody.safeParse(json);
  if (!parsed.success) return schemaError(parsed.error);
  const body = parsed.data;
  const priced = pricedField(body);
  if (priced !== null) return priced;
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
    body: body as ChatBody,
    wanted,
    stream: body.stream === true,
    includeUsage: body.stream === true && body.stream_options?.include_usage === true,
    choices: body.n ?? 1,
    outputTokensMax: Math.min(outputTokensMax, OUTPUT_TOKENS_MAX),
    lowered: outputTokensMax > OUTPUT_TOKENS_MAX,
  };
}
