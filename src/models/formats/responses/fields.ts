// The field table of the responses format: which fields go to a vendor, and which are refused because they change the price.
import { z } from "zod";
import { type FieldIssue, readFields } from "../../../core/field-issues.ts";
import type { Json } from "../../../core/json.ts";
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

/** The format's lowest output limit. */
const OUTPUT_TOKENS_MIN = 16;
const file_id = refused("files that a provider keeps cannot be asked for; send the file itself");

function parts(words: FieldSpec): FieldSpec {
  return cases("type", {
    input_text: fields({ text: words }),
    output_text: fields({ text: words, annotations: json, logprobs: free }),
    text: fields({ text: words }),
    refusal: fields({ refusal: text }),
    input_image: fields({ image_url: { media: "image" }, detail: setting, file_id }),
    input_file: fields({ filename: text, file_data: { media: "file" }, file_url: { media: "file" }, file_id }),
    input_audio: fields({ input_audio: fields({ data: { media: "audio" }, format: setting }) }),
  });
}

const word = string(0, 512);
const name: FieldSpec = { ...text, ...word };
const named: Fields = { name, description: text };
const allowed_callers: FieldSpec = { items: setting };
const functions: Fields = {
  function: fields({
    ...named,
    ...each(json, "parameters", "output_schema"),
    ...each(setting, "strict", "defer_loading", "async"),
    allowed_callers,
  }),
  custom: fields({ ...named, format: json, defer_loading: setting, allowed_callers }),
};
const namespace = fields({ ...named, tools: { items: cases("type", functions) } });

/** Hosted tools are removed before this table applies. Tools that only the model knows pass unchanged. */
const tool = cases("type", { ...functions, namespace }, { otherwise: { ...json, ...fields({ name }) } });
const tools: FieldSpec = { ...list({ ...tool, ...anyObject }, 10_000), read: true, asJson: true };

const item: Fields = { id: text, status: setting };
const call: Fields = { ...item, call_id: name, name, namespace: name };
const output = fields({ ...item, call_id: name, name, output: { ...quoted, items: parts(quoted) } });
const screenshot = fields({ type: setting, image_url: { media: "image" }, file_id });
const words: FieldSpec = { items: fields({ type: setting, text }) };
const role = oneOf("system", "developer", "user", "assistant");

const format = object({ type: required(string()), name: text, description: text, strict: setting, schema: json });
const reasoning = object({
  effort: string(0, 20),
  summary: string(0, 20),
  ...each(setting, "generate_summary", "context"),
  mode: refused("several samples for one answer are billed apart", among("standard")),
});

/** An item that only the format's vendor can read. */
const passed: FieldSpec = { ...json, ...fields({ role, ...each(word, "call_id", "name", "namespace") }) };

const items: Fields = {
  message: fields({ ...item, role, phase: setting, content: { ...text, items: parts(text) } }),
  function_call: fields({ ...call, arguments: json }),
  custom_tool_call: fields({ ...call, input: quoted }),
  ...each(output, "function_call_output", "custom_tool_call_output"),
  reasoning: fields({ ...item, summary: words, content: words, encrypted_content: text }),
  additional_tools: fields({ ...item, role, tools }),
  item_reference: fields({ id: text }),
  computer_call: fields({ ...call, ...each(json, "action", "actions", "pending_safety_checks") }),
  computer_call_output: fields({ ...item, call_id: name, acknowledged_safety_checks: json, output: screenshot }),
  ...each(passed, "local_shell_call", "local_shell_call_output", "shell_call", "shell_call_output"),
  ...each(passed, "apply_patch_call", "apply_patch_call_output", "tool_search_call", "tool_search_output"),
  // It changes settings of the whole call, so the same rules apply.
  configuration_update: fields({ id: text, reasoning, text: { ...fields({ format }), read: true, asJson: true } }),
};

const PAIRS_MAX = 16;
const pairs = z
  .record(z.string().max(64), z.string().max(512))
  .refine((of) => Object.keys(of).length <= PAIRS_MAX, `must have at most ${PAIRS_MAX} pairs`);

function checkPairs(value: unknown): readonly FieldIssue[] {
  const read = readFields(pairs, value);
  return "data" in read ? [] : read;
}

const model = string(1, 200);
const input = list({ ...cases("type", items), ...anyObject }, 100_000, 1);

/** A body that passed the table, with the fields that we read. Items without a type have become messages. */
export type ResponsesBody = Json & {
  readonly model?: string | null;
  readonly models?: readonly string[] | null;
  readonly input: string | readonly ResponsesItem[];
  readonly max_output_tokens?: number | null | undefined;
};

/** An input item: a message, a call, its output, a thought, or tools added by the conversation. */
export type ResponsesItem = Json & { readonly type: string };

export const RESPONSES_FIELDS = compileTable(
  fields({
    model,
    models: list(model, 16, 1),
    input: required({ ...textOr(input, "must be text or a list of items"), read: true }),
    instructions: { ...text, ...string() },
    max_output_tokens: whole(OUTPUT_TOKENS_MIN, 10_000_000),
    max_tool_calls: whole(1),
    temperature: number(0, 2),
    top_p: number(0, 1),
    presence_penalty: number(-2, 2),
    frequency_penalty: number(-2, 2),
    top_logprobs: whole(0, 20),
    stream: boolean,
    text: { ...object({ format, verbosity: string(0, 20) }), read: true, asJson: true },
    reasoning,
    tools,
    tool_choice: textOr(
      object({ ...each(setting, "type", "name", "namespace", "mode"), tools: free }),
      "must be text or an object",
    ),
    parallel_tool_calls: boolean,
    include: list(string(0, 100), 64),
    store: boolean,
    previous_response_id: string(0, 200),
    truncation: oneOf("auto", "disabled"),
    metadata: { ...free, type: { kinds: [], check: checkPairs } },
    ...each(word, "user", "safety_identifier", "prompt_cache_key"),
    stream_options: fields({ include_obfuscation: setting }),

    // Agents identify themselves to their own vendor in `client_metadata`.
    ...each(ours, "max_cost_cents", "provider", "client_metadata"),

    conversation: refused("conversations are not kept; send the whole input, or store and previous_response_id"),
    background: refused("answers come while the client waits", among(false)),
    service_tier: refused("only the standard tier is sold", among("auto", "default")),
    prompt: refused("stored prompts lie in somebody's account at a provider; send the input itself"),
    prompt_cache_options: refused("other caches are billed apart"),
    prompt_cache_retention: refused("a longer-lived cache is billed apart", among("in_memory", "in-memory")),
    context_management: refused("compaction by the provider is billed apart; use POST /responses/compact"),
    moderation: refused("moderation is asked for at /moderations"),
    access_programs: refused("programs of access belong to somebody's account at a provider"),
    image: refused("it is not known what it costs"),
  }),
);
