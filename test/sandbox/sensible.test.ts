// A newcomer's first answers from the sandbox: a sentence that says what it is, and JSON where the request asks for JSON, for every
// provider.
import { Ajv } from "ajv";
import { describe, expect, it } from "vitest";
import { forFile } from "../support/for-file.ts";
import { startTestGateway } from "../support/gateway.ts";

/** One of each dialect, and the provider that owns the dialect. */
const MODELS = [
  "sandbox/ok",
  "openai/gpt-5.4-nano",
  "sandbox-messages/ok",
  "anthropic/claude-haiku-4.5",
  "sandbox-gemini/ok",
  "google/gemini-3.6-flash",
];
const ORDER = {
  type: "object",
  properties: {
    status: { type: "string", enum: ["open", "paid"] },
    total: { type: "number", minimum: 0 },
    buyer: {
      type: "object",
      properties: {
        name: { type: "string" },
        address: {
          type: "object",
          properties: { street: { type: "string" }, zip: { type: "string" } },
          required: ["street", "zip"],
          additionalProperties: false,
        },
      },
      required: ["name", "address"],
      additionalProperties: false,
    },
    lines: {
      type: "array",
      items: {
        type: "object",
        properties: {
          sku: { type: "string" },
          count: { type: "integer" },
          tags: { type: "array", items: { type: "string" } },
        },
        required: ["sku", "count", "tags"],
        additionalProperties: false,
      },
    },
  },
  required: ["status", "total", "buyer", "lines"],
  additionalProperties: false,
};

const gateway = forFile(await startTestGateway());
const account = await gateway.account();

async function textOf(model: string, more: object = {}, content = "Hello"): Promise<string> {
  const answer = await account.client.chat.completions.create({
    model,
    messages: [{ role: "user", content }],
    ...more,
  });
  return answer.choices[0]?.message.content ?? "";
}

async function streamed(model: string, more: object = {}): Promise<string> {
  const messages = [{ role: "user", content: "Hello" }] as const;
  const stream = await account.client.chat.completions.create({
    model,
    messages: [...messages],
    stream: true,
    ...more,
  });
  let text = "";
  for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";
  return text;
}

describe.each(MODELS)("the sandbox's answer of %s", (model) => {
  it("is a sentence that says what it is, and is whole", async () => {
    const text = await textOf(model);
    expect(text).toMatch(/^This is a sandbox answer so no model was used for it( and the \w+ \w+ \w+ the \w+ \w+){6}$/);
    expect(await streamed(model)).toBe(text);
    expect(await textOf(model, {}, "Hello again")).not.toBe(text);
  });

  it("is an instance of the schema that was asked for, nested as it is", async () => {
    const response_format = { type: "json_schema", json_schema: { name: "order", strict: true, schema: ORDER } };
    const validate = new Ajv().compile(ORDER);
    for (const text of [await textOf(model, { response_format }), await streamed(model, { response_format })]) {
      expect([text, validate(JSON.parse(text))]).toEqual([text, true]);
    }
  });

  it("is a JSON object where any will do", async () => {
    const response_format = { type: "json_object" };
    for (const text of [await textOf(model, { response_format }), await streamed(model, { response_format })]) {
      expect(JSON.parse(text)).toEqual({ answer: expect.any(String) });
    }
  });
});
