// A vendor's own models as actions: in the envelope, at their prices by the token, at most a dollar a call.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestGateway, type TestGateway } from "../support/gateway.ts";

let gateway: TestGateway;
let key: string;

beforeAll(async () => {
  gateway = await startTestGateway();
  key = (await gateway.account({ kind: "sandbox", creditCents: 100_000 })).key;
});

afterAll(async () => {
  expect(await gateway.doctor()).toEqual([]);
  await gateway.stop();
});

async function run(action: string, body: object, as = key) {
  const headers = { authorization: `Bearer ${as}`, "content-type": "application/json" };
  const answer = await fetch(`${gateway.url}/api/run/${action}`, {
    method: "POST",
    headers,
    body: JSON.stringify(body),
  });
  const json = (await answer.json()) as Record<string, unknown> & { data: Record<string, unknown> };
  return { status: answer.status, json, headers: answer.headers };
}

const messages = [{ role: "user", content: "Hi" }];

describe("native actions", () => {
  it.each([
    ["openai/chat", { model: "gpt-5.4-mini", messages }, "openai/gpt-5.4-mini", "chat.completion"],
    ["gemini/generate", { model: "gemini-3.5-flash", messages }, "google/gemini-3.5-flash", "chat.completion"],
    ["openrouter/chat", { model: "openai/gpt-5.4-mini", messages }, "openai/gpt-5.4-mini", "chat.completion"],
    [
      "anthropic/messages",
      { model: "claude-haiku-4-5", max_tokens: 200, messages },
      "anthropic/claude-haiku-4.5",
      "message",
    ],
    ["openai/embeddings", { model: "text-embedding-3-small", input: "Hi" }, "openai/text-embedding-3-small", "list"],
  ])(
    "%s answers in the envelope, served by its own vendor, and charged by the token",
    async (action, body, slug, kind) => {
      const { status, json, headers } = await run(action, body);
      expect(status).toBe(200);
      expect(json).toMatchObject({ ok: true, charged_cents: expect.any(Number), transaction_id: expect.any(String) });
      expect(json.data.object ?? json.data.type).toBe(kind);
      expect(headers.get("x-tollgate-model")).toBe(slug);
      expect(Number(headers.get("x-tollgate-cost-usd"))).toBeGreaterThan(0);
      const record = await gateway.record(headers.get("x-request-id"));
      expect(record).toMatchObject({ provider: action.split("/")[0], served: slug });
    },
  );

  it("refuse streams, other vendors' models, and actions that the vendor has not", async () => {
    const stream = await run("openai/chat", { model: "gpt-5.4-mini", messages, stream: true });
    expect([stream.status, stream.json]).toMatchObject([400, { ok: false, error: "bad_request", charged_cents: 0 }]);
    expect((await run("openai/chat", { model: "anthropic/claude-opus-5", messages })).status).toBe(400);
    expect((await run("openai/paint", { messages })).status).toBe(404);
    expect((await run("groq/chat", { messages })).status).toBe(404);
  });

  it("lower the output to what a dollar pays for beside the prompt, and refuse a prompt that costs more alone", async () => {
    // 150,000 bytes of prompt and 16,384 tokens of answer cost more than a dollar at 5 and 25 USD a million.
    const long = [{ role: "user", content: "word ".repeat(30_000) }];
    const body = { model: "claude-opus-5", max_tokens: 128_000, messages: long };
    const { status, json, headers } = await run("anthropic/messages", body);
    expect([status, json.ok]).toEqual([200, true]);
    const lowered = Number(headers.get("x-tollgate-max-tokens"));
    expect(lowered).toBeGreaterThan(1_000);
    expect(lowered).toBeLessThanOrEqual(40_000);
    expect(json.charged_cents).toBeLessThanOrEqual(100);
    const longer = [{ role: "user", content: "word ".repeat(400_000) }];
    const refused = await run("anthropic/messages", { ...body, messages: longer });
    expect([refused.status, refused.json.error]).toEqual([400, "bad_request"]);
    expect(String(refused.json.message)).toContain("the prompt alone costs more than 100 cents");
  });

  it("count toward the inference cap, and are on a key's list of services", async () => {
    const capped = await gateway.account({ kind: "sandbox", creditCents: 1_000, inferenceCapCents: 0 });
    const { status, json } = await run("openai/chat", { model: "gpt-5.4-mini", messages }, capped.key);
    expect([status, json.error]).toEqual([429, "inference_cap"]);
    const listed = await fetch(`${gateway.url}/api/v1/agents`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ label: "searches", services: ["files"] }),
    });
    const { api_key } = (await listed.json()) as { api_key: string };
    const refused = await run("openai/chat", { model: "gpt-5.4-mini", messages }, api_key);
    expect([refused.status, refused.json.error]).toEqual([403, "key_not_allowed"]);
  });
});
