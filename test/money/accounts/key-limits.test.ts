// Keys with allow-lists and expiry at a real gateway: what the caller sees, and that refused calls cost nothing.
import { describe, expect, it } from "vitest";
import { requireModels, serviceAllowed, serviceRefusal } from "../../../src/money/accounts/allowed.ts";
import { callChat } from "../../support/chat-call.ts";
import { forFile } from "../../support/for-file.ts";
import { eventually, startTestGateway } from "../../support/gateway.ts";
import { sendAs } from "../../support/keyed-fetch.ts";

const gateway = forFile(await startTestGateway());
const account = await gateway.account();

async function call(key: string, method: string, path: string, body?: unknown) {
  const response = await sendAs(key, method, `${gateway.url}${path}`, body);
  // biome-ignore lint/suspicious/noExplicitAny: bodies are what the test is about.
  return { status: response.status, headers: response.headers, body: (await response.json()) as any };
}

async function agent(limits: object): Promise<{ id: string; key: string }> {
  const { status, body } = await call(account.key, "POST", "/api/v1/agents", limits);
  expect(status).toBe(201);
  return { id: body.id, key: body.api_key };
}

function ask(key: string, body: object) {
  return callChat(
    { messages: [{ role: "user", content: "hello" }], max_tokens: 20, ...body },
    { url: gateway.url, key },
  );
}

describe("a key with a list of models", () => {
  it.each([
    [["core/cheap"], { model: "core/cheap" }],
    [["core/cheap"], { model: "cheap" }],
    [["cheap"], { model: "core/cheap" }],
    [["sandbox/ok", "cheap"], { model: "sandbox/ok" }],
    [["sandbox/ok", "cheap"], { models: ["sandbox/ok", "core/cheap"] }],
    [["sandbox/ok"], { model: "sandbox/ok", stream: true }],
    [null, { model: "sandbox/ok" }],
  ])("%j may ask for %j", async (models, body) => {
    const { key } = await agent({ models });
    expect((await ask(key, body)).status).toBe(200);
  });

  it.each([
    [["core/cheap"], { model: "core/mid" }, "core/mid", "model"],
    // Allowing a tier does not allow its models, nor the other way round.
    [["core/cheap"], { model: "openai/gpt-5.4-nano" }, "openai/gpt-5.4-nano", "model"],
    [["openai/gpt-5.4-nano"], { model: "cheap" }, "cheap", "model"],
    [["sandbox/ok"], { models: ["sandbox/ok", "core/cheap"] }, "core/cheap", "models.1"],
    [["core/cheap"], { model: "cheap", models: ["sandbox/ok"] }, "sandbox/ok", "models.0"],
    [["sandbox/ok"], { model: "sandbox/503", stream: true }, "sandbox/503", "model"],
    [[], { model: "sandbox/ok" }, "sandbox/ok", "model"],
  ])("%j may not ask for %j", async (models, body, asked, param) => {
    const { key } = await agent({ models });
    const seen = await ask(key, body);
    expect([seen.status, seen.error?.code, seen.error?.param]).toEqual([403, "key_not_allowed", param]);
    expect(seen.error?.message).toContain(asked);
    expect(seen.error?.metadata).toEqual({ allowed: models.map((name) => (name === "cheap" ? "core/cheap" : name)) });
    expect(seen.headers.get("x-should-retry")).toBe("false");
    const { body: page } = await call(key, "GET", "/api/v1/transactions");
    expect(page.transactions).toEqual([]);
  });

  it("is told first that there is no such model", async () => {
    const { key } = await agent({ models: ["core/cheap"] });
    expect((await ask(key, { model: "nobody/nothing" })).error?.code).toBe("model_not_found");
  });

  it("is held to it for embeddings too", async () => {
    const body = { model: "openai/text-embedding-3-small", input: "hello" };
    const { key: free } = await agent({ models: [body.model] });
    expect((await call(free, "POST", "/api/llm/v1/embeddings", body)).status).toBe(200);
    const { key: bound } = await agent({ models: ["core/cheap"] });
    const refused = await call(bound, "POST", "/api/llm/v1/embeddings", body);
    expect([refused.status, refused.body.error.code]).toEqual([403, "key_not_allowed"]);
  });

  it("follows a change at once, and leaves other keys alone", async () => {
    const { id, key } = await agent({});
    expect((await ask(key, { model: "sandbox/ok" })).status).toBe(200);
    await call(account.key, "PATCH", `/api/v1/agents/${id}`, { models: ["core/cheap"] });
    expect((await ask(key, { model: "sandbox/ok" })).status).toBe(403);
    expect((await ask(account.key, { model: "sandbox/ok" })).status).toBe(200);
  });
});

describe("a key with an expiry", () => {
  it("stops working when it comes, in the middle of its use", async () => {
    const { id, key } = await agent({});
    expect((await ask(key, { model: "sandbox/ok" })).status).toBe(200);
    // Tried again where the time is past when the request arrives.
    await eventually(async () => {
      const expires_at = new Date(Date.now() + 300).toISOString();
      const { status } = await call(account.key, "PATCH", `/api/v1/agents/${id}`, { expires_at });
      return status === 200 || undefined;
    }, "a time of expiry");
    const refused = await eventually(async () => {
      const seen = await ask(key, { model: "sandbox/ok" });
      return seen.status === 200 ? undefined : seen;
    }, "the key to expire");
    expect([refused.status, refused.error?.code]).toEqual([401, "invalid_token"]);
    expect(refused.error?.message).toBe("This key has expired.");
  });
});

describe("a list of services", () => {
  const limited = { services: ["files", "exa/search"], models: null };

  it.each([
    ["files", "get", true],
    ["files", "list", true],
    ["exa", "search", true],
    ["exa", "contents", false],
    ["brave", "search", false],
  ])("%s/%s: %s", (service, action, allowed) => {
    expect(serviceAllowed(limited, service, action)).toBe(allowed);
    const refused = serviceRefusal(limited, service, action);
    expect(refused === null).toBe(allowed);
    if (refused !== null) expect([refused.status, refused.options.data]).toEqual([403, { allowed: limited.services }]);
  });

  it("says nothing of models, nor a list of models of services", () => {
    expect(() => requireModels(limited, [{ name: "any/model", param: "model" }])).not.toThrow();
    expect(serviceAllowed({ services: null, models: [] }, "any", "thing")).toBe(true);
    expect(serviceAllowed({ services: [], models: null }, "any", "thing")).toBe(false);
  });
});
