// The field table of the messages format: which fields other formats can express, and which are refused because they change the price.
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

/** The vendor's web search and page reading tools, by version. */
export const HOSTED_TYPES = [
  "web_search_20250305",
  "web_search_20260209",
  "web_fetch_20250910",
  "web_fetch_20260209",
  "web_fetch_20260309",
] as const;

export const LONG_CACHE = "only the five-minute cache is sold";
const KEPT_FILES = "files that a provider keeps cannot be asked for; send the data";
export const SERVER_TOOLS = "tools that a provider runs are billed apart";
const CONTAINERS = "containers are billed apart";
const COMPACTION = "compaction is billed apart";

const cache_control = fields({ type: setting, ttl: refused(LONG_CACHE, among("5m")) });

/** A block that may end a cached prompt. */
function block(of: Fields): FieldSpec {
  return fields({ ...of, cache_control });
}

function source(media: "image" | "file", content: FieldSpec): FieldSpec {
  return cases("type", {
    base64: fields({ media_type: setting, data: { media, typedBy: "media_type" } }),
    url: fields({ url: { media } }),
    text: fields({ media_type: setting, data: text }),
    content: fields({ content }),
    file: refused(KEPT_FILES),
  });
}

function blocks(of: Fields): FieldSpec {
  return { read: true, items: cases("type", of) };
}

/** Text, or a list of blocks. */
function content(of: Fields): FieldSpec {
  const typed = { ...list({ ...cases("type", of), ...anyObject }), read: true } as const;
  return textOr(typed, "must be text or a list of content blocks");
}

/** Made only by models of the format's vendor: sent back there, dropped for others. */
const vendorsOwn: FieldSpec = { free: true, read: true };

const words = block({ text, citations: free });
const image = block({ source: source("image", refused(KEPT_FILES)) });
const inner = blocks({ text: words, image });
const citations = fields({ enabled: setting });
const document = block({ source: source("file", inner), title: text, context: text, citations });
const search_result = block({ title: text, source: text, content: inner, citations });
const tool_reference = block({ tool_name: text });

const ownTool = fields({
  name: { ...text, ...string() },
  description: text,
  input_schema: json,
  ...each(setting, "type", "strict", "defer_loading", "eager_input_streaming"),
  input_examples: json,
  allowed_callers: { items: setting },
  cache_control,
});

/** Only the vendor accepts it, because it defines the schema and the description. */
const vendorsTool: FieldSpec = { ...fields({ name: string() }), read: true, free: true };

const ownTools: Fields = {
  custom: ownTool,
  ...each(vendorsTool, "bash_20241022", "bash_20250124"),
  ...each(vendorsTool, "text_editor_20241022", "text_editor_20250124", "text_editor_20250429", "text_editor_20250728"),
  ...each(vendorsTool, "computer_20241022", "computer_20250124", "computer_20251124", "memory_20250818"),
};
const otherTools = { missing: ownTool, otherwise: refused(SERVER_TOOLS) };

/** The code that reads tools decides whether the gateway runs a hosted tool in the vendor's place. */
const tool = cases("type", { ...ownTools, ...each(ours, ...HOSTED_TYPES, "action") }, otherTools);

/** A tool added or removed in the middle of a conversation. */
const movedTool: FieldSpec = {
  ...cases("type", { ...ownTools, tool_reference: fields({ name: text }) }, otherTools),
  read: true,
  asJson: true,
};

/** A fetched page counts as a document. */
const fetched = fields({ url: text, retrieved_at: text, content: cases("type", { document }) });

const message = object({
  role: required(oneOf("user", "assistant", "system")),
  content: content({
    text: words,
    image,
    document,
    search_result,
    tool_use: block({ id: text, name: text, input: json, caller: free }),
    tool_result: block({
      tool_use_id: text,
      content: { ...quoted, ...blocks({ text: words, image, document, search_result, tool_reference }) },
      is_error: setting,
    }),
    thinking: fields({ thinking: text, signature: text }),
    redacted_thinking: fields({ data: text }),
    tool_reference,
    ...each(block({ tool: movedTool }), "tool_addition", "tool_removal"),
    ...each(vendorsOwn, "server_tool_use", "web_search_tool_result", "code_execution_tool_result"),
    web_fetch_tool_result: {
      ...block({
        tool_use_id: text,
        caller: free,
        content: cases("type", { web_fetch_result: fetched, web_fetch_tool_result_error: vendorsOwn }),
      }),
      read: true,
    },
    ...each(vendorsOwn, "bash_code_execution_tool_result", "text_editor_code_execution_tool_result"),
    ...each(vendorsOwn, "tool_search_tool_result", "mcp_tool_use", "mcp_tool_result"),
    container_upload: refused(CONTAINERS),
    compaction: refused(COMPACTION),
  }),
  clear_at: setting,
  // For a system turn within the conversation.
  output_config: fields({ effort: setting }),
});

const format: FieldSpec = { ...fields({ type: setting, schema: json }), read: true, asJson: true };
const name = string(1, 200);
const edits = each(free, "clear_tool_uses_20250919", "clear_thinking_20251015");

/** A body that passed the table, with the fields that we read. */
export type MessagesBody = Json & {
  readonly model: string;
  readonly models?: readonly string[] | null;
  readonly messages: readonly unknown[];
  readonly max_tokens?: number | null;
};

export const MESSAGES_FIELDS = compileTable(
  fields({
    model: required(name),
    models: list(name, 16, 1),
    messages: required(list(message, 100_000, 1)),
    system: content({ text: words }),
    max_tokens: whole(1, 10_000_000),
    stream: boolean,
    temperature: number(0, 1),
    top_p: number(0, 1),
    top_k: whole(0),
    stop_sequences: list(string(), 16),
    tools: { ...list({ ...tool, ...anyObject }), read: true, asJson: true },
    tool_choice: object({ type: required(string()), name: setting, disable_parallel_tool_use: setting }),
    thinking: object({ type: required(string()), budget_tokens: whole(1_024), display: setting }),
    output_config: object({ effort: setting, format }),
    metadata: { ...free, ...anyObject },
    output_format: format,
    cache_control,
    ...each(ours, "max_cost_cents", "max_tool_calls", "provider"),

    service_tier: refused("only the standard tier is sold", among("auto", "standard_only")),
    speed: refused("faster processing is billed apart", among("standard")),
    inference_geo: refused("a fixed region is billed apart"),
    container: refused(CONTAINERS),
    mcp_servers: refused("remote tools are billed apart", isEmptyList),
    compaction: refused(COMPACTION),
    fallbacks: refused("fallbacks of a provider's own are billed apart; name several models in `models`", isEmptyList),
    fallback_credit_token: refused("credit at a provider is not ours to use"),
    billing_policy: refused("the provider's bill is not the caller's"),
    thread: refused("threads that a provider keeps belong to its own customers"),
    user_profile_id: refused("profiles that a provider keeps belong to its own customers"),
    workspace_id: refused("workspaces belong to a provider's own customers"),
    context_management: fields({ edits: { items: cases("type", edits, { otherwise: refused(COMPACTION) }) } }),
  }),
);
