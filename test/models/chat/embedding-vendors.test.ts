// Embeddings from vendors that almost use OpenAI's wire: what each receives, and what a call costs where usage has one number or none.
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestGateway, type TestAccount, type TestGateway } from "../../support/gateway.ts";
import { startVendor, type VendorServer } from "../../support/vendor-server.ts";

type Json = Record<string, unknown>;

let vendor: VendorServer;
let gateway: TestGateway;
let account: TestAccount;

beforeAll(async () => {
  vendor = await startVendor();
  const url = `${vendor.url}/v1`;
  gateway = await startTestGateway({
    VOYAGE_API_KEY: "k",
    VOYAGE_BASE_URL: url,
    GEMINI_API_KEY: "k",
    GEMINI_EMBEDDINGS_BASE_URL: url,
    OPENAI_API_KEY: "k",
    OPENAI_BASE_URL: url,
  });
  account = await gateway.account({ kind: "personal", creditCents: 1_000 });
});

afterAll(async () => {
  expect(await gateway.doctor()).toEqual([]);
  await gateway.stop();
  await vendor.close();
});

async function embed(model: string, usage: Json | undefined, more: Json) {
  vendor.answers({ body: { object: "list", data: [{ object: "embedding", index: 0, embedding: [0.5] }], usage } });
  const headers = { authorization: `Bearer ${account.key}`, "content-type": "application/json" };
  const body = JSON.stringify({ model, input: "a text to embed", user: "u", ...more });
  const response = await fetch(`${gateway.url}/v1/embeddings`, { method: "POST", headers, body });
  const json = (await response.json()) as { usage: Json };
  expect(response.status, JSON.stringify(json)).toBe(200);
  return { sent: vendor.asked[0]?.body, url: vendor.asked[0]?.url, usage: json.usage };
}

it("Voyage has its own word for dimensions, knows no word for floats, and tells one total", async () => {
  const { sent, url, usage } = await embed(
    "voyage/voyage-4",
    { total_tokens: 20 },
    { dimensions: 512, encoding_format: "float" },
  );
  expect(url).toBe("/v1/embeddings");
  expect(sent).toEqual({ model: "voyage-4", input: "a text to embed", output_dimension: 512 });
  expect(usage).toEqual({ prompt_tokens: 20, total_tokens: 20, cost: 0.0000012 });
});

it("base64 goes to every vendor as it is asked for, and OpenAI has the fields by its own names", async () => {
  const { sent } = await embed("voyage/voyage-4-lite", { total_tokens: 5 }, { encoding_format: "base64" });
  expect(sent).toEqual({ model: "voyage-4-lite", input: "a text to embed", encoding_format: "base64" });
  const openai = await embed("openai/text-embedding-3-small", { prompt_tokens: 5 }, { dimensions: 512 });
  expect(openai.sent).toEqual({
    model: "text-embedding-3-small",
    input: "a text to embed",
    user: "u",
    dimensions: 512,
  });
});

it("Gemini is charged by our own count where it tells no usage", async () => {
  const { sent, usage } = await embed("google/gemini-embedding-2", undefined, { dimensions: 768 });
  expect(sent).toEqual({ model: "gemini-embedding-2", input: "a text to embed", dimensions: 768 });
  expect(usage).toMatchObject({ prompt_tokens: expect.any(Number), cost: expect.any(Number) });
  expect(Number(usage.cost)).toBeCloseTo(Number(usage.prompt_tokens) * 0.0000002, 12);
  expect(Number(usage.prompt_tokens)).toBeGreaterThan(0);
});
