// The rejections of clouds that host other makers' models, and of two vendors whose wire is almost OpenAI's. Written only from error texts
// that users have reported, not from our own code.
import { z } from "zod";

export interface Refusal {
  readonly status: number;
  readonly body: unknown;
}

/** Checks a body and the address that received it. */
export type Check = (body: Record<string, unknown>, url: URL) => Refusal | null;

type Json = Record<string, unknown>;
const listOf = (value: unknown): Json[] => (Array.isArray(value) ? (value as Json[]) : []);

// ---- Amazon Bedrock, Converse

const validation = (message: string): Refusal => ({ status: 400, body: { message } });
const malformedInput = (at: string, key: string) =>
  validation(
    `Malformed input request: ${at}: extraneous key [${key}] is not permitted, please reformat your input and try again.`,
  );

const inference = z.strictObject({
  maxTokens: z.number().int().min(1).optional(),
  temperature: z.number().min(0).max(1).optional(),
  topP: z.number().min(0).max(1).optional(),
  stopSequences: z.array(z.string()).optional(),
});
const converseBody = z.strictObject({
  messages: z.array(z.strictObject({ role: z.enum(["user", "assistant"]), content: z.array(z.looseObject({})) })),
  system: z.array(z.looseObject({})).optional(),
  inferenceConfig: inference.optional(),
  toolConfig: z
    .strictObject({ tools: z.array(z.looseObject({})), toolChoice: z.looseObject({}).optional() })
    .optional(),
  outputConfig: z.looseObject({}).optional(),
  additionalModelRequestFields: z.looseObject({}).optional(),
});

/** Checks one block of a message, at its path. */
function oddBlock(block: Json, at: string, isAmazons: boolean): Refusal | null {
  if (typeof block.text === "string" && block.text.trim() === "") {
    return validation(
      `The text field in the ContentBlock object at ${at} is blank. Add text to the text field, and try again.`,
    );
  }
  const { toolUseId } = (block.toolUse ?? block.toolResult ?? {}) as Json;
  if (toolUseId !== undefined && !/^[a-zA-Z0-9_-]{1,64}$/.test(String(toolUseId))) {
    return validation(
      `1 validation error detected: Value '${toolUseId}' at '${at}.member.toolUse.toolUseId' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+`,
    );
  }
  if (!isAmazons && block.reasoningContent !== undefined) {
    return validation("This model doesn't support the reasoningContent field. Remove reasoningContent and try again.");
  }
  if (!isAmazons && (block.image !== undefined || block.document !== undefined)) {
    return validation("This model doesn't support the image field. Remove image and try again.");
  }
  return null;
}

function oddMessages(messages: readonly Json[], isAmazons: boolean): Refusal | null {
  for (const [at, { role, content }] of messages.entries()) {
    const blocks = listOf(content);
    const place = `messages.${at}`;
    if (at === 0 && role !== "user")
      return validation(
        "A conversation must start with a user message. Try again with a conversation that starts with a user message.",
      );
    if (role === messages[at - 1]?.role)
      return validation(
        "A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user and assistant roles and try again.",
      );
    if (blocks.length === 0)
      return validation(
        `The content field in the Message object at ${place} is empty. Add a ContentBlock object to the content field and try again.`,
      );
    for (const [n, block] of blocks.entries()) {
      const odd = oddBlock(block, `${place}.content.${n}`, isAmazons);
      if (odd) return odd;
      const before = blocks[n - 1];
      if (block.cachePoint !== undefined && (before?.toolResult !== undefined || before?.toolUse !== undefined))
        return malformedInput(`#/messages/${at}/content/${n}`, "cachePoint");
    }
    const calls = listOf(messages[at - 1]?.content).flatMap((block) =>
      block.toolUse ? [(block.toolUse as Json).toolUseId] : [],
    );
    const results = blocks.flatMap((block) => (block.toolResult ? [(block.toolResult as Json).toolUseId] : []));
    if (calls.some((id) => !results.includes(id)))
      return validation(`Expected toolResult blocks at ${place}.content for the following Ids: ${calls.join(", ")}`);
    if (results.some((id) => !calls.includes(id)))
      return validation(
        `The number of toolResult blocks at ${place}.content exceeds the number of toolUse blocks of previous turn.`,
      );
  }
  return null;
}

const OUTPUT_MAX: readonly (readonly [RegExp, number])[] = [
  [/nova-2-lite/, 65_535],
  [/nova/, 10_000],
];

/** A model's rejection of the maker's own fields. */
function oddFields(model: string, fields: Json, inferenceConfig: Json): Refusal | null {
  if (/gpt-oss/.test(model)) {
    const odd = Object.keys(fields).find((field) => field !== "reasoning_effort");
    return odd === undefined
      ? null
      : validation(
          `The model returned the following errors: Failed to deserialize the JSON body into the target type: ${odd}: unknown field ${odd}, expected one of messages, model, store, reasoning_effort`,
        );
  }
  const odd = Object.keys(fields).find((field) => field !== "reasoningConfig" || !/nova-2/.test(model));
  if (odd !== undefined) return malformedInput("#", odd);
  const { maxReasoningEffort } = (fields.reasoningConfig ?? {}) as Json;
  if (maxReasoningEffort === "high" && Object.keys(inferenceConfig).some((field) => field !== "stopSequences"))
    return validation("maxTokens, temperature and topP must not be set when maxReasoningEffort is high.");
  return null;
}

const bedrock: Check = (body, { pathname }) => {
  const model = decodeURIComponent(/\/model\/([^/]+)\//.exec(pathname)?.[1] ?? "");
  const isAmazons = /nova/.test(model);
  const parsed = converseBody.safeParse(body);
  if (!parsed.success) return malformedInput("#", parsed.error.issues[0]?.path.join("/") ?? "");
  const {
    messages,
    system = [],
    inferenceConfig = {},
    toolConfig,
    outputConfig,
    additionalModelRequestFields = {},
  } = parsed.data;
  const marks = JSON.stringify([messages, system, toolConfig]).includes('"cachePoint"');
  if (marks && !isAmazons)
    return {
      status: 403,
      body: {
        message:
          "You invoked an unsupported model or your request did not allow prompt caching. See the documentation for more information.",
      },
    };
  const marked = (toolConfig?.tools ?? []).findIndex((tool) => tool.cachePoint !== undefined);
  if (marked >= 0) return malformedInput(`#/toolConfig/tools/${marked - 1}`, "cachePoint");
  if (outputConfig !== undefined && isAmazons)
    return validation(
      "This model doesn't support the outputConfig.textFormat field. Remove outputConfig.textFormat and try again.",
    );
  const usesTools = /"tool(?:Use|Result)":/.test(JSON.stringify(messages));
  if (usesTools && toolConfig === undefined)
    return validation("The toolConfig field must be defined when using toolUse and toolResult content blocks.");
  const most = OUTPUT_MAX.find(([pattern]) => pattern.test(model))?.[1] ?? Number.POSITIVE_INFINITY;
  if ((inferenceConfig.maxTokens ?? 0) > most)
    return validation(
      `The maximum tokens you requested exceeds the model limit of ${most}. Try again with a maximum tokens value that is lower than ${most}.`,
    );
  return oddMessages(messages, isAmazons) ?? oddFields(model, additionalModelRequestFields, inferenceConfig);
};

// ---- Anthropic's wire in clouds

/** The fields that a cloud accepts; the path says the rest. */
const claudeFields = new Set([
  ...[
    "anthropic_version",
    "anthropic_beta",
    "messages",
    "system",
    "max_tokens",
    "temperature",
    "top_p",
    "top_k",
    "stop_sequences",
  ],
  ...["tools", "tool_choice", "thinking", "output_config", "metadata"],
]);

function claudeIn(version: string, streamInBody: boolean): Check {
  const refused = (message: string): Refusal => {
    return { status: 400, body: { type: "error", error: { type: "invalid_request_error", message } } };
  };
  return (body) => {
    if (body.anthropic_version === undefined) return refused("anthropic_version: Field required");
    if (body.anthropic_version !== version) return refused("anthropic_version: Invalid version");
    const extra = Object.keys(body).find((field) => !claudeFields.has(field) && !(streamInBody && field === "stream"));
    if (extra !== undefined) return refused(`${extra}: Extra inputs are not permitted`);
    if (JSON.stringify(body.messages).includes('"type":"url"'))
      return refused("messages: URL sources are not supported");
    if (body.temperature !== undefined && body.top_p !== undefined)
      return refused("`temperature` and `top_p` cannot both be specified for this model. Please use only one.");
    return null;
  };
}

// ---- Google's wire, at its two addresses

function gemini(atVertex: boolean): Check {
  const refused = (message: string): Refusal => {
    return { status: 400, body: { error: { code: 400, message, status: "INVALID_ARGUMENT" } } };
  };
  return (body) => {
    const config = (body.generationConfig ?? {}) as Json;
    if (config.presencePenalty !== undefined || config.frequencyPenalty !== undefined)
      return refused("Penalty is not enabled for this model");
    for (const [at, { role, parts }] of listOf(body.contents).entries()) {
      if (role !== "user" && role !== "model") return refused("Please use a valid role: user, model.");
      for (const [n, { functionCall, functionResponse }] of listOf(parts).entries()) {
        const { id } = (functionCall ?? functionResponse ?? {}) as Json;
        const name = functionCall === undefined ? "function_response" : "function_call";
        if (atVertex && id !== undefined)
          return refused(
            `Invalid JSON payload received. Unknown name "id" at 'contents[${at}].parts[${n}].${name}': Cannot find field.`,
          );
      }
    }
    return null;
  };
}

// ---- Azure

const OPENAIS = new Set([
  ...[
    "messages",
    "max_tokens",
    "max_completion_tokens",
    "temperature",
    "top_p",
    "n",
    "stop",
    "stream",
    "stream_options",
    "tools",
  ],
  ...[
    "tool_choice",
    "parallel_tool_calls",
    "response_format",
    "presence_penalty",
    "frequency_penalty",
    "seed",
    "user",
    "logit_bias",
  ],
  ...[
    "logprobs",
    "top_logprobs",
    "reasoning_effort",
    "store",
    "metadata",
    "verbosity",
    "prompt_cache_key",
    "safety_identifier",
  ],
]);
/** Versions that are not previews. */
const VERSIONS = ["2024-06-01", "2024-10-21"];
const LATE_FIELDS = ["store", "metadata", "verbosity", "prompt_cache_key", "safety_identifier"];

function azure(deployments: readonly string[]): Check {
  const missing: Refusal = {
    status: 404,
    body: { error: { code: "DeploymentNotFound", message: "The API deployment for this resource does not exist." } },
  };
  const refused = (message: string): Refusal => {
    return { status: 400, body: { error: { message, type: "invalid_request_error", param: null, code: null } } };
  };
  return (body, { pathname, searchParams }) => {
    const named = /\/deployments\/([^/]+)\//.exec(pathname)?.[1];
    const version = searchParams.get("api-version");
    if (named === undefined && version !== null)
      return { status: 400, body: { error: { code: "BadRequest", message: "API version not supported" } } };
    if (named !== undefined && !VERSIONS.includes(version ?? ""))
      return { status: 404, body: { error: { code: "404", message: "Resource not found" } } };
    if (!deployments.includes(String(named ?? body.model))) return missing;
    const dated = named !== undefined;
    const extra = Object.keys(body).find(
      (field) => (dated || field !== "model") && (!OPENAIS.has(field) || (dated && LATE_FIELDS.includes(field))),
    );
    if (extra !== undefined)
      return refused(dated ? `Unrecognized request argument supplied: ${extra}` : `Unknown parameter: '${extra}'.`);
    for (const [at, message] of listOf(body.messages).entries()) {
      if (dated && message.role === "developer")
        return refused(
          `'developer' is not one of ['system', 'assistant', 'user', 'function', 'tool'] - 'messages.${at}.role'`,
        );
      const odd = Object.keys(message).find(
        (field) => !["role", "content", "name", "refusal", "tool_calls", "tool_call_id"].includes(field),
      );
      if (odd !== undefined) return refused(`Unknown parameter: 'messages[${at}].${odd}'.`);
    }
    return null;
  };
}

// ---- Cohere's and Perplexity's own

const COHERES = new Set([
  ...[
    "model",
    "messages",
    "max_tokens",
    "max_completion_tokens",
    "temperature",
    "top_p",
    "stop",
    "stream",
    "stream_options",
  ],
  ...[
    "tools",
    "tool_choice",
    "response_format",
    "presence_penalty",
    "frequency_penalty",
    "seed",
    "user",
    "logprobs",
    "reasoning_effort",
  ],
]);

const cohere: Check = (body) => {
  const unknown = (field: string): Refusal => {
    const message = `unknown field: parameter '${field}' is not a valid field. For proper usage, please refer to the documentation`;
    return { status: 422, body: { message } };
  };
  const extra = Object.keys(body).find((field) => !COHERES.has(field));
  if (extra !== undefined) return unknown(extra);
  const strict = listOf(body.tools).some((tool) => (tool.function as Json).strict !== undefined);
  if (strict) return unknown("strict");
  for (const message of listOf(body.messages)) {
    const odd = Object.keys(message).find(
      (field) => !["role", "content", "name", "tool_calls", "tool_call_id"].includes(field),
    );
    if (odd !== undefined) return unknown(odd);
    if (listOf(message.tool_calls).some((call) => call.index !== undefined)) return unknown("index");
  }
  return null;
};

const PERPLEXITYS = new Set([
  ...["model", "input", "instructions", "max_output_tokens", "max_steps", "response_format", "store", "stream"],
  ...["temperature", "top_p", "tools", "tool_choice"],
]);

/** Its own SDK knows no other fields, and no other form of a message. */
const perplexity: Check = (body) => {
  const refused = (message: string): Refusal => {
    return { status: 400, body: { error: { message, type: "invalid_request", code: "400" } } };
  };
  const extra = Object.keys(body).find((field) => !PERPLEXITYS.has(field));
  if (extra !== undefined) return refused(`unknown field "${extra}"`);
  if (listOf(body.tools).some(({ type }) => type !== "web_search")) return refused("unknown tool");
  if ((body.response_format as Json | undefined)?.type === "json_object") return refused("unknown response_format");
  const odd = listOf(body.input).find(({ type, content }) => type !== "message" || typeof content !== "string");
  return odd === undefined ? null : refused(`input: ${JSON.stringify(odd)} is no message`);
};

/** The deployments that exist in the cloud that has them. */
export const DEPLOYMENTS = { "azure-openai": ["prod-mini"], "azure-openai-dated": ["old-41"] } as const;

export const STRICT_CLOUDS: Readonly<Record<string, Check>> = {
  bedrock,
  "bedrock-anthropic": claudeIn("bedrock-2023-05-31", false),
  "vertex-anthropic": claudeIn("vertex-2023-10-16", true),
  vertex: gemini(true),
  gemini: gemini(false),
  "azure-openai": azure(DEPLOYMENTS["azure-openai"]),
  "azure-openai-dated": azure(DEPLOYMENTS["azure-openai-dated"]),
  cohere,
  perplexity,
};
