// The allow-list of a body in the messages wire: what other wires can be told of it, and what is refused because it changes the price.
import { compilePlace, type PlaceSpec } from "../allow-list.ts";
import { json, oneOf, quoted, refused, setting, text } from "../places.ts";

/** The searches and readers of pages that the wire's vendor runs, each by its day. */
export const HOSTED_TYPES = [
  "web_search_20250305",
  "web_search_20260209",
  "web_fetch_20250910",
  "web_fetch_20260209",
  "web_fetch_20260309",
] as const;

const isEmptyList = (value: unknown) => Array.isArray(value) && value.length === 0;

const cacheControl: PlaceSpec = {
  fields: { type: setting, ttl: refused("only the five-minute cache is sold", oneOf("5m")) },
};
const KEPT_FILES = "files that a provider keeps cannot be asked for; send the data";
export const SERVER_TOOLS = "tools that a provider runs are billed apart";

const source = (media: "image" | "file", content: PlaceSpec): PlaceSpec => ({
  by: {
    field: "type",
    cases: {
      base64: { fields: { type: setting, media_type: setting, data: { media, typedBy: "media_type" } } },
      url: { fields: { type: setting, url: { media } } },
      text: { fields: { type: setting, media_type: setting, data: text } },
      content: { fields: { type: setting, content } },
      file: refused(KEPT_FILES),
    },
    otherwise: "unknown",
  },
});

/** What only its own vendor's models can have said: it goes back there, and is left out for others. */
const ofItsVendor: PlaceSpec = { free: true, read: true };

const words: PlaceSpec = {
  fields: { type: setting, text, cache_control: cacheControl, citations: { free: true } },
};
const image: PlaceSpec = {
  fields: { type: setting, source: source("image", refused(KEPT_FILES)), cache_control: cacheControl },
};

const listOf = (cases: Readonly<Record<string, PlaceSpec>>): PlaceSpec => ({
  read: true,
  items: { by: { field: "type", cases, otherwise: "unknown" } },
});

const inner = listOf({ text: words, image });

const document: PlaceSpec = {
  fields: {
    type: setting,
    source: source("file", inner),
    title: text,
    context: text,
    citations: { fields: { enabled: setting } },
    cache_control: cacheControl,
  },
};

const searchResult: PlaceSpec = {
  fields: {
    type: setting,
    title: text,
    source: text,
    content: inner,
    citations: { fields: { enabled: setting } },
    cache_control: cacheControl,
  },
};

const toolReference: PlaceSpec = { fields: { type: setting, tool_name: text, cache_control: cacheControl } };

const toolUse: PlaceSpec = {
  fields: { type: setting, id: text, name: text, input: json, cache_control: cacheControl, caller: { free: true } },
};

const toolResult: PlaceSpec = {
  fields: {
    type: setting,
    tool_use_id: text,
    content: {
      ...quoted,
      ...listOf({ text: words, image, document, search_result: searchResult, tool_reference: toolReference }),
    },
    is_error: setting,
    cache_control: cacheControl,
  },
};

const ownTool: PlaceSpec = {
  fields: {
    type: setting,
    name: text,
    description: text,
    input_schema: json,
    strict: setting,
    cache_control: cacheControl,
    defer_loading: setting,
    eager_input_streaming: setting,
    input_examples: json,
    allowed_callers: { items: setting },
  },
};

/** Its schema is the vendor's, and so are its words: only its vendor takes it. */
const vendorsTool: PlaceSpec = { read: true, free: true };

const ownTools: Readonly<Record<string, PlaceSpec>> = {
  custom: ownTool,
  bash_20241022: vendorsTool,
  bash_20250124: vendorsTool,
  text_editor_20241022: vendorsTool,
  text_editor_20250124: vendorsTool,
  text_editor_20250429: vendorsTool,
  text_editor_20250728: vendorsTool,
  computer_20241022: vendorsTool,
  computer_20250124: vendorsTool,
  computer_20251124: vendorsTool,
  memory_20250818: vendorsTool,
};

/** What the gateway runs in the vendor's place; whether it does is looked at when the tools are read. */
const hosted = Object.fromEntries(HOSTED_TYPES.map((type) => [type, { ours: true } as const]));

const tools: PlaceSpec = {
  read: true,
  asJson: true,
  items: {
    by: {
      field: "type",
      cases: { ...ownTools, ...hosted, action: { ours: true } },
      missing: ownTool,
      otherwise: refused(SERVER_TOOLS),
    },
  },
};

/** A tool that comes or goes in the middle of a conversation: one that was declared, or one that may be. */
const movedTool: PlaceSpec = {
  read: true,
  asJson: true,
  by: {
    field: "type",
    cases: { ...ownTools, tool_reference: { fields: { type: setting, name: text } } },
    missing: ownTool,
    otherwise: refused(SERVER_TOOLS),
  },
};

/** The page that it found is a document like any other, and counts as one. */
const webFetchResult: PlaceSpec = {
  read: true,
  fields: {
    type: setting,
    tool_use_id: text,
    caller: { free: true },
    cache_control: cacheControl,
    content: {
      by: {
        field: "type",
        cases: {
          web_fetch_result: {
            fields: {
              type: setting,
              url: text,
              retrieved_at: text,
              content: { by: { field: "type", cases: { document }, otherwise: "unknown" } },
            },
          },
          web_fetch_tool_result_error: ofItsVendor,
        },
        otherwise: "unknown",
      },
    },
  },
};

const content = listOf({
  text: words,
  image,
  document,
  search_result: searchResult,
  tool_use: toolUse,
  tool_result: toolResult,
  thinking: { fields: { type: setting, thinking: text, signature: text } },
  redacted_thinking: { fields: { type: setting, data: text } },
  tool_reference: toolReference,
  tool_addition: { fields: { type: setting, tool: movedTool, cache_control: cacheControl } },
  tool_removal: { fields: { type: setting, tool: movedTool, cache_control: cacheControl } },
  server_tool_use: ofItsVendor,
  web_search_tool_result: ofItsVendor,
  web_fetch_tool_result: webFetchResult,
  code_execution_tool_result: ofItsVendor,
  bash_code_execution_tool_result: ofItsVendor,
  text_editor_code_execution_tool_result: ofItsVendor,
  tool_search_tool_result: ofItsVendor,
  mcp_tool_use: ofItsVendor,
  mcp_tool_result: ofItsVendor,
  container_upload: refused("containers are billed apart"),
  compaction: refused("compaction is billed apart"),
});

const message: PlaceSpec = {
  fields: {
    role: setting,
    content,
    clear_at: setting,
    // Of a turn of the system's within the conversation.
    output_config: { fields: { effort: setting } },
  },
};

const body: PlaceSpec = {
  fields: {
    model: setting,
    max_tokens: setting,
    messages: { items: message },
    system: listOf({ text: words }),
    stream: setting,
    temperature: setting,
    top_p: setting,
    top_k: setting,
    stop_sequences: { items: setting },
    tools,
    tool_choice: { fields: { type: setting, name: setting, disable_parallel_tool_use: setting } },
    thinking: { fields: { type: setting, budget_tokens: setting, display: setting } },
    output_config: {
      fields: { effort: setting, format: { read: true, asJson: true, fields: { type: setting, schema: json } } },
    },
    output_format: { read: true, asJson: true, fields: { type: setting, schema: json } },
    metadata: { free: true },
    cache_control: cacheControl,
    max_cost_cents: { ours: true },
    max_tool_calls: { ours: true },
    provider: { ours: true },
    models: { items: setting },

    service_tier: refused("only the standard tier is sold", oneOf("auto", "standard_only")),
    speed: refused("faster processing is billed apart", oneOf("standard")),
    inference_geo: refused("a fixed region is billed apart"),
    container: refused("containers are billed apart"),
    mcp_servers: refused("remote tools are billed apart", isEmptyList),
    compaction: refused("compaction is billed apart"),
    fallbacks: refused("fallbacks of a provider's own are billed apart; name several models in `models`", isEmptyList),
    fallback_credit_token: refused("credit at a provider is not ours to use"),
    billing_policy: refused("the provider's bill is not the caller's"),
    thread: refused("threads that a provider keeps belong to its own customers"),
    user_profile_id: refused("profiles that a provider keeps belong to its own customers"),
    workspace_id: refused("workspaces belong to a provider's own customers"),
    context_management: {
      fields: {
        edits: {
          items: {
            by: {
              field: "type",
              cases: { clear_tool_uses_20250919: { free: true }, clear_thinking_20251015: { free: true } },
              otherwise: refused("compaction is billed apart"),
            },
          },
        },
      },
    },
  },
};

/** The whole of what a body in the messages wire may hold, to be told in another. */
export const MESSAGES_FIELDS = compilePlace(body);
