// The field table of the chat completions format: which fields go to a vendor, and which are refused because they change the price.
import { isRecord, type Json } from "../../../core/json.ts";
import {
  among,
  anyObject,
  boolean,
  cases,
  compileTable,
  each,
  type FieldSpec,
  type Fields,
  fields,
  free,
  isEmptyList,
  json,
  list,
  number,
  object,
  oneOf,
  ours,
  quoted,
  refused,
  required,
  setting,
  string,
  text,
  textOr,
  whole,
} from "../field-table.ts";

/** Writing a longer-lived cache costs more than we charge. */
const ttl: FieldSpec = { type: { kinds: [], oneOf: ["5m"], message: "only the five-minute cache is sold" } };
const cache_control = object({ type: setting, ttl });
const OUT_OF_DATE = "functions are out of date; send tools, tool_calls and messages of role tool";
const SEARCHES = "searches are billed apart";

function parts(words: FieldSpec): FieldSpec {
  const url: FieldSpec = { media: "image", ...required(string()) };
  const image = textOr({ ...object({ url, detail: setting }), media: "image" }, "must be an object with a url");
  const file_id = refused("files that a provider keeps cannot be asked for; send file_data");
  const part = cases("type", {
    text: fields({ text: { ...words, ...string() }, cache_control }),
    refusal: fields({ refusal: text, cache_control }),
    reasoning: fields({ text: { ...text, ...string() } }),
    image_url: fields({ image_url: image, cache_control }),
    input_audio: fields({ input_audio: fields({ data: { media: "audio" }, format: setting }), cache_control }),
    file: fields({ file: fields({ filename: text, file_data: { media: "file" }, file_id }), cache_control }),
  });
  return textOr({ ...words, ...list({ ...part, ...anyObject }) }, "must be text or a list of content parts");
}

const name: FieldSpec = { ...text, ...string() };
const called = required(name);

const toolCall = object({
  id: name,
  ...each(setting, "index", "type"),
  function: object({ name: called, arguments: json }),
  custom: fields({ name: text, input: text }),
  // Gemini's own OpenAI format keeps the signature of a thought here.
  extra_content: json,
});

const message: Fields = {
  role: required(oneOf("system", "developer", "user", "assistant", "tool", "function")),
  content: parts(text),
  tool_calls: { ...list(toolCall), read: true, asJson: true },
  tool_call_id: name,
  name,
  cache_control,
  ...each(text, "refusal", "reasoning", "reasoning_content"),
  ...each(json, "reasoning_details", "annotations"),
  prefix: setting,
  function_call: refused(OUT_OF_DATE),
};

const roles = {
  tool: fields({ ...message, content: parts(quoted) }),
  function: { ...refused(OUT_OF_DATE), ...fields(message) },
};

const declared = object({ name: called, description: text, parameters: json, strict: setting });
const tool = cases(
  "type",
  // The gateway runs actions; the vendor sees a function.
  { function: fields({ function: declared, cache_control }), action: ours },
  { otherwise: refused("only tools of type function and action are sold") },
);

/** No client sends more, and many entries are slow to parse. */
function entries(max: number): FieldSpec {
  const message = `must be an object of at most ${max} entries`;
  const isFew = (value: unknown) => isRecord(value) && Object.keys(value).length <= max;
  return { ...free, type: { kinds: [], check: (value) => (isFew(value) ? [] : [{ path: "", message }]) } };
}

const model = string(1, 200);
const tokens = whole(1, 10_000_000);
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

export const CHAT_FIELDS = compileTable(
  fields({
    model,
    models: list(model, 16, 1),
    messages: required(list({ ...cases("role", roles, { otherwise: fields(message) }), ...anyObject }, 100_000, 1)),
    stream: boolean,
    stream_options: object({ include_usage: boolean, include_obfuscation: setting }),
    max_tokens: tokens,
    max_completion_tokens: tokens,
    n: whole(1, 8),
    temperature: number(0, 2),
    top_p: number(0, 1),
    frequency_penalty: number(-2, 2),
    presence_penalty: number(-2, 2),
    seed: whole(),
    stop: textOr(list(string(), 16), "must be text or a list of at most 16 texts"),
    tools: { ...list({ ...tool, ...anyObject }), read: true, asJson: true },
    cache_control,
    tool_choice: textOr(
      object({
        type: setting,
        function: fields({ name: setting }),
        allowed_tools: fields({ mode: setting, tools: free }),
      }),
      "must be text or an object",
    ),
    parallel_tool_calls: boolean,
    response_format: {
      ...object({
        type: required(string()),
        json_schema: fields({ name: text, description: text, strict: setting, schema: json }),
        schema: json,
      }),
      read: true,
      asJson: true,
    },
    user: string(),
    logprobs: boolean,
    logit_bias: entries(1_024),
    metadata: entries(64),
    safetySettings: { ...free, type: { kinds: ["list"], max: 64 } },

    ...each(setting, "safety_identifier", "prompt_cache_key", "top_k", "top_a", "min_p", "repetition_penalty"),
    ...each(setting, "top_logprobs", "reasoning_effort", "reasoning_format", "include_reasoning", "verbosity"),
    reasoning: fields(each(setting, "effort", "max_tokens", "enabled", "exclude", "summary")),
    thinking: fields(each(setting, "type", "budget_tokens", "display")),
    output_config: fields({ effort: setting, format: json }),

    // Later code decides whether the gateway serves a plugin; `usage` and `provider` are OpenRouter's.
    ...each(ours, "max_cost_cents", "max_tool_calls", "usage", "provider", "plugins"),

    functions: refused(OUT_OF_DATE),
    function_call: refused(OUT_OF_DATE),
    service_tier: refused("only the standard tier is sold", among("auto", "default", "standard", "standard_only")),
    modalities: refused("only text output is sold", isText),
    audio: refused("audio output is not sold"),
    transforms: refused("prompts are sent as they are", isEmptyList),
    ...each(refused(SEARCHES), "web_search_options", "search_parameters", "web_search"),
    preset: refused("presets can change model and price"),
    speed: refused("faster processing is billed apart", among("standard")),
    inference_geo: refused("a fixed region is billed apart"),
    mcp_servers: refused("remote tools are billed apart"),
    container: refused("containers are billed apart"),
    compound_custom: refused("built-in tools are billed apart"),
    prediction: refused("rejected predictions are billed beyond max_tokens"),
  }),
);
