// The field table of the responses format: which fields go to a vendor, and which are refused because they change the price.
import { z } from "zod";
import { type FieldIssue, readFields } from "../../../core/field-issues.ts";
import type { Json } from "../../../core/json.ts";
import * as f from "../field-table.ts";

/** The format's lowest output limit. */
const OUTPUT_TOKENS_MIN = 16;
const file_id = f.refused("files that a provider keeps cannot be asked for; send the file itself");

function parts(words: f.FieldSpec): f.FieldSpec {
  return f.cases("type", {
    input_text: f.fields({ text: words }),
    output_text: f.fields({ text: words, annotations: f.json, logprobs: f.free }),
    text: f.fields({ text: words }),
    refusal: f.fields({ refusal: f.text }),
    input_image: f.fields({ image_url: { media: "image" }, detail: f.setting, file_id }),
    input_file: f.fields({ filename: f.text, file_data: { media: "file" }, file_url: { media: "file" }, file_id }),
    input_audio: f.fields({ input_audio: f.fields({ data: { media: "audio" }, format: f.setting }) }),
  });
}

const word = f.string(0, 512);
const name: f.FieldSpec = { ...f.text, ...word };
const named: f.Fields = { name, description: f.text };
const allowed_callers: f.FieldSpec = { items: f.setting };
const functions: f.Fields = {
  function: f.fields({
    ...named,
    ...f.each(f.json, "parameters", "output_schema"),
    ...f.each(f.setting, "strict", "defer_loading", "async"),
    allowed_callers,
  }),
  custom: f.fields({ ...named, format: f.json, defer_loading: f.setting, allowed_callers }),
};
const namespace = f.fields({ ...named, tools: { items: f.cases("type", functions) } });

/** Hosted tools are removed before this table applies. Tools that only the model knows pass unchanged. */
const tool = f.cases("type", { ...functions, namespace }, { otherwise: { ...f.json, ...f.fields({ name }) } });
const tools: f.FieldSpec = { ...f.list({ ...tool, ...f.anyObject }, 10_000), read: true, asJson: true };

const item: f.Fields = { id: f.text, status: f.setting };
const call: f.Fields = { ...item, call_id: name, name, namespace: name };
const output = f.fields({ ...item, call_id: name, name, output: { ...f.quoted, items: parts(f.quoted) } });
const screenshot = f.fields({ type: f.setting, image_url: { media: "image" }, file_id });
const words: f.FieldSpec = { items: f.fields({ type: f.setting, text: f.text }) };
const role = f.oneOf("system", "developer", "user", "assistant");

const format = f.object({
  type: f.required(f.string()),
  name: f.text,
  description: f.text,
  strict: f.setting,
  schema: f.json,
});
const reasoning = f.object({
  effort: f.string(0, 20),
  summary: f.string(0, 20),
  ...f.each(f.setting, "generate_summary", "context"),
  mode: f.refused("several samples for one answer are billed apart", f.among("standard")),
});

/** An item that only the format's vendor can read. */
const passed: f.FieldSpec = { ...f.json, ...f.fields({ role, ...f.each(word, "call_id", "name", "namespace") }) };

const items: f.Fields = {
  message: f.fields({ ...item, role, phase: f.setting, content: { ...f.text, items: parts(f.text) } }),
  function_call: f.fields({ ...call, arguments: f.json }),
  custom_tool_call: f.fields({ ...call, input: f.quoted }),
  ...f.each(output, "function_call_output", "custom_tool_call_output"),
  reasoning: f.fields({ ...item, summary: words, content: words, encrypted_content: f.text }),
  additional_tools: f.fields({ ...item, role, tools }),
  item_reference: f.fields({ id: f.text }),
  computer_call: f.fields({ ...call, ...f.each(f.json, "action", "actions", "pending_safety_checks") }),
  computer_call_output: f.fields({ ...item, call_id: name, acknowledged_safety_checks: f.json, output: screenshot }),
  ...f.each(passed, "local_shell_call", "local_shell_call_output", "shell_call", "shell_call_output"),
  ...f.each(passed, "apply_patch_call", "apply_patch_call_output", "tool_search_call", "tool_search_output"),
  // It changes settings of the whole call, so the same rules apply.
  configuration_update: f.fields({
    id: f.text,
    reasoning,
    text: { ...f.fields({ format }), read: true, asJson: true },
  }),
};

const PAIRS_MAX = 16;
const pairs = z
  .record(z.string().max(64), z.string().max(512))
  .refine((of) => Object.keys(of).length <= PAIRS_MAX, `must have at most ${PAIRS_MAX} pairs`);

function checkPairs(value: unknown): readonly FieldIssue[] {
  const read = readFields(pairs, value);
  return "data" in read ? [] : read;
}

const model = f.string(1, 200);
const input = f.list({ ...f.cases("type", items), ...f.anyObject }, 100_000, 1);

/** A body that passed the table, with the fields that we read. Items without a type have become messages. */
export type ResponsesBody = Json & {
  readonly model?: string | null;
  readonly models?: readonly string[] | null;
  readonly input: string | readonly ResponsesItem[];
  readonly max_output_tokens?: number | null | undefined;
};

/** An input item: a message, a call, its output, a thought, or tools added by the conversation. */
export type ResponsesItem = Json & { readonly type: string };

export const RESPONSES_FIELDS = f.compileTable(
  f.fields({
    model,
    models: f.list(model, 16, 1),
    input: f.required({ ...f.textOr(input, "must be text or a list of items"), read: true }),
    instructions: { ...f.text, ...f.string() },
    max_output_tokens: f.whole(OUTPUT_TOKENS_MIN, 10_000_000),
    max_tool_calls: f.whole(1),
    temperature: f.number(0, 2),
    top_p: f.number(0, 1),
    presence_penalty: f.number(-2, 2),
    frequency_penalty: f.number(-2, 2),
    top_logprobs: f.whole(0, 20),
    stream: f.boolean,
    text: { ...f.object({ format, verbosity: f.string(0, 20) }), read: true, asJson: true },
    reasoning,
    tools,
    tool_choice: f.textOr(
      f.object({ ...f.each(f.setting, "type", "name", "namespace", "mode"), tools: f.free }),
      "must be text or an object",
    ),
    parallel_tool_calls: f.boolean,
    include: f.list(f.string(0, 100), 64),
    store: f.boolean,
    previous_response_id: f.string(0, 200),
    truncation: f.oneOf("auto", "disabled"),
    metadata: { ...f.free, type: { kinds: [], check: checkPairs } },
    ...f.each(word, "user", "safety_identifier", "prompt_cache_key"),
    stream_options: f.fields({ include_obfuscation: f.setting }),

    // Agents identify themselves to their own vendor in `client_metadata`.
    ...f.each(f.ours, "max_cost_cents", "provider", "client_metadata"),

    conversation: f.refused("conversations are not kept; send the whole input, or store and previous_response_id"),
    background: f.refused("answers come while the client waits", f.among(false)),
    service_tier: f.refused("only the standard tier is sold", f.among("auto", "default")),
    prompt: f.refused("stored prompts lie in somebody's account at a provider; send the input itself"),
    prompt_cache_options: f.refused("other caches are billed apart"),
    prompt_cache_retention: f.refused("a longer-lived cache is billed apart", f.among("in_memory", "in-memory")),
    context_management: f.refused("compaction by the provider is billed apart; use POST /responses/compact"),
    moderation: f.refused("moderation is asked for at /moderations"),
    access_programs: f.refused("programs of access belong to somebody's account at a provider"),
    image: f.refused("it is not known what it costs"),
  }),
);
