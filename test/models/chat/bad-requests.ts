// Requests with one error each, and the expected answers: the tables for the tests of bad input.

export interface BadRequest {
  readonly what: string;
  /** Overrides of a valid request; an object `body` is sent as JSON, text or bytes as they are. */
  readonly body?: Record<string, unknown> | string | Buffer;
  readonly headers?: Record<string, string>;
  readonly method?: string;
  readonly path?: string;
  readonly status: number;
  readonly code: string;
  readonly param: string | null;
}

export const CHAT = "/api/llm/v1/chat/completions";
export const RESPONSES = "/api/llm/v1/responses";
export const MESSAGES = "/api/llm/v1/messages";
/** The endpoints for models, with a valid request in each wire. */
export const WIRES = [
  [CHAT, { model: "sandbox/ok", messages: [{ role: "user", content: "hello" }] }],
  [RESPONSES, { model: "sandbox/ok", input: "hello" }],
  [MESSAGES, { model: "sandbox/ok", max_tokens: 100, messages: [{ role: "user", content: "hello" }] }],
] as const;
export const USER = { role: "user", content: "hello" };
export const GOOD = { model: "sandbox/ok", messages: [USER] };

function bad(what: string, fields: Record<string, unknown>, param: string | null): BadRequest {
  return { what, body: { ...GOOD, ...fields }, status: 400, code: "bad_request", param };
}

function notJson(what: string, body: string | Buffer): BadRequest {
  return { what, body, status: 400, code: "bad_request", param: null };
}

function priced(what: string, fields: Record<string, unknown>, param: string): BadRequest {
  return { what, body: { ...GOOD, ...fields }, status: 400, code: "unsupported_field", param };
}

const nested = (depth: number): string => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
const part = (fields: Record<string, unknown>) => ({ messages: [{ role: "user", content: [fields] }] });
const hourly = { cache_control: { type: "ephemeral", ttl: "1h" } };
const weather = { type: "function", function: { name: "weather" } };

export const NOT_JSON: readonly BadRequest[] = [
  notJson("an empty body", ""),
  notJson("white space", " \r\n\t "),
  notJson("half an object", '{"model": "sandbox/ok", "messages": ['),
  notJson("single quotes", "{'model': 'sandbox/ok'}"),
  notJson("a comma at the end", '{"model": "sandbox/ok",}'),
  notJson("two objects", "{}{}"),
  notJson("NaN", '{"model": NaN}'),
  notJson("a form", "model=sandbox%2Fok"),
  notJson("a line break in a string", '{"model": "a\nb"}'),
  notJson("a byte order mark", `\uFEFF${JSON.stringify(GOOD)}`),
  notJson("bytes that are no UTF-8", Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d])),
  notJson("UTF-16", Buffer.from(JSON.stringify(GOOD), "utf16le")),
  notJson("a zero byte", "\0"),
  notJson("null", "null"),
  notJson("a number", "17"),
  notJson("a string", '"sandbox/ok"'),
  notJson("an array", JSON.stringify([GOOD])),
  notJson("10,000 levels", `{"model":"sandbox/ok","messages":[],"x":${nested(10_000)}}`),
  notJson("1,000,000 open brackets", "[".repeat(1_000_000)),
  notJson("1,000,000 small objects", `[${"{},".repeat(1_000_000)}{}]`),
];

const WRONG_TYPES: readonly [param: string, value: unknown][] = [
  ["model", 7],
  ["model", ["sandbox/ok"]],
  ["model", "x".repeat(201)],
  ["model", ""],
  ["messages", "hello"],
  ["messages", { 0: USER }],
  ["messages", []],
  ["messages", null],
  ["stream", "true"],
  ["stream", 1],
  ["stream_options", "include_usage"],
  ["max_tokens", 0],
  ["max_tokens", -1],
  ["max_tokens", 1.5],
  ["max_tokens", "100"],
  ["max_tokens", 1e308],
  ["max_tokens", 10_000_001],
  ["max_completion_tokens", 0],
  ["max_completion_tokens", []],
  ["n", 0],
  ["n", 9],
  ["n", 1.5],
  ["n", "2"],
  ["temperature", -0.1],
  ["temperature", 2.1],
  ["temperature", "hot"],
  ["top_p", 1.1],
  ["top_p", -1],
  ["frequency_penalty", 2.5],
  ["presence_penalty", -2.5],
  ["seed", 1.5],
  ["seed", "a"],
  ["stop", 5],
  ["stop", Array(17).fill("x")],
  ["tools", "none"],
  ["tools", { ...weather }],
  ["tool_choice", 3],
  ["parallel_tool_calls", "yes"],
  ["response_format", "json"],
  ["user", 12],
  ["logprobs", "yes"],
  ["models", "sandbox/ok"],
  ["models", []],
  ["models", Array(17).fill("sandbox/ok")],
];

/** A wrong nested value, and the path of the field. */
const WRONG_INSIDE: readonly [what: string, fields: Record<string, unknown>, param: string][] = [
  ["a message that is text", { messages: ["hello"] }, "messages.0"],
  ["a message of null", { messages: [USER, null] }, "messages.1"],
  ["a message without a role", { messages: [{ content: "hello" }] }, "messages.0.role"],
  ["an unknown role", { messages: [USER, { role: "boss", content: "x" }] }, "messages.1.role"],
  ["content that is a number", { messages: [{ role: "user", content: 7 }] }, "messages.0.content"],
  ["content that is an object", { messages: [{ role: "user", content: { text: "x" } }] }, "messages.0.content"],
  ["a name that is a number", { messages: [{ ...USER, name: 7 }] }, "messages.0.name"],
  ["tool_calls that are an object", { messages: [{ ...USER, tool_calls: {} }] }, "messages.0.tool_calls"],
  [
    "a tool call without a name",
    { messages: [{ role: "assistant", tool_calls: [{ id: "1", type: "function", function: {} }] }] },
    "messages.0.tool_calls.0.function.name",
  ],
  [
    "include_usage that is text",
    { stream: true, stream_options: { include_usage: "yes" } },
    "stream_options.include_usage",
  ],
  ["a stop that is a number", { stop: ["x", 1] }, "stop.1"],
  ["a tool that is text", { tools: ["weather"] }, "tools.0"],
  ["a tool without a type", { tools: [{ function: { name: "weather" } }] }, "tools.0.type"],
  ["a function without a name", { tools: [{ type: "function", function: {} }] }, "tools.0.function.name"],
  ["a format without a type", { response_format: {} }, "response_format.type"],
  ["a model in the list that is empty", { models: ["sandbox/ok", ""] }, "models.1"],
  ["an hour of cache for a message", { messages: [{ ...USER, ...hourly }] }, "messages.0.cache_control.ttl"],
  ["an hour of cache for a tool", { tools: [{ ...weather, ...hourly }] }, "tools.0.cache_control.ttl"],
  ["an hour of cache for all", hourly, "cache_control.ttl"],
];

export const BAD_FIELDS: readonly BadRequest[] = [
  ...WRONG_TYPES.map(([param, value]) =>
    bad(`${param} ${JSON.stringify(value).slice(0, 30)}`, { [param]: value }, param),
  ),
  ...WRONG_INSIDE.map(([what, fields, param]) => bad(what, fields, param)),
  bad("a part without a type", part({ text: "x" }), "messages.0.content.0.type"),
  bad("a part that is text", { messages: [{ role: "user", content: ["hello"] }] }, "messages.0.content.0"),
  bad("an image without a url", part({ type: "image_url", image_url: {} }), "messages.0.content.0.image_url.url"),
  bad(
    "an hour of cache for a part",
    part({ type: "text", text: "x", ...hourly }),
    "messages.0.content.0.cache_control.ttl",
  ),
  bad("an unknown part", part({ type: "hologram", hologram: {} }), "messages"),
  bad("a part named like what every object has", part({ type: "constructor", text: "x" }), "messages"),
  bad("no model", { model: undefined }, "model"),
  bad("a model of null", { model: null }, "model"),
];

function embeddings(what: string, fields: Record<string, unknown>, param: string | null): BadRequest {
  const body = { model: "sandbox/ok", input: "hello", ...fields };
  return { what, path: "/api/llm/v1/embeddings", body, status: 400, code: "bad_request", param };
}

export const BAD_EMBEDDINGS: readonly BadRequest[] = [
  embeddings("no input", { input: undefined }, "input"),
  embeddings("an empty input", { input: "" }, "input"),
  embeddings("an empty list", { input: [] }, "input"),
  embeddings("an empty text in a list", { input: ["a", ""] }, "input.1"),
  embeddings("a token that is no whole number", { input: [1, 1.5] }, "input.1"),
  embeddings("too many texts", { input: Array(2_049).fill("a") }, "input"),
  embeddings("an unknown format", { encoding_format: "hex" }, "encoding_format"),
  embeddings("no dimensions", { dimensions: 0 }, "dimensions"),
  embeddings("no model", { model: undefined }, "model"),
];

const item = (fields: Record<string, unknown>) => ({ input: [fields] });
const inputPart = (fields: Record<string, unknown>) => item({ role: "user", content: [fields] });

/** In the responses wire. */
export const BAD_RESPONSES: readonly BadRequest[] = (
  [
    ...(["model", "stream", "tools", "models", "temperature", "top_p", "user"] as const).map(
      (field) => [`${field} of another kind`, { [field]: { a: 1 } }, field] as const,
    ),
    ["no input", { input: undefined }, "input"],
    ["an input of null", { input: null }, "input"],
    ["an empty list", { input: [] }, "input"],
    ["an input that is an object", { input: { role: "user" } }, "input"],
    ["an item that is text", { input: ["hello"] }, "input.0"],
    ["an item of null", { input: [null] }, "input.0"],
    ["an item without a type", item({ content: "x" }), "input.0.type"],
    ["an unknown role", item({ role: "boss", content: "x" }), "input.0.role"],
    ["an unknown item", item({ type: "hologram" }), "input"],
    ["an item named like what every object has", item({ type: "constructor" }), "input"],
    ["an unknown part", inputPart({ type: "hologram" }), "input"],
    ["a part without a type", inputPart({ text: "x" }), "input.0.content.0.type"],
    ["a name that is a number", item({ type: "function_call", name: 7 }), "input.0.name"],
    ["no output tokens", { max_output_tokens: 0 }, "max_output_tokens"],
    ["fewer than the wire knows", { max_output_tokens: 15 }, "max_output_tokens"],
    ["a tool that is text", { tools: ["weather"] }, "tools.0"],
    ["a tool without a type", { tools: [{ name: "weather" }] }, "tools.0.type"],
    ["a format without a type", { text: { format: {} } }, "text.format.type"],
    ["a choice that is a number", { tool_choice: 3 }, "tool_choice"],
    ["an unknown truncation", { truncation: "middle" }, "truncation"],
    ["store that is text", { store: "yes" }, "store"],
    ["an include that is text", { include: "reasoning.encrypted_content" }, "include"],
    ["more metadata than there can be", { metadata: Object.fromEntries(Array(17).fill("x").entries()) }, "metadata"],
    ["a summary of somebody's", item({ type: "compaction", encrypted_content: "x" }), "input.0.encrypted_content"],
    ["no model", { model: undefined }, "model"],
  ] as const
).map(([what, fields, param]) => ({
  what,
  path: RESPONSES,
  body: { model: "sandbox/ok", input: "hello", ...fields },
  status: 400,
  code: "bad_request",
  param,
}));

const blocks = (...content: unknown[]) => ({ messages: [{ role: "user", content }] });
const said = (fields: Record<string, unknown>) => blocks({ type: "text", text: "x", ...fields });

/** In the messages wire: the field, and the code where the value is not wrong but not sold. */
export const BAD_MESSAGES: readonly BadRequest[] = (
  [
    ...(["model", "stream", "tools", "models", "messages", "system", "temperature", "thinking"] as const).map(
      (field) => [`${field} of another kind`, { [field]: 7 }, field] as const,
    ),
    ["no messages", { messages: undefined }, "messages"],
    ["an empty list", { messages: [] }, "messages"],
    ["a message that is text", { messages: ["hello"] }, "messages.0"],
    ["a message of null", { messages: [USER, null] }, "messages.1"],
    ["a message without a role", { messages: [{ content: "hello" }] }, "messages.0.role"],
    ["an unknown role", { messages: [USER, { role: "boss", content: "x" }] }, "messages.1.role"],
    ["content that is a number", { messages: [{ role: "user", content: 7 }] }, "messages.0.content"],
    ["content that is an object", { messages: [{ role: "user", content: { text: "x" } }] }, "messages.0.content"],
    ["a block that is text", blocks("hello"), "messages.0.content.0"],
    ["a block without a type", blocks({ text: "x" }), "messages.0.content.0.type"],
    ["an unknown block", blocks({ type: "hologram" }), "messages"],
    ["a block named like what every object has", blocks({ type: "constructor" }), "messages"],
    ["no tokens", { max_tokens: 0 }, "max_tokens"],
    ["half a token", { max_tokens: 1.5 }, "max_tokens"],
    ["tokens as text", { max_tokens: "100" }, "max_tokens"],
    ["a temperature of other wires", { temperature: 1.5 }, "temperature"],
    ["a stop that is a number", { stop_sequences: [1] }, "stop_sequences.0"],
    ["a tool that is text", { tools: ["weather"] }, "tools.0"],
    ["a name that is a number", { tools: [{ name: 7 }] }, "tools.0.name"],
    ["a choice that is text", { tool_choice: "auto" }, "tool_choice"],
    ["too little to think with", { thinking: { type: "enabled", budget_tokens: 1 } }, "thinking.budget_tokens"],
    ["no model", { model: undefined }, "model"],
    ["an hour of cache for a block", said(hourly), "messages.0.content.0.cache_control.ttl", "unsupported_field"],
    ["an hour of cache for all", hourly, "cache_control.ttl", "unsupported_field"],
    [
      "code that a provider runs",
      { tools: [{ type: "code_execution_20250825" }] },
      "tools.0.type",
      "unsupported_field",
    ],
    ["a faster answer", { speed: "fast" }, "speed", "unsupported_field"],
    ["a container", { container: "c1" }, "container", "unsupported_field"],
    ["the dearer tier", { service_tier: "priority" }, "service_tier", "unsupported_field"],
  ] as const
).map(([what, fields, param, code = "bad_request"]) => ({
  what,
  path: MESSAGES,
  body: { model: "sandbox/ok", max_tokens: 100, messages: [USER], ...fields },
  status: 400,
  code,
  param,
}));

export const BAD_MODELS: readonly BadRequest[] = [
  ["an unknown model", { model: "acme/none" }, "model"],
  ["an unknown maker", { model: "nobody/gpt-4o" }, "model"],
  ["a slip in a tier", { model: "core/cheep" }, "model"],
  ["an empty tier", { model: "core/" }, "model"],
  ["a name that every object has", { model: "__proto__" }, "model"],
  ["a name that every object has as a maker", { model: "constructor/x" }, "model"],
  ["an unknown model after a good one", { models: ["sandbox/ok", "acme/none"] }, "models.1"],
  ["a model with a line break", { model: "sandbox/ok\r\nx-evil: 1" }, "model"],
].map(([what, fields, param]) => ({
  what: String(what),
  body: { ...GOOD, ...(fields as Record<string, unknown>) },
  status: 404,
  code: "model_not_found",
  param: String(param),
}));

export const PRICED: readonly BadRequest[] = [
  ...Object.entries({
    service_tier: "priority",
    plugins: [{ id: "file-parser" }],
    web_search_options: {},
    search_parameters: { mode: "on" },
    web_search: true,
    modalities: ["text", "audio"],
    audio: { voice: "alloy", format: "wav" },
    preset: "fast",
    speed: "fast",
    inference_geo: "eu",
    mcp_servers: [],
    container: "c1",
    compound_custom: {},
    prediction: { type: "content", content: "x" },
  }).map(([field, value]) => priced(field, { [field]: value }, field)),
  priced("a tool that is no function", { tools: [weather, { type: "web_search" }] }, "tools.1.type"),
  priced("a suffix", { model: "sandbox/ok", models: ["openai/gpt-5.4-mini:floor"] }, "models.0"),
];

/** Fields whose value changes nothing, and null for optional fields. */
export const NEUTRAL: readonly Record<string, unknown>[] = [
  { service_tier: "auto" },
  { service_tier: "default" },
  { modalities: ["text"] },
  { speed: "standard" },
  { plugins: null, web_search_options: null, prediction: null, provider: null, audio: null, service_tier: null },
  { temperature: null, top_p: null, n: null, stop: null, seed: null, tools: null, user: null, max_tokens: null },
  { ...part({ type: "text", text: "x", cache_control: { type: "ephemeral", ttl: "5m" } }) },
  { cache_control: { type: "ephemeral" } },
  { stop: "zzz" },
  { stop: ["zzz"] },
  { n: 1, temperature: 0, top_p: 1, frequency_penalty: 2, presence_penalty: -2, max_tokens: 1 },
  { messages: [{ role: "user", content: "line\u2028break \ud800 half a pair" }] },
];

export const AT_THE_EDGE: readonly BadRequest[] = [
  { what: "a compressed body", headers: { "content-encoding": "gzip" }, status: 415, code: "unsupported_media" },
  { what: "plain text", headers: { "content-type": "text/plain" }, status: 415, code: "unsupported_media" },
  {
    what: "a form",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: "model=x",
    status: 415,
    code: "unsupported_media",
  },
  { what: "GET on chat", method: "GET", status: 405, code: "method_not_allowed" },
  { what: "DELETE on chat", method: "DELETE", status: 405, code: "method_not_allowed" },
  { what: "an unknown path", path: "/api/llm/v1/nothing", status: 404, code: "not_found" },
  { what: "a slash too much", path: `${CHAT}/`, status: 404, code: "not_found" },
].map((row) => ({ ...row, param: null }));

export const BAD_KEYS: readonly BadRequest[] = [
  ["no key", ""],
  ["a key without Bearer", "tg_sk_test_x"],
  ["Basic", "Basic dGc6c2s="],
  ["an empty Bearer", "Bearer "],
  ["two keys", "Bearer a b"],
  ["another gateway's key", "Bearer sk-proj-abc"],
  ["a key that was never made", `Bearer tg_sk_test_${"a".repeat(43)}`],
].map(([what, authorization]) => ({
  what: String(what),
  headers: { authorization: String(authorization) },
  status: 401,
  code: "invalid_token",
  param: null,
}));

export const BAD_IDEMPOTENCY: readonly BadRequest[] = [
  {
    what: "an Idempotency-Key with a stream",
    headers: { "idempotency-key": "order-1" },
    body: { ...GOOD, stream: true },
    status: 400,
    code: "bad_request",
    param: "Idempotency-Key",
  },
  ...[
    ["of 256 characters", "k".repeat(256)],
    ["with a space", "order 1"],
    ["of quotes alone", '""'],
  ].map(([what, key]) => ({
    what: `an Idempotency-Key ${what}`,
    headers: { "idempotency-key": String(key) },
    status: 400,
    code: "bad_request",
    param: "Idempotency-Key",
  })),
];
