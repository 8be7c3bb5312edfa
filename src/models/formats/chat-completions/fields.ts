// The field table of the chat completions format: which fields go to a vendor, and which are refused because they change the price.
import { isRecord, type Json } from "../../../core/json.ts";
import * as f from "../field-table.ts";

/** Writing a longer-lived cache costs more than we charge. */
const ttl: f.FieldSpec = { type: { kinds: [], oneOf: ["5m"], message: "only the five-minute cache is sold" } };
const cache_control = f.object({ type: f.setting, ttl });
const OUT_OF_DATE = "functions are out of date; send tools, tool_calls and messages of role tool";
const SEARCHES = "searches are billed apart";

function parts(words: f.FieldSpec): f.FieldSpec {
  const url: f.FieldSpec = { media: "image", ...f.required(f.string()) };
  const image = f.textOr({ ...f.object({ url, detail: f.setting }), media: "image" }, "must be an object with a url");
  const file_id = f.refused("files that a provider keeps cannot be asked for; send file_data");
  const part = f.cases("type", {
    text: f.fields({ text: { ...words, ...f.string() }, cache_control }),
    refusal: f.fields({ refusal: f.text, cache_control }),
    reasoning: f.fields({ text: { ...f.text, ...f.string() } }),
    image_url: f.fields({ image_url: image, cache_control }),
    input_audio: f.fields({ input_audio: f.fields({ data: { media: "audio" }, format: f.setting }), cache_control }),
    file: f.fields({ file: f.fields({ filename: f.text, file_data: { media: "file" }, file_id }), cache_control }),
  });
  return f.textOr({ ...words, ...f.list({ ...part, ...f.anyObject }) }, "must be text or a list of content parts");
}

const name: f.FieldSpec = { ...f.text, ...f.string() };
const called = f.required(name);

const toolCall = f.object({
  id: name,
  ...f.each(f.setting, "index", "type"),
  function: f.object({ name: called, arguments: f.json }),
  custom: f.fields({ name: f.text, input: f.text }),
  // Gemini's own OpenAI format keeps the signature of a thought here.
  extra_content: f.json,
});

const message: f.Fields = {
  role: f.required(f.oneOf("system", "developer", "user", "assistant", "tool", "function")),
  content: parts(f.text),
  tool_calls: { ...f.list(toolCall), read: true, asJson: true },
  tool_call_id: name,
  name,
  cache_control,
  ...f.each(f.text, "refusal", "reasoning", "reasoning_content"),
  ...f.each(f.json, "reasoning_details", "annotations"),
  prefix: f.setting,
  function_call: f.refused(OUT_OF_DATE),
};

const roles = {
  tool: f.fields({ ...message, content: parts(f.quoted) }),
  function: { ...f.refused(OUT_OF_DATE), ...f.fields(message) },
};

const declared = f.object({ name: called, description: f.text, parameters: f.json, strict: f.setting });
const tool = f.cases(
  "type",
  // The gateway runs actions; the vendor sees a function.
  { function: f.fields({ function: declared, cache_control }), action: f.ours },
  { otherwise: f.refused("only tools of type function and action are sold") },
);

/** No client sends more, and many entries are slow to parse. */
function entries(max: number): f.FieldSpec {
  const message = `must be an object of at most ${max} entries`;
  const isFew = (value: unknown) => isRecord(value) && Object.keys(value).length <= max;
  return { ...f.free, type: { kinds: [], check: (value) => (isFew(value) ? [] : [{ path: "", message }]) } };
}

const model = f.string(1, 200);
const tokens = f.whole(1, 10_000_000);
const isText = (value: unknown) => Array.isArray(value) && value.every((kind) => kind === "text");

/** A body that passed the table, with the fields that we read. */
export type ChatBody = Json & {
  readonly model?: string | null;
  readonly models?: readonly string[] | null;
  readonly messages: readonly ChatMessage[];
  readonly stream_options?: { readonly include_usage?: boolean | null } | null;
  readonly max_tokens?: number | null;
  readonly max_completion_tokens?: number | null;
  readonly n?: number | null;
  readonly user?: string | null;
  readonly metadata?: Json | null;
};

export interface ChatMessage extends Json {
  readonly role: string;
  readonly content?: string | readonly ChatPart[] | null;
}

export interface ChatPart extends Json {
  readonly type: string;
}

/** Fields with a place in the neutral request, or with a reason why only this format can express them. */
const placed: f.Fields = {
  model,
  models: f.list(model, 16, 1),
  messages: f.required(
    f.list({ ...f.cases("role", roles, { otherwise: f.fields(message) }), ...f.anyObject }, 100_000, 1),
  ),
  stream: f.boolean,
  stream_options: f.object({ include_usage: f.boolean, include_obfuscation: f.setting }),
  max_tokens: tokens,
  max_completion_tokens: tokens,
  n: f.whole(1, 8),
  temperature: f.number(0, 2),
  top_p: f.number(0, 1),
  frequency_penalty: f.number(-2, 2),
  presence_penalty: f.number(-2, 2),
  seed: f.whole(),
  stop: f.textOr(f.list(f.string(), 16), "must be text or a list of at most 16 texts"),
  tools: { ...f.list({ ...tool, ...f.anyObject }), read: true, asJson: true },
  cache_control,
  tool_choice: f.textOr(
    f.object({
      type: f.setting,
      function: f.fields({ name: f.setting }),
      allowed_tools: f.fields({ mode: f.setting, tools: f.free }),
    }),
    "must be text or an object",
  ),
  parallel_tool_calls: f.boolean,
  response_format: {
    ...f.object({
      type: f.required(f.string()),
      json_schema: f.fields({ name: f.text, description: f.text, strict: f.setting, schema: f.json }),
      schema: f.json,
    }),
    read: true,
    asJson: true,
  },
  user: f.string(),
  logprobs: f.boolean,
  logit_bias: entries(1_024),
  ...f.each(f.setting, "top_k", "top_logprobs", "reasoning_effort"),
  reasoning: f.fields(f.each(f.setting, "effort", "max_tokens", "enabled", "exclude", "summary")),
  functions: f.refused(OUT_OF_DATE),
  modalities: f.refused("only text output is sold", isText),
  audio: f.refused("audio output is not sold"),
};

export const PLACED: ReadonlySet<string> = new Set(Object.keys(placed));

export const CHAT_FIELDS = f.compileTable(
  f.fields({
    ...placed,
    metadata: entries(64),
    safetySettings: { ...f.free, type: { kinds: ["list"], max: 64 } },

    ...f.each(f.setting, "safety_identifier", "prompt_cache_key", "top_a", "min_p", "repetition_penalty"),
    ...f.each(f.setting, "reasoning_format", "include_reasoning", "verbosity"),
    thinking: f.fields(f.each(f.setting, "type", "budget_tokens", "display")),
    output_config: f.fields({ effort: f.setting, format: f.json }),

    // Later code decides whether the gateway serves a plugin; `usage` and `provider` are OpenRouter's.
    ...f.each(f.ours, "max_cost_cents", "max_tool_calls", "usage", "provider", "plugins"),

    function_call: f.refused(OUT_OF_DATE),
    service_tier: f.refused("only the standard tier is sold", f.among("auto", "default", "standard", "standard_only")),
    transforms: f.refused("prompts are sent as they are", f.isEmptyList),
    ...f.each(f.refused(SEARCHES), "web_search_options", "search_parameters", "web_search"),
    preset: f.refused("presets can change model and price"),
    speed: f.refused("faster processing is billed apart", f.among("standard")),
    inference_geo: f.refused("a fixed region is billed apart"),
    mcp_servers: f.refused("remote tools are billed apart"),
    container: f.refused("containers are billed apart"),
    compound_custom: f.refused("built-in tools are billed apart"),
    prediction: f.refused("rejected predictions are billed beyond max_tokens"),
  }),
);
