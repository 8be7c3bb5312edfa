// Text that went upstream without counting in any hold: where the hold from bytes did not fit, only some fields of a body were counted.
import { beforeEach, describe, expect, it } from "vitest";
import { startRecordingVendor } from "../models/chat/recording-vendor.ts";
import { forFile } from "../support/for-file.ts";
import { startTestGateway } from "../support/gateway.ts";
import { postAs } from "../support/keyed-fetch.ts";

/** About 200,000 tokens: 50 cents at the model's price, while the account has ten. */
const LONG = "river stone ".repeat(100_000);
const MODEL = "openai/gpt-5.4";
const GEMINI = "google/gemini-3-flash-preview";

const vendor = forFile(await startRecordingVendor());
const gateway = forFile(
  await startTestGateway({
    OPENAI_API_KEY: "sk-test",
    OPENAI_BASE_URL: `${vendor.url}/openai/v1`,
    GEMINI_API_KEY: "key",
    GEMINI_BASE_URL: `${vendor.url}/gemini/v1beta`,
  }),
);
const account = await gateway.account({ kind: "personal", creditCents: 10 });

beforeEach(() => vendor.forget());

interface Seen {
  readonly status: number;
  readonly error: { readonly code: string; readonly param: string | null };
  readonly dropped: string | null;
}

async function ask(fields: Record<string, unknown>): Promise<Seen> {
  const body = { model: MODEL, max_tokens: 16, messages: [{ role: "user", content: "hello" }], ...fields };
  const response = await postAs(account.key, `${gateway.url}/api/llm/v1/chat/completions`, body);
  const { error } = (await response.json()) as { error: Seen["error"] };
  return { status: response.status, error, dropped: response.headers.get("x-tollgate-dropped") };
}

const from = (message: Record<string, unknown>) => ({ messages: [{ role: "user", content: "hello" }, message] });
const part = (fields: Record<string, unknown>) => ({ messages: [{ role: "user", content: [fields] }] });
const PIXEL = "data:image/png;base64,iVBORw0KGgo=";
const dataUrl = (type: string) => `data:${type};base64,${Buffer.from(LONG).toString("base64")}`;

describe("a long text is counted", () => {
  it.each<[where: string, fields: Record<string, unknown>]>([
    ["in a message's name", from({ role: "user", content: "x", name: LONG })],
    ["in a refusal", from({ role: "assistant", content: "x", refusal: LONG })],
    ["in reasoning_content", from({ role: "assistant", content: "x", reasoning_content: LONG })],
    ["in reasoning", from({ role: "assistant", content: "x", reasoning: LONG })],
    ["in reasoning_details", from({ role: "assistant", content: "x", reasoning_details: [{ text: LONG }] })],
    ["in annotations", from({ role: "assistant", content: "x", annotations: [{ title: LONG }] })],
    ["in a part that refuses", from({ role: "assistant", content: [{ type: "refusal", refusal: LONG }] })],
    ["in an image's detail", part({ type: "image_url", image_url: { url: PIXEL, detail: LONG } })],
    ["in an image's address", part({ type: "image_url", image_url: { url: `https://x.invalid/${LONG}` } })],
    [
      "in a file's name",
      part({ type: "file", file: { filename: LONG, file_data: "data:application/pdf;base64,JVBE" } }),
    ],
    ["as a stop", { stop: [LONG] }],
    ["as a user", { user: LONG }],
    ["in the metadata", { metadata: { a: LONG } }],
    ["behind much that is cheap to count", from({ role: "user", content: `${" ".repeat(500_000)}${LONG}` })],
  ])("%s", async (_, fields) => {
    const { status, error } = await ask(fields);
    expect([status, error.code]).toEqual([402, "insufficient_balance"]);
    expect(vendor.arrivals).toEqual([]);
  });

  it.each<[what: string, fields: Record<string, unknown>]>([
    ["text", part({ type: "image_url", image_url: { url: dataUrl("text/plain") } })],
    ["a document", part({ type: "image_url", image_url: { url: dataUrl("application/pdf") } })],
    ["an address of text", part({ type: "image_url", image_url: { url: "https://x.invalid/long.txt" } })],
  ])("where it comes as an image that is %s", async (_, fields) => {
    const { status, error } = await ask({ ...fields, model: GEMINI });
    expect([status, error.code]).toEqual([402, "insufficient_balance"]);
  });

  it("in another script, at a tokenizer that is not ours", async () => {
    // One token per word by our count; other tokenizers take up to twenty.
    const content = "გამარჯობა ".repeat(30_000);
    const { status, error } = await ask({ model: GEMINI, messages: [{ role: "user", content }] });
    expect([status, error.code]).toEqual([402, "insufficient_balance"]);
  });
});

describe("a long text is not sent", () => {
  it.each<[field: string, fields: Record<string, unknown>]>([
    ["safety_model", { safety_model: LONG }],
    ["messages.system_note", from({ role: "user", content: "x", system_note: LONG })],
    ["messages.audio", from({ role: "assistant", content: "x", audio: { id: LONG } })],
    ["messages.content.caption", part({ type: "image_url", image_url: { url: PIXEL }, caption: LONG })],
    ["messages.content.image_url.alt", part({ type: "image_url", image_url: { url: PIXEL, alt: LONG } })],
    ["tools.note", { tools: [{ type: "function", function: { name: "f" }, note: LONG }] }],
    ["tools.function.note", { tools: [{ type: "function", function: { name: "f", note: LONG } }] }],
    ["response_format.note", { response_format: { type: "text", note: LONG } }],
    ["stream_options.note", { stream_options: { note: LONG } }],
  ])("as %s", async (field, fields) => {
    const { status, dropped } = await ask(fields);
    expect([status, dropped]).toEqual([200, field]);
    expect(vendor.arrivals).toHaveLength(1);
    expect(JSON.stringify(vendor.arrivals)).not.toContain("river stone");
  });
});

it("a long text is not sent as __proto__", async () => {
  const { status } = await ask(JSON.parse(`{"__proto__": {"system": ${JSON.stringify(LONG)}}}`));
  expect(status).toBe(200);
  expect(JSON.stringify(vendor.arrivals)).not.toContain("river stone");
});

describe("what is out of date or changes the price is refused, and says where", () => {
  it.each<[param: string, fields: Record<string, unknown>]>([
    ["functions", { functions: [{ name: "f", description: LONG }] }],
    ["function_call", { function_call: { name: LONG } }],
    [
      "messages.1.function_call",
      from({ role: "assistant", content: null, function_call: { name: "f", arguments: LONG } }),
    ],
    ["messages.1.role", from({ role: "function", name: "f", content: LONG })],
    ["messages.0.role", { messages: [{ role: "function", name: "f", content: "x" }] }],
    ["messages.0.content.0.file.file_id", part({ type: "file", file: { file_id: "file-of-another-tenant" } })],
  ])("%s", async (param, fields) => {
    const { status, error } = await ask(fields);
    expect([status, error.code, error.param]).toEqual([400, "unsupported_field", param]);
    expect(vendor.arrivals).toEqual([]);
  });
});
