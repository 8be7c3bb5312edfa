// Whole answers that must fit a JSON Schema, on a real gateway: near-JSON is repaired, a route that got the schema in words is called once
// more, and an answer without a schema stays as the vendor wrote it.
import { expect, it } from "vitest";
import { mended } from "../../../src/upstream/answer-form.ts";
import { fitsSchema } from "../../../src/upstream/fits-schema.ts";
import { forFile } from "../../support/for-file.ts";
import { startTestGateway } from "../../support/gateway.ts";
import { postAs } from "../../support/keyed-fetch.ts";
import { startVendor } from "../../support/vendor-server.ts";

type Json = Record<string, unknown>;

const CHAT = "/api/llm/v1/chat/completions";
const IN_WORDS = "deepseek/deepseek-v4-flash";
const NATIVE = "openai/gpt-5.4-mini";
const schema = {
  type: "object",
  properties: { city: { type: "string" }, people: { type: "integer" } },
  required: ["city", "people"],
  additionalProperties: false,
};
const format = { type: "json_schema", json_schema: { name: "place", schema } };
const messages = [{ role: "user", content: "Where?" }];
const GOOD = '{"city": "Bonn", "people": 331885}';
const NEARLY = `Here it is:\n\`\`\`json\n{city: 'Bonn', "people": 331885,}\n\`\`\``;
const OTHER = '{"town": "Bonn"}';

const vendor = forFile(await startVendor());
const gateway = forFile(
  await startTestGateway({
    OPENAI_API_KEY: "sk-1",
    OPENAI_BASE_URL: `${vendor.url}/v1`,
    DEEPSEEK_API_KEY: "sk-2",
    DEEPSEEK_BASE_URL: vendor.url,
  }),
);
const account = await gateway.account({ kind: "personal", creditCents: 10_000 });

/** Makes the vendor answer with these texts in turn. */
function says(texts: readonly string[], finish_reason = "stop") {
  // Some servers put empty fields into every message.
  const empty = { refusal: null, tool_calls: [] };
  const [first, ...more] = texts.map((content) => ({
    body: {
      choices: [{ index: 0, message: { role: "assistant", content, ...empty }, finish_reason }],
      usage: { prompt_tokens: 1_000, completion_tokens: 100 },
    },
  }));
  if (first !== undefined) vendor.answers(first, ...more);
}

async function ask(path: string, body: Json) {
  const response = await postAs(account.key, `${gateway.url}${path}`, body);
  const json = (await response.json()) as Json;
  const { headers } = response;
  return {
    json,
    repaired: headers.get("x-tollgate-repaired"),
    asked: vendor.asked.length,
    id: headers.get("x-request-id"),
  };
}

async function chat(model: string, more: Json = { response_format: format }) {
  const { json, repaired, asked } = await ask(CHAT, { model, messages, max_tokens: 200, ...more });
  const [choice] = json.choices as { message: { content: string } }[];
  return { text: choice?.message.content, cost: (json.usage as Json).cost, repaired, asked };
}

it.each([IN_WORDS, NATIVE])("leaves alone what fits, to the byte, and mends what is nearly JSON: %s", async (model) => {
  says([GOOD]);
  expect(await chat(model)).toMatchObject({ text: GOOD, repaired: null, asked: 1 });
  says([NEARLY]);
  const seen = await chat(model);
  expect([JSON.parse(seen.text ?? ""), seen.repaired, seen.asked]).toEqual([JSON.parse(GOOD), "1", 1]);
});

it("asks a route that was told the schema in words once more, and charges one answer", async () => {
  says([GOOD]);
  const { cost } = await chat(IN_WORDS);
  says([OTHER, GOOD]);
  expect(await chat(IN_WORDS)).toEqual({ text: GOOD, cost, repaired: null, asked: 2 });
  says([OTHER, '{"village": "Bonn"}', GOOD]);
  expect(await chat(IN_WORDS)).toEqual({ text: '{"village": "Bonn"}', cost, repaired: null, asked: 2 });
});

it("asks no route again whose vendor keeps to schemas itself, and mends no answer that was cut off", async () => {
  says([OTHER, GOOD]);
  expect(await chat(NATIVE)).toMatchObject({ text: OTHER, repaired: null, asked: 1 });
  says(['{"city": "Bonn", "people": 33', GOOD], "length");
  expect(await chat(IN_WORDS)).toMatchObject({ text: '{"city": "Bonn", "people": 33', repaired: null, asked: 1 });
});

it("touches nothing where no schema was asked for", async () => {
  for (const more of [{}, { response_format: { type: "json_object" } }]) {
    says([NEARLY, GOOD]);
    expect(await chat(IN_WORDS, more)).toMatchObject({ text: NEARLY, repaired: null, asked: 1 });
  }
});

it.each<readonly [string, string, Json, (json: Json) => unknown]>([
  [
    "responses",
    "/api/llm/v1/responses",
    { model: IN_WORDS, input: "Where?", text: { format: { type: "json_schema", name: "place", schema } } },
    (json) => (json.output as { content: Json[] }[]).at(-1)?.content[0]?.text,
  ],
  [
    "messages",
    "/api/llm/v1/messages",
    { model: IN_WORDS, max_tokens: 200, messages, output_config: { format: { type: "json_schema", schema } } },
    (json) => (json.content as Json[]).at(-1)?.text,
  ],
  [
    "generate-content",
    `/api/llm/v1beta/models/${IN_WORDS}:generateContent`,
    {
      contents: [{ role: "user", parts: [{ text: "Where?" }] }],
      generationConfig: { responseMimeType: "application/json", responseJsonSchema: schema },
    },
    (json) => (json.candidates as { content: { parts: Json[] } }[])[0]?.content.parts[0]?.text,
  ],
])("does the same in the wire %s", async (_, path, body, textOf) => {
  says([OTHER, NEARLY]);
  const { json, repaired, asked } = await ask(path, body);
  expect([JSON.parse(String(textOf(json))), repaired, asked]).toEqual([JSON.parse(GOOD), "1", 2]);
});

it("a schema is read as far as it can be told in so many steps", () => {
  const tree = { $defs: { node: { type: "object", properties: { next: { $ref: "#/$defs/node" } }, required: ["v"] } } };
  const ofTree = { ...tree, $ref: "#/$defs/node" };
  expect(fitsSchema({ v: 1, next: { v: 2 } }, ofTree)).toBe(true);
  expect(fitsSchema({ v: 1, next: {} }, ofTree)).toBe(false);
  expect(fitsSchema(["a", 1], { prefixItems: [{ type: "string" }], items: { enum: [1, 2] }, maxItems: 2 })).toBe(true);
  expect(fitsSchema(["a", 3], { prefixItems: [{ type: "string" }], items: { enum: [1, 2] } })).toBe(false);
  expect(fitsSchema(null, { anyOf: [{ type: "string" }, { type: ["integer", "null"] }] })).toBe(true);
  expect(fitsSchema({ a: [1] }, { oneOf: [{ const: { a: [1] } }, { type: "array" }] })).toBe(true);
  expect(fitsSchema(1, { allOf: [{ minimum: 0 }, { maximum: 0.5 }] })).toBe(false);
  // Each level is twice the next, sixty levels deep, and a self-reference: neither can be validated, so neither counts against the answer.
  const twice = Array.from({ length: 60 }, (_, at) => [
    `d${at}`,
    { allOf: Array(2).fill({ $ref: `#/$defs/d${at + 1}` }) },
  ]);
  expect(fitsSchema(1, { $defs: Object.fromEntries(twice), $ref: "#/$defs/d0" })).toBe(true);
  expect(fitsSchema(1, { $ref: "#" })).toBe(true);
});

it("what an answer has of names counts for each alternative that looks at them", () => {
  // Each level is twice the next, six levels deep: the first name rejects each of 64 alternatives.
  const doubled = Array.from({ length: 6 }, (_, at) => [`d${at}`, { anyOf: Array(2).fill({ $ref: `#/d${at + 1}` }) }]);
  const doubles = { ...Object.fromEntries(doubled), d6: { additionalProperties: false }, $ref: "#/d0" };
  const named = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, 1]));
  expect(fitsSchema(named(1), doubles)).toBe(false);
  expect(fitsSchema(named(6_000), doubles)).toBe(true);
});

it("an answer that is nested without end ends its call at once, with what it cost", async () => {
  const nested = `${'{"a":'.repeat(6_000)}1${"}".repeat(6_000)}`;
  const form = { type: "json_schema", json_schema: { name: "any", schema: { enum: [{}] } } };
  says([nested]);
  const seen = await chat(NATIVE, { response_format: form });
  expect(seen).toMatchObject({ text: nested, repaired: null, asked: 1 });

  // Deep nesting makes the parser throw.
  const usage = '"usage":{"prompt_tokens":1000,"completion_tokens":100}';
  const parts = `${'[{"type":"text","text":'.repeat(20_000)}1${"}]".repeat(20_000)}`;
  const message = `{"role":"assistant","content":${parts}}`;
  vendor.answers({ body: `{"choices":[{"index":0,"message":${message},"finish_reason":"stop"}],${usage}}` });
  const { json, id } = await ask("/api/llm/v1/responses", { model: IN_WORDS, input: "Where?" });
  expect(json.error).toMatchObject({ code: "upstream_error" });
  const { upstream_nano_usd } = await gateway.record(id);
  says([GOOD]);
  const good = await ask("/api/llm/v1/responses", { model: IN_WORDS, input: "Where?" });
  expect(await gateway.record(good.id)).toMatchObject({ outcome: "success", upstream_nano_usd });
});

it.each([
  ["Sure: {'a': True, 'b': [None, False,],} Anything else?", { a: true, b: [null, false] }],
  ['```json\n{a: 1, "b-c" : {"d": [1, 2]\n```', { a: 1, "b-c": { d: [1, 2] } }],
  ['{"a": [1, {"b": 2}, "]}"}', { a: [1, { b: 2 }, "]}"] }],
  [`{'a': 'It\\'s "so"\n', "b": "it's \\"so\\" \\u00e9\\\\",`, { a: 'It\'s "so"\n', b: 'it\'s "so" é\\' }],
  ['{"a": 1} or rather {"a": 2}', null],
  ['{"a": 1]', null],
  ['{"a": "cut o', null],
  ["{'a': 'It's'}", null],
  ['{"a": 1,, "b": 2}', null],
  ["{a: b}", null],
])("mends what can be read in one way: %s", (text, json) => {
  const made = mended(text, { kind: "schema", schema: {}, name: null, strict: null });
  expect(made === null ? null : JSON.parse(made)).toEqual(json);
});

it("mends no words into a text, nothing that is long, and nothing that is nested without end", () => {
  const any = { kind: "schema", schema: {}, name: null, strict: null } as const;
  expect(mended("I cannot say.", any)).toBeNull();
  expect(mended(`[${"1,".repeat(10_000)}]`, any)).toBeNull();
  expect(mended("[".repeat(100_000), any)).toBeNull();
  expect(mended('Sure: {"a": 1}. Anything else?', any)).toBe('{"a": 1}');
});
