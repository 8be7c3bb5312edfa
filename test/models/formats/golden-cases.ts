// What vendors of every dialect answer, and what callers ask of them: the cases whose bytes are kept in test/fixtures/golden.
import { readdirSync } from "node:fs";
import { fixture } from "../../support/dialect-replay.ts";

export type DialectName = "chat-completions" | "responses" | "messages" | "generate-content";

export interface AnswerCase {
  readonly name: string;
  readonly dialect: DialectName;
  readonly streamed: boolean;
  /** What the vendor sends. */
  readonly vendor: string;
  /** What the caller asks for beside the messages. */
  readonly asked?: Readonly<Record<string, unknown>>;
}

const sse = (...events: unknown[]) =>
  events.map((event) => `data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`).join("");
const chunk = (delta: unknown, finish_reason: string | null = null, more: object = {}) => ({
  id: "up-1",
  object: "chat.completion.chunk",
  created: 5,
  model: "their-model",
  system_fingerprint: "fp_1",
  choices: [{ index: 0, delta, logprobs: null, finish_reason }],
  ...more,
});
const second = (delta: unknown, finish_reason: string | null = null) => ({
  id: "up-1",
  object: "chat.completion.chunk",
  choices: [{ index: 1, delta, finish_reason }],
});
const usage = {
  prompt_tokens: 70,
  completion_tokens: 20,
  total_tokens: 90,
  prompt_tokens_details: { cached_tokens: 30 },
  completion_tokens_details: { reasoning_tokens: 5 },
};
const call = (index: number, fields: object) => ({ tool_calls: [{ index, ...fields }] });
const SIGNED = { type: "reasoning.text", text: "Hm.", signature: "sig==", format: "anthropic-claude-v1", index: 0 };

const CHAT_STREAMS: Readonly<Record<string, string>> = {
  text: sse(
    chunk({ role: "assistant", content: "" }),
    chunk({ content: "Good day, 世界 " }),
    chunk({ content: '"and" all\n' }),
    chunk({ content: " \u2028 ok" }),
    chunk({}, "stop"),
    { id: "up-1", choices: [], usage },
    "[DONE]",
  ),
  "reasoning and calls": sse(
    chunk({ role: "assistant", content: null, reasoning: "Let me " }),
    chunk({ reasoning: "think" }),
    chunk({ reasoning_details: [SIGNED] }),
    chunk({ content: "So." }),
    chunk(call(0, { id: "call_a", type: "function", function: { name: "weather", arguments: "" } })),
    chunk(call(0, { function: { arguments: '{"city":' } })),
    chunk(call(0, { function: { arguments: '"Paris"}' } })),
    chunk(call(1, { id: "call_b", type: "function", function: { name: "clock", arguments: "{}" } })),
    chunk({}, "tool_calls", { usage, x_groq: { id: "r" } }),
    "[DONE]",
  ),
  reasoning_content: sse(
    chunk({ role: "assistant", reasoning_content: "Think" }),
    chunk({ reasoning_content: "ing" }),
    chunk({ content: "Done", obfuscation: "x" }, null, { obfuscation: "abc" }),
    chunk({}, "stop", { usage }),
    "[DONE]",
  ),
  "two choices, of which one goes on": sse(
    chunk({ content: "a" }),
    second({ content: "b" }),
    chunk({}, "stop"),
    second({ content: "c" }),
    second({}, "length"),
    { choices: [], usage },
    "[DONE]",
  ),
  refusal: sse(chunk({ role: "assistant", refusal: "" }), chunk({ refusal: "I cannot" }), chunk({}, "stop"), "[DONE]"),
  image: sse(
    chunk({ content: "", images: [{ type: "image_url", index: 0, image_url: { url: "data:image/png;base64,AA==" } }] }),
    chunk({}, "stop", { usage }),
    "[DONE]",
  ),
  "broken events among good ones": sse(
    chunk({ content: "a" }),
    '{"choices":',
    "5",
    chunk({ content: "b" }, "stop"),
    "[DONE]",
  ),
  "cut after content": sse(chunk({ content: "a" })),
  "error after content": sse(chunk({ content: "a" }), { error: { message: "Overloaded", code: 503 } }),
  "error before content": sse({ error: { message: "bad prompt", type: "invalid_request_error", code: 400 } }),
  empty: sse(chunk({ role: "assistant", content: "" }), chunk({}, "stop"), "[DONE]"),
  "only a length": sse(chunk({ role: "assistant", content: "" }), chunk({}, "length"), "[DONE]"),
};

const message = (fields: object, finish_reason = "stop") => ({
  id: "up-1",
  object: "chat.completion",
  created: 5,
  model: "their-model",
  choices: [{ index: 0, message: { role: "assistant", ...fields }, logprobs: null, finish_reason }],
  usage,
});
const block = (fields: object, stop_reason = "end_turn") => ({
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "their-model",
  content: [fields].flat(),
  stop_reason,
  stop_sequence: null,
  usage: { input_tokens: 40, cache_read_input_tokens: 20, cache_creation_input_tokens: 10, output_tokens: 9 },
});
const candidate = (parts: unknown[], finishReason = "STOP") => ({
  candidates: [{ content: { role: "model", parts }, finishReason, index: 0 }],
  usageMetadata: { promptTokenCount: 30, candidatesTokenCount: 7, thoughtsTokenCount: 3, cachedContentTokenCount: 4 },
});
const said = (text: string) => ({
  type: "message",
  role: "assistant",
  content: [{ type: "output_text", text, annotations: [] }],
});
const thought = (text?: string) => ({
  type: "reasoning",
  id: "rs_1",
  summary: text === undefined ? [] : [{ type: "summary_text", text }],
  encrypted_content: "gAAA==",
});
const response = (output: unknown[], more: object = {}) => ({
  id: "resp_1",
  object: "response",
  status: "completed",
  error: null,
  incomplete_details: null,
  output,
  usage: {
    input_tokens: 30,
    input_tokens_details: { cached_tokens: 4, cache_write_tokens: 2 },
    output_tokens: 10,
    output_tokens_details: { reasoning_tokens: 3 },
  },
  ...more,
});
const TOOLS = [{ name: "weather", arguments: '{"city":"Paris"}' }].map((told) => ({
  id: "call_a",
  type: "function",
  function: told,
}));

const WHOLE: Readonly<Record<DialectName, Readonly<Record<string, unknown>>>> = {
  "chat-completions": {
    text: message({ content: 'Good day, 世界 "and" all\n', refusal: null }),
    "calls and reasoning": message(
      { content: null, reasoning: "Hm.", reasoning_details: [SIGNED], tool_calls: TOOLS },
      "tool_calls",
    ),
    "no usage": { ...message({ content: "four words are here" }), usage: undefined, x_groq: { id: "r" } },
    error: { error: { message: "no", code: 400 } },
    empty: message({ content: "" }),
    none: { choices: [] },
  },
  messages: {
    text: block({ type: "text", text: 'Good day, 世界 "and" all\n' }),
    "thoughts, text and calls": block(
      [
        { type: "thinking", thinking: "Hm.", signature: "sig==" },
        { type: "redacted_thinking", data: "sealed==" },
        { type: "text", text: "So: " },
        { type: "text", text: "look." },
        { type: "tool_use", id: "toolu_1", name: "weather", input: { city: "Paris" } },
        { type: "tool_use", id: "toolu_2", name: "clock", input: {} },
      ],
      "tool_use",
    ),
    "a call alone": block({ type: "tool_use", id: "toolu_1", name: "weather", input: { city: "Paris" } }, "tool_use"),
    length: block({ type: "text", text: "Once" }, "max_tokens"),
    refusal: block([], "refusal"),
    empty: block([]),
    error: { type: "error", error: { type: "overloaded_error", message: "Overloaded" } },
  },
  "generate-content": {
    text: candidate([{ text: "Hm.", thought: true }, { text: "Yes", thoughtSignature: "s==" }, { text: "." }]),
    calls: candidate([
      { functionCall: { name: "weather", args: { city: "Paris" }, id: "fc1" }, thoughtSignature: "s==" },
      { functionCall: { name: "clock" } },
    ]),
    image: candidate([{ text: "Here" }, { inlineData: { mimeType: "image/png", data: "AA==" } }]),
    "two candidates": {
      candidates: [
        { content: { parts: [{ text: "A" }] }, finishReason: "STOP" },
        { content: { parts: [{ text: "B" }] }, finishReason: "MAX_TOKENS", index: 1 },
      ],
    },
    blocked: { promptFeedback: { blockReason: "SAFETY" } },
    empty: candidate([]),
    malformed: candidate([{ text: "half" }], "MALFORMED_FUNCTION_CALL"),
  },
  responses: {
    text: response([said("Yes"), said(".")]),
    thoughts: response([thought("Hm."), said("Yes.")]),
    calls: response([
      thought(),
      { type: "function_call", id: "fc_1", call_id: "call_a", name: "weather", arguments: '{"city":"Paris"}' },
      { type: "function_call", id: "fc_2", call_id: "call_b", name: "clock", arguments: "{}" },
    ]),
    length: response([said("Once")], { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } }),
    "nothing but thoughts": response([thought()], {
      status: "incomplete",
      incomplete_details: { reason: "max_output_tokens" },
    }),
    filtered: response([], { status: "incomplete", incomplete_details: { reason: "content_filter" } }),
    refusal: response([{ type: "message", role: "assistant", content: [{ type: "refusal", refusal: "No." }] }]),
    "of a tool that is not known": response([{ type: "web_search_call", id: "ws_1" }, said("Found.")]),
    empty: response([]),
    failed: response([], { status: "failed", error: { code: "server_error", message: "The model failed." } }),
    unfinished: response([said("Hal")], { status: "in_progress" }),
  },
};

function recorded(dialect: Exclude<DialectName, "chat-completions">): AnswerCase[] {
  const files = readdirSync(new URL(`../../fixtures/${dialect}`, import.meta.url)).sort();
  return files.map((file) => ({ name: file, dialect, streamed: true, vendor: fixture(`${dialect}/${file}`) }));
}

export const ANSWERS: readonly AnswerCase[] = [
  ...Object.entries(CHAT_STREAMS).map(([name, vendor]): AnswerCase => {
    return { name, dialect: "chat-completions", streamed: true, vendor };
  }),
  ...recorded("responses"),
  ...recorded("messages"),
  ...recorded("generate-content"),
  ...Object.entries(WHOLE).flatMap(([dialect, cases]) =>
    Object.entries(cases).map(([name, json]): AnswerCase => {
      return { name, dialect: dialect as DialectName, streamed: false, vendor: JSON.stringify(json) };
    }),
  ),
];

const HI = { role: "user", content: "Hi" };
const SCHEMA = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
};
const tool = (name: string, more: object = {}) => ({
  type: "function",
  function: { name, description: `Tells the ${name}.`, parameters: SCHEMA, ...more },
});
const CALLED = { role: "assistant", content: "Wait.", tool_calls: TOOLS };
const EPHEMERAL = { cache_control: { type: "ephemeral" } };

/** Bodies of requests; every one goes to a vendor of every dialect, and what it is asked there is kept, or why it is not. */
export const ASKED: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  plain: { messages: [HI] },
  "system, developer, prefill": {
    messages: [
      { role: "system", content: "Be brief." },
      HI,
      { role: "developer", content: [{ type: "text", text: "Be kind.", ...EPHEMERAL }] },
      { role: "assistant", content: "The answer is " },
    ],
  },
  "nothing but a system": { messages: [{ role: "system", content: "A poem." }] },
  "begins with the assistant": { messages: [{ role: "assistant", content: "Hello!" }, HI] },
  sampling: {
    messages: [HI],
    temperature: 1.4,
    top_p: 0.9,
    top_k: 40,
    presence_penalty: 0.1,
    frequency_penalty: 0.2,
    seed: 7,
    stop: ["END", "\n\nHuman:"],
    user: "u-1",
  },
  "top_p alone, metadata": { messages: [HI], top_p: 0.5, metadata: { user_id: "m-1", topic: "x" }, max_tokens: 50 },
  "a stop of white space": { messages: [HI], stop: "\n\n" },
  "several choices": { messages: [HI], n: 2 },
  media: {
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "Look" },
          { type: "image_url", image_url: { url: "data:image/png;base64,AA==", detail: "low" }, ...EPHEMERAL },
          { type: "image_url", image_url: { url: "https://example.com/a.png" } },
          { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,UERG" } },
        ],
      },
    ],
  },
  audio: {
    messages: [{ role: "user", content: [{ type: "input_audio", input_audio: { data: "UklG", format: "wav" } }] }],
  },
  "an image that nobody can open": {
    messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: "ftp://example.com/a.png" } }] }],
  },
  "an image in a system message": {
    messages: [
      { role: "system", content: [{ type: "image_url", image_url: { url: "https://example.com/a.png" } }] },
      HI,
    ],
  },
  "a file by its id": { messages: [{ role: "user", content: [{ type: "file", file: { file_id: "file-1" } }] }] },
  tools: { messages: [HI], tools: [tool("weather", { strict: true }), { ...tool("clock"), ...EPHEMERAL }] },
  "no tools at all": { messages: [HI], tools: [], tool_choice: "auto" },
  "a forced tool": {
    messages: [HI],
    tools: [tool("weather")],
    tool_choice: { type: "function", function: { name: "weather" } },
  },
  "any tool": { messages: [HI], tools: [tool("weather")], tool_choice: "required" },
  "one tool at a time": { messages: [HI], tools: [tool("weather")], parallel_tool_calls: false },
  "allowed tools": {
    messages: [HI],
    tools: [tool("weather"), tool("clock")],
    tool_choice: {
      type: "allowed_tools",
      allowed_tools: { mode: "required", tools: [{ type: "function", function: { name: "clock" } }] },
    },
  },
  "calls and results": {
    messages: [
      HI,
      {
        ...CALLED,
        tool_calls: [...TOOLS, { id: "b.2", type: "function", function: { name: "clock", arguments: '{"x' } }],
      },
      { role: "tool", tool_call_id: "call_a", content: '{"sky":"blue"}' },
      { role: "tool", tool_call_id: "b.2", content: [{ type: "text", text: "noon" }], ...EPHEMERAL },
      { role: "user", content: "So?", name: "ann" },
    ],
    tools: [tool("weather"), tool("clock")],
  },
  "thoughts there and back": {
    messages: [
      HI,
      {
        ...CALLED,
        reasoning: "Two and two.",
        reasoning_details: [
          { type: "reasoning.text", text: "Two and ", format: "messages", index: 0 },
          { type: "reasoning.text", text: "two.", format: "messages", index: 0 },
          { type: "reasoning.text", signature: "sig==", format: "messages", index: 0 },
          { type: "reasoning.encrypted", data: "sealed==", format: "messages", index: 1 },
          { type: "reasoning.encrypted", data: "of-the-call", id: "call_a", format: "generate-content", index: 0 },
          { type: "reasoning.encrypted", data: "of-the-text", id: null, format: "generate-content", index: 1 },
        ],
      },
      { role: "tool", tool_call_id: "call_a", content: "fine" },
    ],
    tools: [tool("weather")],
    reasoning_effort: "high",
  },
  "a JSON object": { messages: [HI], response_format: { type: "json_object" } },
  "a JSON schema": {
    messages: [HI],
    response_format: { type: "json_schema", json_schema: { name: "place", schema: SCHEMA, strict: true } },
  },
  "a JSON schema with free keys": {
    messages: [HI],
    response_format: {
      type: "json_schema",
      json_schema: { name: "x", schema: { type: "object", additionalProperties: true } },
    },
  },
  effort: { messages: [HI], reasoning_effort: "medium", max_tokens: 9_000 },
  "no thinking": { messages: [HI], reasoning: { effort: "none" } },
  "a budget": { messages: [HI], reasoning: { max_tokens: 2_000, exclude: true }, max_tokens: 9_000 },
  "their own words": {
    messages: [HI],
    thinking: { type: "enabled", budget_tokens: 2_000 },
    output_config: { effort: "low" },
    safetySettings: [{ category: "HARM_CATEGORY_HARASSMENT", threshold: "BLOCK_NONE" }],
    cache_control: { type: "ephemeral" },
    max_tokens: 9_000,
  },
  "harmless fields": {
    messages: [HI],
    store: false,
    verbosity: "low",
    service_tier: "auto",
    logprobs: false,
    logit_bias: {},
  },
  logprobs: { messages: [HI], logprobs: true },
  "a bias": { messages: [HI], logit_bias: { "50256": -100 } },
  functions: { messages: [HI], functions: [{ name: "f" }] },
  "a function's message": { messages: [HI, { role: "function", name: "f", content: "x" }] },
  "a function_call": { messages: [HI, { role: "assistant", function_call: { name: "f", arguments: "{}" } }] },
};
