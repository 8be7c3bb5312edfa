// The allow-list of a chat body: every field that goes to a vendor, and those that are refused because they change the price.
import { compilePlace, type PlaceSpec } from "../allow-list.ts";
import { json, oneOf, quoted, refused, setting, text } from "../places.ts";

const cacheControl: PlaceSpec = { fields: { type: setting, ttl: setting } };

const outOfDate = "functions are out of date; send tools, tool_calls and messages of role tool";

const partOf = (words: PlaceSpec): PlaceSpec => ({
  by: {
    field: "type",
    cases: {
      text: { fields: { type: setting, text: words, cache_control: cacheControl } },
      refusal: { fields: { type: setting, refusal: text, cache_control: cacheControl } },
      reasoning: { fields: { type: setting, text } },
      image_url: {
        fields: {
          type: setting,
          image_url: { media: "image", fields: { url: { media: "image" }, detail: setting } },
          cache_control: cacheControl,
        },
      },
      input_audio: {
        fields: {
          type: setting,
          input_audio: { fields: { data: { media: "audio" }, format: setting } },
          cache_control: cacheControl,
        },
      },
      file: {
        fields: {
          type: setting,
          file: {
            fields: {
              filename: text,
              file_data: { media: "file" },
              file_id: refused("files that a provider keeps cannot be asked for; send file_data"),
            },
          },
          cache_control: cacheControl,
        },
      },
    },
    otherwise: "unknown",
  },
});

const toolCall: PlaceSpec = {
  fields: {
    index: setting,
    id: text,
    type: setting,
    function: { fields: { name: text, arguments: json } },
    custom: { fields: { name: text, input: text } },
    // Where Gemini's own OpenAI wire keeps the signature of a thought.
    extra_content: json,
  },
};

const message: PlaceSpec = {
  fields: {
    role: setting,
    content: { read: true, items: partOf(text) },
    name: text,
    refusal: text,
    reasoning: text,
    reasoning_content: text,
    reasoning_details: json,
    annotations: json,
    tool_calls: { read: true, asJson: true, items: toolCall },
    tool_call_id: text,
    prefix: setting,
    cache_control: cacheControl,
    function_call: refused(outOfDate),
  },
};

const toolMessage: PlaceSpec = { fields: { ...message.fields, content: { ...quoted, items: partOf(quoted) } } };

const tool: PlaceSpec = {
  by: {
    field: "type",
    cases: {
      function: {
        fields: {
          type: setting,
          function: { fields: { name: text, description: text, parameters: json, strict: setting } },
          cache_control: cacheControl,
        },
      },
      // The gateway runs it: a vendor sees a function.
      action: { ours: true },
    },
    otherwise: refused("only tools of type function and action are sold"),
  },
};

const body: PlaceSpec = {
  fields: {
    model: setting,
    models: { items: setting },
    messages: {
      items: {
        by: {
          field: "role",
          cases: { tool: toolMessage, function: refused(outOfDate) },
          otherwise: message,
        },
      },
    },
    stream: setting,
    stream_options: { fields: { include_usage: setting, include_obfuscation: setting } },
    max_tokens: setting,
    max_completion_tokens: setting,
    n: setting,
    stop: { items: setting },
    seed: setting,
    user: setting,
    metadata: { free: true },
    safety_identifier: setting,
    prompt_cache_key: setting,
    cache_control: cacheControl,
    max_cost_cents: { ours: true },
    // OpenRouter's: whether usage comes, and who may serve.
    usage: { ours: true },
    provider: { ours: true },

    temperature: setting,
    top_p: setting,
    top_k: setting,
    top_a: setting,
    min_p: setting,
    frequency_penalty: setting,
    presence_penalty: setting,
    repetition_penalty: setting,
    logit_bias: { free: true },
    logprobs: setting,
    top_logprobs: setting,

    tools: { read: true, asJson: true, items: tool },
    tool_choice: {
      fields: {
        type: setting,
        function: { fields: { name: setting } },
        allowed_tools: { fields: { mode: setting, tools: { free: true } } },
      },
    },
    parallel_tool_calls: setting,
    max_tool_calls: { ours: true },
    response_format: {
      read: true,
      asJson: true,
      fields: {
        type: setting,
        json_schema: { fields: { name: text, description: text, strict: setting, schema: json } },
        schema: json,
      },
    },

    reasoning: {
      fields: { effort: setting, max_tokens: setting, enabled: setting, exclude: setting, summary: setting },
    },
    reasoning_effort: setting,
    reasoning_format: setting,
    include_reasoning: setting,
    thinking: { fields: { type: setting, budget_tokens: setting, display: setting } },
    verbosity: setting,
    output_config: { fields: { effort: setting, format: json } },
    safetySettings: { free: true },

    functions: refused(outOfDate),
    function_call: refused(outOfDate),
    service_tier: refused("only the standard tier is sold", oneOf("auto", "default", "standard", "standard_only")),
    modalities: refused(
      "only text output is sold",
      (value) => Array.isArray(value) && value.every((kind) => kind === "text"),
    ),
    audio: refused("audio output is not sold"),
    // What is in there is looked at where it is known whether the gateway serves it.
    plugins: { ours: true },
    transforms: refused("prompts are sent as they are", (value) => Array.isArray(value) && value.length === 0),
    web_search_options: refused("searches are billed apart"),
    search_parameters: refused("searches are billed apart"),
    web_search: refused("searches are billed apart"),
    preset: refused("presets can change model and price"),
    speed: refused("faster processing is billed apart", oneOf("standard")),
    inference_geo: refused("a fixed region is billed apart"),
    mcp_servers: refused("remote tools are billed apart"),
    container: refused("containers are billed apart"),
    compound_custom: refused("built-in tools are billed apart"),
    prediction: refused("rejected predictions are billed beyond max_tokens"),
  },
};

/** The whole of what a chat body may hold. */
export const CHAT_FIELDS = compilePlace(body);
