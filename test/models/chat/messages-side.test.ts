// What accompanies the messages endpoint: token counts, the model list, agents' model names, keys, errors before a call.
import { describe, expect, it } from "vitest";
import { forFile } from "../../support/for-file.ts";
import { startTestGateway } from "../../support/gateway.ts";
import { callMessages } from "../../support/messages-call.ts";

const gateway = forFile(await startTestGateway());
const account = await gateway.account({ creditCents: 100_000 });

const HELLO = { model: "sandbox/ok", max_tokens: 100, messages: [{ role: "user", content: "Hi" }] };

async function countOf(body: Record<string, unknown>): Promise<number> {
  const path = "/api/llm/v1/messages/count_tokens?beta=true";
  const { status, message } = await callMessages(body, { url: gateway.url, key: account.key, path });
  expect(status, JSON.stringify(message)).toBe(200);
  expect(Object.keys(message)).toEqual(["input_tokens"]);
  return Number((message as unknown as { input_tokens: number }).input_tokens);
}

describe("count_tokens", () => {
  const text = "The quick brown fox jumps over the lazy dog. ".repeat(40);
  const asked = (content: unknown) => ({ model: "sandbox/ok", messages: [{ role: "user", content }] });

  it("counts text and blocks alike, rather too many than too few, and for free", async () => {
    const before = await gateway.admin("GET", `/admin/v1/accounts/${account.accountId}`);
    const plain = await countOf(asked(text));
    expect(plain).toBe(await countOf(asked([{ type: "text", text }])));
    // OpenAI's tokenizer counts 401.
    expect(plain).toBeGreaterThan(400);
    expect(plain).toBeLessThan(650);
    const after = await gateway.admin("GET", `/admin/v1/accounts/${account.accountId}`);
    expect(after.json.balance_cents).toBe(before.json.balance_cents);
  });

  it("counts tools, systems and pictures, whoever's model it is", async () => {
    const tool = { name: "f", description: text, input_schema: { type: "object" } };
    const source = { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" };
    for (const model of ["sandbox/ok", "core/best", "claude-haiku-4-5", "openai/gpt-5.4-nano"]) {
      const plain = await countOf({ ...asked("Hi"), model });
      expect(await countOf({ ...asked("Hi"), model, tools: [tool] })).toBeGreaterThan(plain + 400);
      expect(await countOf({ ...asked("Hi"), model, system: text })).toBeGreaterThan(plain + 400);
      const pictured = [
        { type: "image", source },
        { type: "text", text: "Hi" },
      ];
      expect(await countOf({ ...asked(pictured), model })).toBeGreaterThan(plain + 50);
    }
  });

  it("answers many at once, and a long prompt by samples of it", async () => {
    const counts = await Promise.all(Array.from({ length: 25 }, () => countOf(asked(text))));
    for (const count of counts) expect(count).toBeGreaterThan(400);
    const long = await countOf(asked(text.repeat(200)));
    expect(long).toBeGreaterThan(400 * 200);
    expect(long).toBeLessThan(700 * 200);
  });

  it("reads only so much of an account's in a minute", async () => {
    const other = await gateway.account();
    const path = "/v1/messages/count_tokens";
    const big = JSON.stringify(asked("x".repeat(7_900_000)));
    const statuses: number[] = [];
    // The minute may end meanwhile, at most once.
    while (statuses.length < 20 && !statuses.includes(429)) {
      const { status, headers } = await callMessages(big, { url: gateway.url, key: other.key, path });
      statuses.push(status);
      if (status === 429) expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
    }
    expect(statuses.slice(0, 8)).toEqual(Array(8).fill(200));
    expect(statuses.at(-1)).toBe(429);
  });
});

describe("models", () => {
  const read = async (path: string, headers: Record<string, string> = {}) => {
    const response = await fetch(gateway.url + path, { headers: { "x-api-key": account.key, ...headers } });
    return {
      status: response.status,
      json: (await response.json()) as Record<string, unknown> & { data: Record<string, unknown>[] },
    };
  };
  const version = { "anthropic-version": "2023-06-01" };

  it("are listed in the shape of whoever asks", async () => {
    const { json } = await read("/api/llm/v1/models?limit=1000", version);
    expect(json).toMatchObject({ has_more: false, first_id: json.data[0]?.id, last_id: json.data.at(-1)?.id });
    expect(json.data.find(({ id }) => id === "core/best")).toMatchObject({ type: "model", display_name: "core/best" });
    const one = json.data.find(({ id }) => id === "anthropic/claude-haiku-4.5");
    expect(one).toMatchObject({
      type: "model",
      created_at: expect.stringMatching(/^\d{4}-.*Z$/),
      max_input_tokens: 200_000,
    });
    expect((await read("/api/llm/v1/models/claude-haiku-4-5", version)).json).toEqual(one);
    expect((await read("/api/llm/v1/models")).json).toMatchObject({ object: "list" });
  });

  it("come in pages, forwards and back, where a client asks for pages", async () => {
    const idsOf = ({ data }: { data: Record<string, unknown>[] }) => data.map(({ id }) => id);
    const all = idsOf((await read("/v1/models", version)).json);
    const pages: unknown[] = [];
    let query = "";
    for (let more = true; more; ) {
      const { json } = await read(`/v1/models?limit=7${query}`, version);
      expect(json.data.length).toBeLessThanOrEqual(7);
      pages.push(...idsOf(json));
      more = json.has_more === true;
      query = `&after_id=${encodeURIComponent(String(json.last_id))}`;
    }
    expect(pages).toEqual(all);
    const { json: back } = await read(`/v1/models?limit=2&before_id=${encodeURIComponent(String(all[3]))}`, version);
    expect([idsOf(back), back.has_more]).toEqual([all.slice(1, 3), true]);
    const { json: first } = await read(`/v1/models?limit=3&before_id=${encodeURIComponent(String(all[3]))}`, version);
    expect([idsOf(first), first.has_more]).toEqual([all.slice(0, 3), false]);
  });

  it.each([
    "limit=0",
    "limit=x",
    "limit=1001",
    "after_id=none",
    "before_id=none",
    "after_id=core/best&before_id=core/best",
  ])("%s is refused by name", async (query) => {
    const { status, json } = await read(`/v1/models?${query}`, version);
    expect([status, json.error]).toMatchObject([400, { param: expect.stringMatching(/^(limit|after_id|before_id)$/) }]);
  });
});

describe("names", () => {
  it.each([
    ["claude-haiku-4-5", "anthropic/claude-haiku-4.5"],
    ["claude-haiku-4-5-20251001", "anthropic/claude-haiku-4.5"],
    ["claude-opus-5-5", "anthropic/claude-opus-5.5"],
  ])("%s is %s where its maker is configured", async (model, slug) => {
    const { headers } = await callMessages({ ...HELLO, model }, { url: gateway.url, key: account.key });
    expect(headers.get("x-tollgate-model")).toBe(slug);
  });

  it("of a maker that is not configured mean a tier", async () => {
    const alone = await startTestGateway({ GEMINI_API_KEY: "key", GEMINI_BASE_URL: "http://127.0.0.1:9" });
    const live = await alone.account({ kind: "personal" });
    for (const [model, tier] of [
      ["claude-opus-5-5", "core/best"],
      ["claude-future-9", "core/best"],
      ["claude-sonnet-4-6", "core/mid"],
      ["claude-haiku-4-5-20251001", "core/cheap"],
    ]) {
      const { headers } = await callMessages({ ...HELLO, model }, { url: alone.url, key: live.key });
      const { asked } = await alone.record(headers.get("request-id"));
      expect(asked).toBe(tier);
    }
    const unknown = await callMessages({ ...HELLO, model: "opus" }, { url: alone.url, key: live.key });
    expect(unknown.message).toMatchObject({ error: { type: "not_found_error", code: "model_not_found" } });
    await alone.stop();
  });
});

describe("before a call", () => {
  it.each(["/api/hello", "/api/llm/api/hello"])("%s says that somebody is there", async (path) => {
    expect((await fetch(gateway.url + path, { method: "HEAD" })).status).toBe(200);
    expect((await fetch(gateway.url + path)).status).toBe(200);
  });

  it.each([
    ["x-api-key", (key: string) => ({ "x-api-key": key })],
    ["a bearer", (key: string) => ({ authorization: `Bearer ${key}`, "x-api-key": "" })],
    ["both: the bearer counts", (key: string) => ({ authorization: `Bearer ${key}`, "x-api-key": "sk-ant-other" })],
  ])("a key comes as %s", async (_, headersOf) => {
    for (const path of ["/api/llm/v1/messages", "/v1/messages?beta=true"]) {
      const seen = await callMessages(HELLO, { url: gateway.url, key: "", path, headers: headersOf(account.key) });
      expect(seen.status).toBe(200);
    }
  });

  it.each([
    ["no key", "/v1/messages", "POST", "", 401, "authentication_error"],
    ["another's key", "/v1/messages", "POST", "sk-ant-api03-abc", 401, "authentication_error"],
    ["no such path", "/v1/messages/nothing", "POST", "", 404, "not_found_error"],
    ["another method", "/api/llm/v1/messages", "PUT", "", 405, "invalid_request_error"],
  ])("%s: an error in the wire's own words", async (_, path, method, key, status, type) => {
    const headers = {
      "content-type": "application/json",
      "anthropic-version": "2023-06-01",
      ...(key && { "x-api-key": key }),
    };
    const response = await fetch(gateway.url + path, { method, headers, body: JSON.stringify(HELLO) });
    const body = (await response.json()) as Record<string, unknown>;
    expect([response.status, body.type]).toEqual([status, "error"]);
    expect(body).toMatchObject({
      error: { type, message: expect.any(String) },
      request_id: response.headers.get("request-id"),
    });
    expect(response.headers.get("x-should-retry")).toBe("false");
  });

  it("an account without credit is a matter of billing, and no retry", async () => {
    const poor = await gateway.account({ creditCents: 0 });
    const seen = await callMessages(HELLO, { url: gateway.url, key: poor.key });
    expect(seen.status).toBe(402);
    expect(seen.message).toMatchObject({ error: { type: "billing_error", code: "insufficient_balance" } });
    expect(seen.headers.get("x-should-retry")).toBe("false");
  });
});
