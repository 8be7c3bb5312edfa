// Makes bad requests out of good ones: changes of the JSON's structure, and of its bytes.
import fc from "fast-check";

type Json = unknown;
type Place = { readonly holder: Record<string, Json> | Json[]; readonly key: string };

/** Good bodies that use most of what the schema knows. The model is put in by the test. */
const GOOD_BODIES: readonly Record<string, Json>[] = [
  { messages: [{ role: "user", content: "hello [[words: 4]]" }] },
  {
    messages: [
      { role: "system", content: "be brief" },
      { role: "user", content: "hello [[words: 3]]" },
    ],
    stream: true,
  },
  {
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "what is this? [[words: 4]]", cache_control: { type: "ephemeral" } },
          { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=", detail: "low" } },
          { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,JVBERi0=" } },
        ],
      },
    ],
    stream: true,
    stream_options: { include_usage: true },
    max_tokens: 20,
  },
  {
    messages: [
      { role: "user", content: "weather?" },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "c1", type: "function", function: { name: "weather", arguments: '{"city":"Bonn"}' } }],
      },
      { role: "tool", tool_call_id: "c1", content: "rain" },
    ],
    tools: [
      {
        type: "function",
        function: {
          name: "weather",
          description: "the weather",
          parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
          strict: true,
        },
      },
    ],
    tool_choice: "auto",
    parallel_tool_calls: true,
  },
  {
    messages: [
      { role: "developer", content: "json" },
      { role: "user", content: "go [[words: 4]]", name: "ada" },
    ],
    response_format: {
      type: "json_schema",
      json_schema: {
        name: "answer",
        schema: { type: "object", properties: { a: { type: "number" } }, required: ["a"], additionalProperties: false },
      },
    },
    n: 2,
    temperature: 0.5,
    top_p: 0.9,
    seed: 7,
    stop: ["END"],
    user: "u1",
    frequency_penalty: 0,
    presence_penalty: 0,
    reasoning_effort: "low",
    reasoning: { effort: "low" },
    metadata: { a: "b" },
    logit_bias: {},
    max_completion_tokens: 30,
  },
  {
    messages: [
      { role: "user", content: "go [[words: 4]]" },
      { role: "assistant", content: "well," },
    ],
    stop: "x",
    logprobs: false,
  },
];

const ODD_KEYS = [
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  "",
  "0",
  "length",
  "\ud800",
  "a".repeat(300),
  "type",
  "role",
];

const oddString = fc.oneof(
  fc.constantFrom(
    "",
    " ",
    "\u0000",
    "\ud800",
    "\udc00\ud800",
    "\u2028",
    "\uFEFF",
    "\r\n\r\n",
    "data: [DONE]\n\n",
    "[DONE]",
    "null",
  ),
  fc.constantFrom(
    "__proto__",
    "constructor",
    "user",
    "assistant",
    "tool",
    "function",
    "text",
    "image_url",
    "input_audio",
    "auto",
  ),
  fc.constantFrom(
    "data:image/png;base64,",
    "https://x.invalid/a.png",
    "data:,x",
    "file:///etc/passwd",
    "{",
    '{"a":',
    "[[say: x]]",
  ),
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.integer({ min: 1, max: 20_000 }).map((length) => "字 a".repeat(length)),
);

const oddNumber = fc.constantFrom(
  0,
  -0,
  -1,
  1,
  0.5,
  1e-320,
  9,
  2 ** 31,
  2 ** 53,
  -(2 ** 63),
  1e21,
  1.7e308,
  128,
  16_385,
);

const oddValue: fc.Arbitrary<Json> = fc.oneof(
  oddString,
  oddNumber,
  fc.constantFrom<Json>(null, true, false, [], {}, [[]], [null], [{}], { type: "text" }, { text: "x" }),
  fc.dictionary(fc.constantFrom(...ODD_KEYS), oddNumber, { maxKeys: 3 }),
  fc.integer({ min: 1, max: 400 }).map(deep),
);

function deep(levels: number): Json {
  let value: Json = "deep";
  for (let level = 0; level < levels; level++) value = level % 2 === 0 ? [value] : { inner: value };
  return value;
}

/** Every place of a value that can be changed. */
function places(value: Json): Place[] {
  if (typeof value !== "object" || value === null) return [];
  const holder = value as Record<string, Json>;
  return Object.keys(holder).flatMap((key) => [{ holder, key }, ...places(holder[key])]);
}

/** `__proto__` as JSON.parse makes it: a property like any other. */
function put(holder: Place["holder"], key: string, value: Json): void {
  Object.defineProperty(holder, key, { value, writable: true, enumerable: true, configurable: true });
}

/** Fields that the schema knows, with values that pass it or nearly do. */
const KNOWN_FIELDS: readonly (readonly [field: string, value: Json])[] = [
  ["service_tier", "flex"],
  ["service_tier", "auto"],
  ["modalities", ["audio"]],
  ["plugins", []],
  ["prediction", { type: "content", content: "x" }],
  ["n", 3],
  ["n", 8],
  ["max_tokens", 1],
  ["max_tokens", 100_000],
  ["max_completion_tokens", 5],
  ["stop", ["a", "b", "c", "d", "e", "f"]],
  ["stop", ""],
  ["logprobs", true],
  ["top_logprobs", 30],
  ["logit_bias", { 50256: -100 }],
  ["tool_choice", "required"],
  ["tool_choice", { type: "function", function: { name: "weather" } }],
  ["tool_choice", { type: "allowed_tools", allowed_tools: { mode: "auto", tools: [null, 7] } }],
  ["tools", []],
  ["tools", [{ type: "function", function: { name: "a b", parameters: { $ref: "#" } } }]],
  ["tools", [{ type: "function", function: { name: "x", parameters: { type: ["object", "null"] } } }]],
  ["response_format", { type: "json_object" }],
  ["response_format", { type: "json_schema", json_schema: { name: "x", schema: { $ref: "#/$defs/a" } } }],
  ["response_format", { type: "text" }],
  ["reasoning_effort", "xhigh"],
  ["reasoning", { max_tokens: 1_000_000 }],
  ["thinking", { type: "enabled", budget_tokens: 10 }],
  ["functions", [{ name: "old" }]],
  ["safetySettings", [1]],
  ["metadata", { deep: [[[[{}]]]] }],
  ["stream_options", { include_usage: true, include_obfuscation: true }],
  ["top_k", -1],
  ["seed", -9_007_199_254_740_991],
];

/** Messages of every role with what may and may not be in them. */
const KNOWN_MESSAGES: readonly Json[] = [
  { role: "user" },
  { role: "user", content: "" },
  { role: "user", content: [] },
  { role: "user", content: [{ type: "text" }] },
  { role: "user", content: [{ type: "text", text: null }] },
  { role: "user", content: [{ type: "image_url", image_url: "https://x.invalid/a.png" }] },
  { role: "user", content: [{ type: "image_url", image_url: { url: "data:image/png;base64" } }] },
  { role: "user", content: [{ type: "image_url", image_url: null }] },
  { role: "user", content: [{ type: "input_audio", input_audio: { data: "AAAA", format: "wav" } }] },
  { role: "user", content: [{ type: "file", file: { file_id: "f1" } }] },
  { role: "user", content: [{ type: "file" }] },
  { role: "system", content: "" },
  { role: "developer", content: [{ type: "text", text: "x" }] },
  { role: "assistant" },
  { role: "assistant", content: "", tool_calls: [] },
  { role: "assistant", content: null, refusal: "no", reasoning_content: "hm", reasoning_details: [null, { type: 1 }] },
  { role: "assistant", tool_calls: [{ function: { name: "weather", arguments: "{" } }] },
  { role: "assistant", tool_calls: [{ id: "c1", type: "custom", custom: { name: "x", input: "y" } }] },
  { role: "assistant", function_call: { name: "f", arguments: "{}" } },
  { role: "tool", content: "rain" },
  { role: "tool", tool_call_id: "c9", content: [{ type: "text", text: "rain" }] },
  { role: "function", name: "f", content: "x" },
];

interface Mutation {
  readonly at: number;
  readonly kind: "known" | "message" | "replace" | "delete" | "insert" | "duplicate" | "wrap" | "text";
  readonly key: string;
  readonly value: Json;
}

const mutation: fc.Arbitrary<Mutation> = fc.record({
  at: fc.nat(),
  kind: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom("known", "message") },
    { weight: 2, arbitrary: fc.constantFrom("replace", "delete", "insert", "duplicate", "wrap", "text") },
  ),
  key: fc.constantFrom(
    ...ODD_KEYS,
    "cache_control",
    "content",
    "n",
    "tools",
    "tool_calls",
    "name",
    "stream",
    "max_tokens",
  ),
  value: oddValue,
});

function mutate(body: Record<string, Json>, { at, kind, key, value }: Mutation): void {
  if (kind === "known") {
    const [field, known] = KNOWN_FIELDS[at % KNOWN_FIELDS.length] ?? [key, value];
    return put(body, field, structuredClone(known));
  }
  if (kind === "message") {
    const { messages } = body;
    const known = structuredClone(KNOWN_MESSAGES[at % KNOWN_MESSAGES.length]);
    if (Array.isArray(messages)) messages.splice(at % (messages.length + 1), 0, known);
    return;
  }
  const all = places(body);
  const place = all[at % all.length];
  if (place === undefined) return;
  const { holder } = place;
  const old = (holder as Record<string, Json>)[place.key];
  if (kind === "replace") put(holder, place.key, structuredClone(value));
  else if (kind === "delete") delete (holder as Record<string, Json>)[place.key];
  else if (kind === "wrap") put(holder, place.key, Array.isArray(old) ? { 0: old } : [old]);
  else if (kind === "text") put(holder, place.key, JSON.stringify(old));
  else if (kind === "insert")
    Array.isArray(holder) ? holder.push(structuredClone(value)) : put(holder, key, structuredClone(value));
  else if (Array.isArray(holder)) for (let copy = 0; copy < 8; copy++) holder.push(structuredClone(old));
  else put(holder, key, structuredClone(old));
}

interface ByteMutation {
  readonly at: number;
  readonly kind: "flip" | "cut" | "repeat" | "insert" | "huge";
  readonly byte: number;
}

const byteMutation: fc.Arbitrary<ByteMutation> = fc.record({
  at: fc.nat(),
  kind: fc.constantFrom("flip", "cut", "repeat", "insert", "huge"),
  byte: fc.oneof(fc.nat(255), fc.constantFrom(...Buffer.from('{}[]",:\\0-eu'))),
});

function mutateBytes(bytes: Buffer, { at, kind, byte }: ByteMutation): Buffer {
  const from = at % (bytes.length + 1);
  const [before, after] = [bytes.subarray(0, from), bytes.subarray(from)];
  if (kind === "cut") return Buffer.concat([before, after.subarray(1 + (byte % 16))]);
  if (kind === "flip") return Buffer.concat([before, Buffer.from([byte]), after.subarray(1)]);
  if (kind === "insert") return Buffer.concat([before, Buffer.from([byte]), after]);
  if (kind === "repeat") return Buffer.concat([before, after.subarray(0, byte), after]);
  return Buffer.concat([before, Buffer.alloc(byte * 64, byte), after]);
}

/** Text that JSON.stringify would refuse or change: numbers too large, keys given twice. */
function roughen(json: string, how: number): string {
  if (how === 1) return json.replace(/:\s*\d+/, ":1e999");
  if (how === 2) return json.replace("{", '{"messages":[],"model":"x",');
  if (how === 3) return json.replace(/}$/, ',"messages":[{"role":"user","content":"twice"}]}');
  return how === 4 ? json.replace(/"content":"[^"]*"/, '"content":"\\ud800\\u0000"') : json;
}

/** A request's body: a good one with a few changes, now and then with changed bytes. */
export function mutatedBody(models: readonly string[]): fc.Arbitrary<Buffer> {
  return fc
    .record({
      good: fc.constantFrom(...GOOD_BODIES),
      model: fc.constantFrom(...models),
      stream: fc.boolean(),
      mutations: fc.array(mutation, { maxLength: 3 }),
      rough: fc.nat(12),
      bytes: fc.oneof(
        { weight: 6, arbitrary: fc.constant<ByteMutation[]>([]) },
        { weight: 1, arbitrary: fc.array(byteMutation, { minLength: 1, maxLength: 4 }) },
      ),
    })
    .map(({ good, model, stream, mutations, rough, bytes }) => {
      const body: Record<string, Json> = structuredClone({ ...good, ...(stream ? { stream } : {}) });
      for (const one of mutations) mutate(body, one);
      // Most keep a model that exists, so that they get past the first check.
      if (rough > 0) put(body, "model", model);
      return bytes.reduce(mutateBytes, Buffer.from(roughen(JSON.stringify(body), rough)));
    });
}
