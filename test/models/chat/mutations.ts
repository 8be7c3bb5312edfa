// Makes bad requests from good ones: changes the JSON's structure, and its bytes.
import { readFileSync } from "node:fs";
import fc from "fast-check";

type Json = unknown;
type Place = { readonly holder: Record<string, Json> | Json[]; readonly key: string };

interface Material {
  /** Bodies that use most of the schema's fields. The test fills in the model. */
  readonly goodBodies: readonly Record<string, Json>[];
  /** Fields of the schema, with values that are valid or nearly so. */
  readonly knownFields: readonly (readonly [field: string, value: Json])[];
  /** Messages of every role, with valid and invalid parts. */
  readonly knownMessages: readonly Json[];
}

const material = JSON.parse(readFileSync(new URL("mutations.json", import.meta.url), "utf8")) as Material;

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

/** The location of every value that can change. */
function places(value: Json): Place[] {
  if (typeof value !== "object" || value === null) return [];
  const holder = value as Record<string, Json>;
  return Object.keys(holder).flatMap((key) => [{ holder, key }, ...places(holder[key])]);
}

/** Sets `__proto__` as JSON.parse does: as an ordinary property. */
function put(holder: Place["holder"], key: string, value: Json): void {
  Object.defineProperty(holder, key, { value, writable: true, enumerable: true, configurable: true });
}

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
    const [field, known] = material.knownFields[at % material.knownFields.length] ?? [key, value];
    return put(body, field, structuredClone(known));
  }
  if (kind === "message") {
    const { messages } = body;
    const known = structuredClone(material.knownMessages[at % material.knownMessages.length]);
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

/** Text that JSON.stringify would reject or change: numbers too large, duplicate keys. */
function roughen(json: string, how: number): string {
  if (how === 1) return json.replace(/:\s*\d+/, ":1e999");
  if (how === 2) return json.replace("{", '{"messages":[],"model":"x",');
  if (how === 3) return json.replace(/}$/, ',"messages":[{"role":"user","content":"twice"}]}');
  return how === 4 ? json.replace(/"content":"[^"]*"/, '"content":"\\ud800\\u0000"') : json;
}

/** A request body: a good one with a few changes, sometimes with changed bytes. */
export function mutatedBody(models: readonly string[]): fc.Arbitrary<Buffer> {
  return fc
    .record({
      good: fc.constantFrom(...material.goodBodies),
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
      // Most keep a model that exists, so that they pass the first check.
      if (rough > 0) put(body, "model", model);
      return bytes.reduce(mutateBytes, Buffer.from(roughen(JSON.stringify(body), rough)));
    });
}
