// The field table of the messages format: which fields other formats can express, and which are refused because they change the price.
import type { Json } from "../../../core/json.ts";
import * as f from "../field-table.ts";

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

const cache_control = f.fields({ type: f.setting, ttl: f.refused(LONG_CACHE, f.among("5m")) });

/** A block that may end a cached prompt. */
function block(of: f.Fields): f.FieldSpec {
  return f.fields({ ...of, cache_control });
}

function source(media: "image" | "file", content: f.FieldSpec): f.FieldSpec {
  return f.cases("type", {
    base64: f.fields({ media_type: f.setting, data: { media, typedBy: "media_type" } }),
    url: f.fields({ url: { media } }),
    text: f.fields({ media_type: f.setting, data: f.text }),
    content: f.fields({ content }),
    file: f.refused(KEPT_FILES),
  });
}

function blocks(of: f.Fields): f.FieldSpec {
  return { read: true, items: f.cases("type", of) };
}

/** Text, or a list of blocks. */
function content(of: f.Fields): f.FieldSpec {
  const typed = { ...f.list({ ...f.cases("type", of), ...f.anyObject }), read: true } as const;
  return f.textOr(typed, "must be text or a list of content blocks");
}

/** Made only by models of the format's vendor: sent back there, dropped for others. */
const vendorsOwn: f.FieldSpec = { free: true, read: true };

const words = block({ text: f.text, citations: f.free });
const image = block({ source: source("image", f.refused(KEPT_FILES)) });
const inner = blocks({ text: words, image });
const citations = f.fields({ enabled: f.setting });
const document = block({ source: source("file", inner), title: f.text, context: f.text, citations });
const search_result = block({ title: f.text, source: f.text, content: inner, citations });
const tool_reference = block({ tool_name: f.text });

const ownTool = f.fields({
  name: { ...f.text, ...f.string() },
  description: f.text,
  input_schema: f.json,
  ...f.each(f.setting, "type", "strict", "defer_loading", "eager_input_streaming"),
  input_examples: f.json,
  allowed_callers: { items: f.setting },
  cache_control,
});

/** Only the vendor accepts it, because it defines the schema and the description. */
const vendorsTool: f.FieldSpec = { ...f.fields({ name: f.string() }), read: true, free: true };

const ownTools: f.Fields = {
  custom: ownTool,
  ...f.each(vendorsTool, "bash_20241022", "bash_20250124"),
  ...f.each(
    vendorsTool,
    "text_editor_20241022",
    "text_editor_20250124",
    "text_editor_20250429",
    "text_editor_20250728",
  ),
  ...f.each(vendorsTool, "computer_20241022", "computer_20250124", "computer_20251124", "memory_20250818"),
};
const otherTools = { missing: ownTool, otherwise: f.refused(SERVER_TOOLS) };

/** The code that reads tools decides whether the gateway runs a hosted tool in the vendor's place. */
const tool = f.cases("type", { ...ownTools, ...f.each(f.ours, ...HOSTED_TYPES, "action") }, otherTools);

/** A tool added or removed in the middle of a conversation. */
const movedTool: f.FieldSpec = {
  ...f.cases("type", { ...ownTools, tool_reference: f.fields({ name: f.text }) }, otherTools),
  read: true,
  asJson: true,
};

/** A fetched page counts as a document. */
const fetched = f.fields({ url: f.text, retrieved_at: f.text, content: f.cases("type", { document }) });

const message = f.object({
  role: f.required(f.oneOf("user", "assistant", "system")),
  content: content({
    text: words,
    image,
    document,
    search_result,
    tool_use: block({ id: f.text, name: f.text, input: f.json, caller: f.free }),
    tool_result: block({
      tool_use_id: f.text,
      content: { ...f.quoted, ...blocks({ text: words, image, document, search_result, tool_reference }) },
      is_error: f.setting,
    }),
    thinking: f.fields({ thinking: f.text, signature: f.text }),
    redacted_thinking: f.fields({ data: f.text }),
    tool_reference,
    ...f.each(block({ tool: movedTool }), "tool_addition", "tool_removal"),
    ...f.each(vendorsOwn, "server_tool_use", "web_search_tool_result", "code_execution_tool_result"),
    web_fetch_tool_result: {
      ...block({
        tool_use_id: f.text,
        caller: f.free,
        content: f.cases("type", { web_fetch_result: fetched, web_fetch_tool_result_error: vendorsOwn }),
      }),
      read: true,
    },
    ...f.each(vendorsOwn, "bash_code_execution_tool_result", "text_editor_code_execution_tool_result"),
    ...f.each(vendorsOwn, "tool_search_tool_result", "mcp_tool_use", "mcp_tool_result"),
    container_upload: f.refused(CONTAINERS),
    compaction: f.refused(COMPACTION),
  }),
  clear_at: f.setting,
  // For a system turn within the conversation.
  output_config: f.fields({ effort: f.setting }),
});

const format: f.FieldSpec = { ...f.fields({ type: f.setting, schema: f.json }), read: true, asJson: true };
const name = f.string(1, 200);
const edits = f.each(f.free, "clear_tool_uses_20250919", "clear_thinking_20251015");

/** A body that passed the table, with the fields that we read. */
export type MessagesBody = Json & {
  readonly model: string;
  readonly models?: readonly string[] | null;
  readonly messages: readonly unknown[];
  readonly max_tokens?: number | null;
};

export const MESSAGES_FIELDS = f.compileTable(
  f.fields({
    model: f.required(name),
    models: f.list(name, 16, 1),
    messages: f.required(f.list(message, 100_000, 1)),
    system: content({ text: words }),
    max_tokens: f.whole(1, 10_000_000),
    stream: f.boolean,
    temperature: f.number(0, 1),
    top_p: f.number(0, 1),
    top_k: f.whole(0),
    stop_sequences: f.list(f.string(), 16),
    tools: { ...f.list({ ...tool, ...f.anyObject }), read: true, asJson: true },
    tool_choice: f.object({ type: f.required(f.string()), name: f.setting, disable_parallel_tool_use: f.setting }),
    thinking: f.object({ type: f.required(f.string()), budget_tokens: f.whole(1_024), display: f.setting }),
    output_config: f.object({ effort: f.setting, format }),
    metadata: { ...f.free, ...f.anyObject },
    output_format: format,
    cache_control,
    ...f.each(f.ours, "max_cost_cents", "max_tool_calls", "provider"),

    service_tier: f.refused("only the standard tier is sold", f.among("auto", "standard_only")),
    speed: f.refused("faster processing is billed apart", f.among("standard")),
    inference_geo: f.refused("a fixed region is billed apart"),
    container: f.refused(CONTAINERS),
    mcp_servers: f.refused("remote tools are billed apart", f.isEmptyList),
    compaction: f.refused(COMPACTION),
    fallbacks: f.refused(
      "fallbacks of a provider's own are billed apart; name several models in `models`",
      f.isEmptyList,
    ),
    fallback_credit_token: f.refused("credit at a provider is not ours to use"),
    billing_policy: f.refused("the provider's bill is not the caller's"),
    thread: f.refused("threads that a provider keeps belong to its own customers"),
    user_profile_id: f.refused("profiles that a provider keeps belong to its own customers"),
    workspace_id: f.refused("workspaces belong to a provider's own customers"),
    context_management: f.fields({ edits: { items: f.cases("type", edits, { otherwise: f.refused(COMPACTION) }) } }),
  }),
);
