// The names that a caller may use for a model: its slug, a name that only one maker has; and the errors for every other name.
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { forFile } from "../../support/for-file.ts";
import { startTestGateway } from "../../support/gateway.ts";
import { postAs } from "../../support/keyed-fetch.ts";

const gateway = forFile(await startTestGateway());
const account = await gateway.account();

interface Told {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly param: string;
  readonly hint: string;
  readonly metadata: { readonly nearest?: readonly string[] };
}

async function post(path: string, body: object, key = account.key) {
  const response = await postAs(key, `${gateway.url}${path}`, body);
  return { status: response.status, headers: response.headers, json: (await response.json()) as { error?: Told } };
}

const ask = (model: string, key?: string) =>
  post("/api/llm/v1/chat/completions", { model, messages: [{ role: "user", content: "Hi" }] }, key);

async function told(model: string): Promise<Told> {
  const { status, json } = await ask(model);
  return { ...(json.error as Told), status };
}

describe("a name without a maker", () => {
  it("is enough where one maker alone has such a model", async () => {
    for (const [name, slug] of [
      ["gpt-5.4-mini", "openai/gpt-5.4-mini"],
      ["claude-haiku-4-5", "anthropic/claude-haiku-4.5"],
      ["claude-haiku-4.5", "anthropic/claude-haiku-4.5"],
      ["gemini-3.6-flash", "google/gemini-3.6-flash"],
    ] as const) {
      const { status, headers } = await ask(name);
      expect([name, status, headers.get("x-tollgate-model")]).toEqual([name, 200, slug]);
    }
    const embedded = await account.client.embeddings.create({ model: "text-embedding-3-small", input: "x" });
    expect(embedded.model).toBe("openai/text-embedding-3-small");
    expect(await account.client.models.retrieve("gpt-5.4-mini")).toMatchObject({ id: "openai/gpt-5.4-mini" });
  });

  it("is held against a key's list under its full name", async () => {
    const made = await post("/api/v1/agents", { label: "one", models: ["openai/gpt-5.4-mini"] });
    const { api_key: key } = made.json as unknown as { api_key: string };
    expect((await ask("gpt-5.4-mini", key)).status).toBe(200);
    const other = await ask("gpt-5.4-nano", key);
    expect([other.status, other.json.error?.code]).toEqual([403, "key_not_allowed"]);
  });

  it("is written to the books and the log under its full name", async () => {
    const { headers } = await ask("gpt-5.4-mini");
    expect(await gateway.record(headers.get("x-request-id"))).toMatchObject({ asked: "openai/gpt-5.4-mini" });
  });
});

describe("a name that nobody has", () => {
  it("gets the nearest ones, tiers too, whichever way it is asked", async () => {
    for (const [name, near] of [
      ["openai/gpt-5-nanno", "openai/gpt-5.4-nano"],
      ["core/cheep", "core/cheap"],
      ["gpt-5.4-mnii", "openai/gpt-5.4-mini"],
    ] as const) {
      const error = await told(name);
      expect(error).toMatchObject({ status: 404, code: "model_not_found", param: "model" });
      expect(error.metadata.nearest).toContain(near);
      expect(error.message).toContain(near);
      const listed = account.client.models.retrieve(name);
      await expect(listed).rejects.toMatchObject({
        status: 404,
        error: { metadata: { nearest: error.metadata.nearest } },
      });
    }
    const embedding = account.client.embeddings.create({ model: "openai/text-embedding-3-smal", input: "x" });
    await expect(embedding).rejects.toMatchObject({
      error: { metadata: { nearest: expect.arrayContaining(["openai/text-embedding-3-small"]) } },
    });
  });

  it("is told of the other endpoint where it is the name of the other kind of model", async () => {
    expect((await told("openai/text-embedding-3-small")).message).toContain("/api/llm/v1/embeddings");
    const chat = account.client.embeddings.create({ model: "gpt-5.4-mini", input: "x" });
    await expect(chat).rejects.toThrow("/api/llm/v1/chat/completions");
  });
});

describe("a suffix of OpenRouter's", () => {
  it("that asks for a free model gets the one that has a price", async () => {
    for (const name of ["openai/gpt-5.4-mini:free", "gpt-5.4-mini:free"]) {
      const error = await told(name);
      expect(error).toMatchObject({ status: 404, code: "model_not_found", param: "model" });
      expect(error.message).toContain("ask for openai/gpt-5.4-mini at its price");
      expect(error.hint).toContain("/models");
    }
    const unknown = await told("openai/gpt-5.4-minni:free");
    expect(unknown.message).toContain("No model is free here.");
    expect(unknown.metadata.nearest).toContain("openai/gpt-5.4-mini");
  });

  it("that is billed apart is refused with a hint about the suffix", async () => {
    const error = await told("openai/gpt-5.4-nano:thinking");
    expect(error).toMatchObject({ status: 400, code: "unsupported_field", param: "model" });
    expect(error.message).toContain("ask for openai/gpt-5.4-nano");
    expect(error.hint).toBe("Ask for the model without the suffix.");
  });
});

describe("a client whose base URL is not quite ours", () => {
  it("works below /v1 as below /api/llm/v1, and is counted as the same", async () => {
    const client = new OpenAI({ apiKey: account.key, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
    const messages = [{ role: "user", content: "Hi" }] as const;
    const { data, request_id } = await client.chat.completions
      .create({ model: "gpt-5.4-mini", messages: [...messages] })
      .withResponse();
    expect(data.model).toBe("openai/gpt-5.4-mini");
    expect(await gateway.record(request_id)).toMatchObject({ endpoint: "/api/llm/v1/chat/completions" });
    expect(await client.models.retrieve("openai/gpt-5.4-mini")).toMatchObject({ id: "openai/gpt-5.4-mini" });
    expect((await client.models.list()).data.length).toBeGreaterThan(60);
    await expect(client.models.retrieve("nobody/x")).rejects.toMatchObject({ code: "model_not_found" });
    const missing = await fetch(`${gateway.url}/v1/nothing`);
    expect(await missing.json()).toMatchObject({ error: { code: "not_found", hint: expect.stringContaining("/v1") } });
  });

  it("is charged once for one Idempotency-Key, by whichever path it sends it", async () => {
    const send = (base: string) =>
      postAs(
        account.key,
        `${gateway.url}${base}/chat/completions`,
        { model: "gpt-5.4-mini", messages: [{ role: "user", content: "Once" }] },
        { "idempotency-key": "one-and-the-same" },
      );
    const first = await send("/v1");
    const second = await send("/api/llm/v1");
    expect([first.status, first.headers.get("idempotent-replayed")]).toEqual([200, null]);
    expect([second.status, second.headers.get("idempotent-replayed")]).toEqual([200, "true"]);
    expect(await second.text()).toBe(await first.text());
  });

  it("is told where the path is served", async () => {
    for (const path of ["/chat/completions", "/api/llm/v1/v1/chat/completions"]) {
      const response = await fetch(`${gateway.url}${path}`, { method: "POST" });
      expect(response.status).toBe(404);
      expect(await response.text()).toMatch(/There is \/(api\/llm\/)?v1\/chat\/completions\./);
    }
  });

  it("finds the catalog at the root", async () => {
    const response = await fetch(`${gateway.url}/`, { redirect: "manual" });
    expect([response.status, response.headers.get("location")]).toEqual([303, "/catalog"]);
    expect((await fetch(`${gateway.url}/`)).headers.get("content-type")).toContain("text/html");
  });
});

/** One call of each wire. */
const WIRES: readonly [string, (model: string) => [string, object]][] = [
  ["chat", (model) => ["/v1/chat/completions", { model, messages: [{ role: "user", content: "Hi" }] }]],
  [
    "chat, among several",
    (model) => ["/v1/chat/completions", { models: [model], messages: [{ role: "user", content: "Hi" }] }],
  ],
  ["responses", (model) => ["/v1/responses", { model, input: "Hi" }]],
  ["messages", (model) => ["/v1/messages", { model, max_tokens: 50, messages: [{ role: "user", content: "Hi" }] }]],
  [
    "generate-content",
    (model) => [`/v1beta/models/${model}:generateContent`, { contents: [{ parts: [{ text: "Hi" }] }] }],
  ],
];

describe.each(WIRES)("a name that no model has, in %s", (_, call) => {
  it("is served by the tier that stands in for it, and the answer says so", async () => {
    const { status, headers } = await post(...call("claude-opus-9"));
    expect([status, headers.get("x-tollgate-stand-in")]).toEqual([200, "claude-opus-9=core/best"]);
    const known = await post(...call("claude-haiku-4-5"));
    expect([known.status, known.headers.get("x-tollgate-stand-in")]).toEqual([200, null]);
  });

  it.each([
    ["anthropic/claude-opus-9", "anthropic/claude-opus-5"],
    ["gpt-9-turbo", "openai/gpt-5.1"],
    ["gpt-5.4-mimi", "openai/gpt-5.4-mini"],
    ["core/chep", "core/cheap"],
  ])("%s is not found, and %s is near", async (name, near) => {
    const { status, json } = await post(...call(name));
    expect([status, JSON.stringify(json)]).toEqual([404, expect.stringContaining("model_not_found")]);
    expect((json as { error: { message: string } }).error.message).toContain(near);
  });
});
