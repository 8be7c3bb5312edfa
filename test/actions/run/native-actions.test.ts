// A vendor's own models as actions: in the envelope, at their token prices, at most one dollar per call.
import { describe, expect, it } from "vitest";
import { forFile } from "../../support/for-file.ts";
import { startTestGateway } from "../../support/gateway.ts";
import { postAs } from "../../support/keyed-fetch.ts";

const gateway = forFile(await startTestGateway());
const key = (await gateway.account({ kind: "sandbox", creditCents: 100_000 })).key;

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
    // 150,000 bytes of prompt and 16,384 tokens of answer cost more than a dollar at 5 and 25 USD per million.
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
    const listed = await postAs(key, `${gateway.url}/api/v1/agents`, { label: "searches", services: ["files"] });
    const { api_key } = (await listed.json()) as { api_key: string };
    const refused = await run("openai/chat", { model: "gpt-5.4-mini", messages }, api_key);
    expect([refused.status, refused.json.error]).toEqual([403, "key_not_allowed"]);
  });

  it("stand in every list of what can be called, each with a call that works", async () => {
    const names = ["anthropic/messages", "gemini/generate", "openai/chat", "openai/embeddings", "openai/image"];
    const get = async (path: string) => {
      const answer = await fetch(`${gateway.url}${path}`, { headers: { authorization: `Bearer ${key}` } });
      return { status: answer.status, text: await answer.text() };
    };
    const index = JSON.parse((await get("/api/run")).text) as { data: { endpoint: string }[] };
    const whole = (await get("/api/catalog")).text;
    for (const name of [...names, "openrouter/chat"]) {
      expect(index.data.map(({ endpoint }) => endpoint)).toContain(`/api/run/${name}`);
      expect(whole).toContain(`/api/run/${name}"`);
      const { data } = JSON.parse((await get(`/api/run/${name}`)).text) as {
        data: { price: object; example: object; status: string };
      };
      const most = name === "openai/image" ? 5 : 100;
      expect(data).toMatchObject({
        status: "available",
        category: "models",
        price: { mode: "capped", max_cents: most },
      });
      const called = await run(name, data.example);
      expect([name, called.status, called.json.ok]).toEqual([name, 200, true]);
    }
    expect((await get("/llms.txt")).text).toMatch(/- models: .*anthropic.*gemini.*openai.*openrouter/);
    const found = await run("core/discover", { query: "generate an image from text" });
    expect(JSON.stringify(found.json.data)).toContain("/api/run/openai/image");
  });

  it("can be on a key's list of services, by the action and by the vendor", async () => {
    for (const services of [["openai/chat"], ["openai"]]) {
      const made = await postAs(key, `${gateway.url}/api/v1/agents`, { label: services[0], services });
      expect([services, made.status]).toEqual([services, 201]);
      const { api_key } = (await made.json()) as { api_key: string };
      expect((await run("openai/chat", { model: "gpt-5.4-mini", messages }, api_key)).status).toBe(200);
      expect((await run("gemini/generate", { model: "gemini-3.5-flash", messages }, api_key)).status).toBe(403);
    }
  });

  describe("openai/image", () => {
    const prompt = "A lighthouse in the fog";

    it.each([
      [{}, 200],
      [{ model: "gpt-image-2.5-flare" }, 200],
      [{ model: "gpt-image-2", size: "1536x1024" }, 200],
      [{ model: "dall-e-3" }, 410],
      [{ model: "gpt-image-2", quality: "low", n: 1 }, 200],
      [{ model: "gpt-image-2", quality: "high" }, 400],
      [{ n: 2 }, 400],
      [{ stream: true }, 400],
      [{ model: "google/gemini-3.1-flash-image" }, 400],
    ])("%j is %d, and costs five cents at most", async (more, expected) => {
      const { status, json, headers } = await run("openai/image", { prompt, ...more });
      expect([status, json.ok]).toEqual([expected, expected === 200]);
      expect(json.charged_cents).toBeLessThanOrEqual(5);
      if (expected !== 200) return;
      expect(json.data.data).toHaveLength(1);
      const record = await gateway.record(headers.get("x-request-id"));
      expect(record).toMatchObject({ provider: "openai" });
      // Fractions of a cent are reported in whole cents once they add up.
      expect(record.charged_nano_usd).toBeGreaterThan(0);
    });

    it("refuses a prompt that costs more than that in every quality", async () => {
      const { status, json } = await run("openai/image", { prompt: "word ".repeat(6_000) });
      expect([status, json.error, json.charged_cents]).toEqual([400, "bad_request", 0]);
    });
  });
});
