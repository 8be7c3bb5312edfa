// The allow-list of a body in the responses wire: every field that goes to a vendor, and those that are refused because they change the price.
import { compilePlace, type PlaceSpec } from "../allow-list.ts";
import { json, oneOf, quoted, refused, setting, text } from "../places.ts";

const keptElsewhere = refused("files that a provider keeps cannot be asked for; send the file itself");

const partOf = (words: PlaceSpec): PlaceSpec => ({
  by: {
    field: "type",
    cases: {
      input_text: { fields: { type: setting, text: words } },
      output_text: { fields: { type: setting, text: words, annotations: json, logprobs: { free: true } } },
      text: { fields: { type: setting, text: words } },
      refusal: { fields: { type: setting, refusal: text } },
      input_image: {
        fields: { type: setting, image_url: { media: "image" }, detail: setting, file_id: keptElsewhere },
      },
      input_file: {
        fields: {
          type: setting,
          filename: text,
          file_data: { media: "file" },
          file_url: { media: "file" },
          file_id: keptElsewhere,
        },
      },
      input_audio: {
        fields: { type: setting, input_audio: { fields: { data: { media: "audio" }, format: setting } } },
      },
    },
    otherwise: "unknown",
  },
});

const namedTool = { type: setting, name: text, description: text };
const simpleTools: Readonly<Record<string, PlaceSpec>> = {
  function: {
    fields: {
      ...namedTool,
      parameters: json,
      strict: setting,
      defer_loading: setting,
      output_schema: json,
      async: setting,
      allowed_callers: { items: setting },
    },
  },
  custom: { fields: { ...namedTool, format: json, defer_loading: setting, allowed_callers: { items: setting } } },
};

/** Hosted tools are left out before anything is sifted. What is known to the model alone rides. */
const tool: PlaceSpec = {
  by: {
    field: "type",
    cases: {
      ...simpleTools,
      namespace: {
        fields: {
          ...namedTool,
          tools: { items: { by: { field: "type", cases: simpleTools, otherwise: "unknown" } } },
        },
      },
    },
    otherwise: json,
  },
};

const tools: PlaceSpec = { read: true, asJson: true, items: tool };

const own = { type: setting, id: text, status: setting };
const call = { ...own, call_id: text, name: text, namespace: text };
const output = { ...own, call_id: text, name: text, output: { ...quoted, items: partOf(quoted) } };
const words: PlaceSpec = { items: { fields: { type: setting, text } } };

const format: PlaceSpec = {
  fields: { type: setting, name: text, description: text, strict: setting, schema: json },
};
const reasoning: PlaceSpec = {
  fields: {
    effort: setting,
    summary: setting,
    generate_summary: setting,
    context: setting,
    mode: refused("several samples for one answer are billed apart", oneOf("standard")),
  },
};

const item: PlaceSpec = {
  by: {
    field: "type",
    cases: {
      message: { fields: { ...own, role: setting, phase: setting, content: { ...text, items: partOf(text) } } },
      function_call: { fields: { ...call, arguments: json } },
      function_call_output: { fields: output },
      custom_tool_call: { fields: { ...call, input: quoted } },
      custom_tool_call_output: { fields: output },
      reasoning: { fields: { ...own, summary: words, content: words, encrypted_content: text } },
      additional_tools: { fields: { ...own, role: setting, tools } },
      item_reference: { fields: { type: setting, id: text } },
      computer_call: { fields: { ...call, action: json, actions: json, pending_safety_checks: json } },
      computer_call_output: {
        fields: {
          ...own,
          call_id: text,
          acknowledged_safety_checks: json,
          output: { fields: { type: setting, image_url: { media: "image" }, file_id: keptElsewhere } },
        },
      },
      local_shell_call: json,
      local_shell_call_output: json,
      shell_call: json,
      shell_call_output: json,
      apply_patch_call: json,
      apply_patch_call_output: json,
      tool_search_call: json,
      tool_search_output: json,
      // What it changes is held to what may be said for the whole call.
      configuration_update: {
        fields: { type: setting, id: text, reasoning, text: { read: true, asJson: true, fields: { format } } },
      },
    },
    otherwise: "unknown",
  },
};

const body: PlaceSpec = {
  fields: {
    model: setting,
    models: { items: setting },
    input: { read: true, items: item },
    instructions: text,
    max_output_tokens: setting,
    max_tool_calls: setting,
    temperature: setting,
    top_p: setting,
    presence_penalty: setting,
    frequency_penalty: setting,
    top_logprobs: setting,
    stream: setting,
    stream_options: { fields: { include_obfuscation: setting } },
    text: {
      read: true,
      asJson: true,
      fields: { format, verbosity: setting },
    },
    reasoning,
    tools,
    tool_choice: {
      fields: { type: setting, name: setting, namespace: setting, mode: setting, tools: { free: true } },
    },
    parallel_tool_calls: setting,
    include: { items: setting },
    store: setting,
    previous_response_id: setting,
    truncation: setting,
    metadata: { free: true },
    user: setting,
    safety_identifier: setting,
    prompt_cache_key: setting,

    max_cost_cents: { ours: true },
    provider: { ours: true },
    // What an agent says of itself to its own vendor.
    client_metadata: { ours: true },

    conversation: refused("conversations are not kept; send the whole input, or store and previous_response_id"),
    background: refused("answers come while the client waits", oneOf(false)),
    service_tier: refused("only the standard tier is sold", oneOf("auto", "default")),
    prompt: refused("stored prompts lie in somebody's account at a provider; send the input itself"),
    prompt_cache_options: refused("other caches are billed apart"),
    prompt_cache_retention: refused("a longer-lived cache is billed apart", oneOf("in_memory", "in-memory")),
    context_management: refused("compaction by the provider is billed apart; use POST /responses/compact"),
    moderation: refused("moderation is asked for at /moderations"),
    access_programs: refused("programs of access belong to somebody's account at a provider"),
    image: refused("it is not known what it costs"),
  },
};

/** The whole of what a body in the responses wire may hold. */
export const RESPONSES_FIELDS = compilePlace(body);
