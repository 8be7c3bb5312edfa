// Models sold by units, with the official client: their answers, their holds, and the ledger's postings.
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { forFile } from "../../support/for-file.ts";
import { startTestGateway } from "../../support/gateway.ts";
import { getAs, postAs } from "../../support/keyed-fetch.ts";

/** Image models that no vendor retires. */
const OVERLAY_DIR = fileURLToPath(new URL("../../fixtures/images-overlay", import.meta.url));

const gateway = forFile(await startTestGateway({ OVERLAY_DIR }));
const account = await gateway.account({ creditCents: 10_000 });

async function post(path: string, body: unknown, headers: Record<string, string> = {}, key = account.key) {
  const response = await postAs(key, `${gateway.url}/v1${path}`, body, headers);
  return { response, json: (await response.json()) as Record<string, never> & { error?: Record<string, unknown> } };
}

/** An answer's transaction, as its payer looks it up. */
async function transactionOf(requestId: string | null, key = account.key) {
  const id = String(requestId).replace(/^req_/, "tx_");
  const response = await getAs(key, `${gateway.url}/api/v1/transactions/${id}`);
  return (await response.json()) as Record<string, unknown>;
}

describe("fields that are null", () => {
  const nulls = (...names: string[]) => Object.fromEntries(names.map((name) => [name, null]));

  it.each([
    [
      "/images/generations",
      { model: "openai/gpt-image-1.5", prompt: "a boat" },
      ["n", "size", "quality", "background", "output_format", "moderation", "stream", "partial_images", "user"],
    ],
    [
      "/audio/speech",
      { model: "openai/gpt-4o-mini-tts", input: "hello", voice: "alloy" },
      ["instructions", "response_format", "speed", "stream_format"],
    ],
    [
      "/embeddings",
      { model: "openai/text-embedding-3-small", input: "sea" },
      ["encoding_format", "dimensions", "user"],
    ],
    ["/rerank", { model: "voyage/rerank-2.5", query: "sea", documents: ["a"] }, ["top_n", "return_documents"]],
    ["/completions", { model: "mistralai/codestral-2508", prompt: "def" }, ["suffix", "n", "stop", "seed", "logprobs"]],
  ])("%s: are not sent", async (path, body, names) => {
    const response = await postAs(account.key, `${gateway.url}/v1${path}`, { ...body, ...nulls(...names) });
    expect([response.status, response.ok ? "" : await response.text()]).toEqual([200, ""]);
    await response.arrayBuffer();
  });
});

describe("rerank", () => {
  const documents = ["a boat on the sea", "the sea is deep", "a house on a hill"];

  it.each([
    ["cohere/rerank-v3.5", 2_000_000],
    ["voyage/rerank-2.5", null],
    ["jinaai/jina-reranker-v3", null],
  ])("%s ranks, and charges what the vendor says", async (model, nano) => {
    const { response, json } = await post("/rerank", {
      model,
      query: "deep sea",
      documents,
      top_n: 2,
      return_documents: true,
    });
    expect(json).toMatchObject({ model, results: [{ index: 1, document: { text: "the sea is deep" } }, { index: 0 }] });
    const transaction = await transactionOf(response.headers.get("x-request-id"));
    const { tokens } = json.meta as unknown as { tokens?: { input_tokens: number } };
    expect(transaction).toMatchObject({
      endpoint: "rerank",
      model,
      charged_nano_usd: nano ?? (tokens?.input_tokens ?? 0) * 50,
    });
    expect(json.usage).toEqual({ cost: Number(transaction.charged_nano_usd) / 1e9 });
    const record = await gateway.record(response.headers.get("x-request-id"));
    expect(record.charged_nano_usd).toBe(transaction.charged_nano_usd);
  });

  it("is refused where the most that it can cost is not there", async () => {
    const poor = await gateway.account({ creditCents: 0 });
    const { response, json } = await post(
      "/rerank",
      { model: "cohere/rerank-v3.5", query: "sea", documents },
      {},
      poor.key,
    );
    expect([response.status, json.error?.code]).toEqual([402, "insufficient_balance"]);
    const dear = { model: "cohere/rerank-v3.5", query: "sea", documents, max_cost_cents: 0 };
    expect((await post("/rerank", dear)).json.error?.code).toBe("max_cost_exceeded");
  });

  it("holds for the chunks of long documents", async () => {
    const long = Array.from({ length: 60 }, () => "word ".repeat(600));
    const { response } = await post("/rerank", { model: "cohere/rerank-v3.5", query: "sea", documents: long });
    const record = await gateway.record(response.headers.get("x-request-id"));
    // Sixty documents of 3,000 bytes make at most seven chunks each, which is five searches.
    expect(record).toMatchObject({ held_nano_usd: 10_000_000 });
  });

  it.each([
    [{ query: "sea", documents }, "model"],
    [{ model: "cohere/rerank-v3.5", documents }, "query"],
    [{ model: "cohere/rerank-v3.5", query: "sea", documents: [] }, "documents"],
    [{ model: "cohere/rerank-v3.5", query: "sea", documents: [{ title: "x" }] }, "documents.0.text"],
    [{ model: "cohere/rerank-v3.5", query: "sea", documents, top_n: 0 }, "top_n"],
  ])("%j is refused by name", async (body, param) => {
    const { response, json } = await post("/rerank", body);
    expect([response.status, json.error?.param]).toEqual([400, param]);
  });

  it("says where another kind of model is asked", async () => {
    const { json } = await post("/rerank", { model: "gpt-5-nano", query: "sea", documents });
    expect(json.error).toMatchObject({ code: "model_not_found" });
    expect(String(json.error?.message)).toContain("chat/completions");
    const chat = await post("/chat/completions", {
      model: "cohere/rerank-v3.5",
      messages: [{ role: "user", content: "x" }],
    });
    expect(String(chat.json.error?.message)).toContain("POST /api/llm/v1/rerank");
  });
});

describe("moderations", () => {
  it("cost nothing, and leave no transaction", async () => {
    const poor = await gateway.account({ creditCents: 0 });
    const { data, response } = await poor.client.moderations
      .create({ input: ["a nice day", "violence"] })
      .withResponse();
    expect(data.model).toBe("openai/omni-moderation-latest");
    expect(data.results.map(({ flagged }) => flagged)).toEqual([false, true]);
    const transaction = await transactionOf(response.headers.get("x-request-id"), poor.key);
    expect(transaction).toMatchObject({ ok: false });
  });

  it("take pictures and texts in parts", async () => {
    const { results } = await account.client.moderations.create({
      model: "omni-moderation-latest",
      input: [
        { type: "text", text: "hate" },
        { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
      ],
    });
    expect(results).toHaveLength(1);
    expect(results[0]?.flagged).toBe(true);
  });

  it("are counted by the minute", async () => {
    const busy = await gateway.account();
    const asked = await Promise.all(
      Array.from({ length: 70 }, () => post("/moderations", { input: "x" }, {}, busy.key)),
    );
    const limited = asked.filter(({ response }) => response.status === 429);
    expect(limited.length).toBeGreaterThanOrEqual(10);
    expect(limited[0]?.json.error?.code).toBe("rate_limited");
    expect(limited[0]?.response.headers.get("retry-after")).toMatch(/^\d+$/);
  });
});

describe("images", () => {
  const prompt = "a lighthouse at dawn";

  it("of tokens cost what the vendor counted, and are held for the dearest that they can be", async () => {
    const { data, response } = await account.client.images
      .generate({ model: "easel/gpt-image-by-token", prompt, n: 2, size: "1024x1536", quality: "low" })
      .withResponse();
    expect(data.data?.map(({ b64_json }) => typeof b64_json)).toEqual(["string", "string"]);
    // 8 text tokens at 5 USD per million, and twice 408 image tokens at 32.
    expect(data.usage).toMatchObject({ input_tokens: 8, output_tokens: 816, cost: (8 * 5 + 816 * 32) / 1e6 });
    const requestId = response.headers.get("x-request-id");
    expect(await transactionOf(requestId)).toMatchObject({
      endpoint: "images",
      charged_nano_usd: 8 * 5_000 + 816 * 32_000,
      usage: { input_tokens: 8, output_tokens: 816 },
    });
    expect(await gateway.record(requestId)).toMatchObject({ held_nano_usd: prompt.length * 5_000 + 816 * 32_000 });
    const auto = await account.client.images.generate({ model: "easel/gpt-image-by-token", prompt }).withResponse();
    const held = await gateway.record(auto.response.headers.get("x-request-id"));
    expect(held).toMatchObject({ held_nano_usd: prompt.length * 5_000 + 6_240 * 32_000 });
  });

  it("by the piece cost what size and quality are listed at", async () => {
    const { data, response } = await account.client.images
      .generate({ model: "easel/dall-e-3", prompt, size: "1792x1024", quality: "hd", response_format: "b64_json" })
      .withResponse();
    expect(data.data).toHaveLength(1);
    const found = await transactionOf(response.headers.get("x-request-id"));
    expect(found).toMatchObject({ charged_nano_usd: 120_000_000 });
    const many = await account.client.images
      .generate({ model: "easel/dall-e-2", prompt, n: 3, size: "256x256" })
      .withResponse();
    expect(many.data.data?.map(({ url }) => typeof url)).toEqual(["string", "string", "string"]);
    expect(await transactionOf(many.response.headers.get("x-request-id"))).toMatchObject({
      charged_nano_usd: 48_000_000,
    });
  });

  it("of a model that talks are parts of what it says", async () => {
    const { data, response } = await account.client.images
      .generate({ model: "google/gemini-3.1-flash-lite-image", prompt, size: "1536x1024" })
      .withResponse();
    expect(data.data?.[0]?.b64_json).toMatch(/^iVBOR/);
    const tokens = data.usage?.input_tokens ?? 0;
    expect(await transactionOf(response.headers.get("x-request-id"))).toMatchObject({
      charged_nano_usd: Math.ceil(tokens * 250 + 64 * 1_500 + 1_290 * 30_000),
    });
  });

  it("by the megapixel cost what is begun of each", async () => {
    const { data, response } = await account.client.images
      .generate({ model: "black-forest-labs/flux-schnell", prompt, n: 2, size: "1536x1024" as "1024x1024" })
      .withResponse();
    expect(data.data?.map(({ b64_json }) => typeof b64_json)).toEqual(["string", "string"]);
    expect(await transactionOf(response.headers.get("x-request-id"))).toMatchObject({
      charged_nano_usd: 4 * 3_000_000,
    });
  });

  it("come in events, whose last says what they cost", async () => {
    const { data: stream, response } = await account.client.images
      .generate({
        model: "easel/gpt-image-by-token",
        prompt,
        size: "1024x1024",
        quality: "low",
        stream: true,
        partial_images: 2,
      })
      .withResponse();
    const events: { type: string; usage?: unknown }[] = [];
    for await (const event of stream) events.push(event);
    expect(events.map(({ type }) => type)).toEqual([
      "image_generation.partial_image",
      "image_generation.partial_image",
      "image_generation.completed",
    ]);
    const nano = 8 * 5_000 + 472 * 32_000;
    expect(events.at(-1)?.usage).toMatchObject({ output_tokens: 472, cost: nano / 1e9 });
    expect(await transactionOf(response.headers.get("x-request-id"))).toMatchObject({ charged_nano_usd: nano });
  });

  it.each([
    [{ model: "gpt-image-2", size: "3840x2160" }, "size"],
    [{ model: "easel/gpt-image-by-token", quality: "hd" }, "quality"],
    [{ model: "easel/dall-e-3", n: 2 }, "n"],
    [{ model: "easel/dall-e-2", size: "1792x1024" }, "size"],
    [{ model: "easel/gpt-image-by-token", n: 5 }, "n"],
    [{ model: "easel/dall-e-2", n: 11 }, "n"],
    [{ model: "easel/gpt-image-by-token", response_format: "url" }, "response_format"],
    [{ model: "easel/gpt-image-by-token", output_format: "svg" }, "output_format"],
    [{ model: "easel/gpt-image-by-token", frame_count: 8 }, "frame_count"],
    [{ model: "easel/dall-e-3", background: "transparent" }, "background"],
    [{ model: "google/gemini-3.1-flash-lite-image", quality: "high" }, "quality"],
    [{ model: "google/gemini-3.1-flash-lite-image", n: 2 }, "n"],
    [{ model: "black-forest-labs/flux-dev", size: "9000x9000" }, "size"],
    [{ model: "easel/gpt-image-by-token", n: 2, stream: true }, "n"],
    [{ model: "easel/dall-e-3", stream: true }, "stream"],
  ])("%j is refused by name, before anything is asked", async (more, param) => {
    const { response, json } = await post("/images/generations", { prompt, ...more });
    expect([response.status, json.error?.param]).toEqual([400, param]);
    expect((await gateway.record(response.headers.get("x-request-id"))).attempts).toBeUndefined();
  });
});

describe("completions", () => {
  it.each([
    ["mistralai/codestral-2508", 300, 900],
    ["deepseek/deepseek-v4-flash", 300, 1_200],
    ["qwen/qwen3.7-plus", 400, 1_600],
  ])("of %s come whole, with what they cost", async (model, inNano, outNano) => {
    const suffix = model.startsWith("qwen") ? {} : { suffix: "return sum" };
    const { data, response } = await account.client.completions
      .create({ model, prompt: "def add(a, b):", max_tokens: 20, ...suffix })
      .withResponse();
    expect(data).toMatchObject({ object: "text_completion", model, usage: { completion_tokens: 20 } });
    expect(data.choices[0]).toMatchObject({ index: 0, finish_reason: "length" });
    expect(data.choices[0]?.text).toMatch(/\S/);
    const nano = (data.usage?.prompt_tokens ?? 0) * inNano + 20 * outNano;
    expect(data.usage).toMatchObject({ cost: nano / 1e9 });
    expect(await transactionOf(response.headers.get("x-request-id"))).toMatchObject({
      endpoint: "text_completion",
      charged_nano_usd: nano,
    });
  });

  it.each(["mistralai/codestral-2508", "deepseek/deepseek-v4-pro"])("of %s come in events", async (model) => {
    const asked = { model, prompt: "def add(a, b):", suffix: "return", max_tokens: 20, user: "me" };
    const whole = await account.client.completions.create(asked);
    const stream = await account.client.completions.create({
      ...asked,
      stream: true,
      stream_options: { include_usage: true },
    });
    let text = "";
    let usage: unknown;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.text ?? "";
      usage = chunk.usage ?? usage;
    }
    expect(text).toBe(whole.choices[0]?.text);
    expect(usage).toEqual(whole.usage);
  });

  it("that are left in mid-stream cost the prompt and what was delivered", async () => {
    const leaving = new AbortController();
    const { data: stream, response } = await account.client.completions
      .create(
        { model: "qwen/qwen3.7-plus", prompt: "on [[words: 4000]] [[pace: 100]]", stream: true },
        { signal: leaving.signal },
      )
      .withResponse();
    await stream[Symbol.asyncIterator]().next();
    leaving.abort();
    const record = await gateway.record(response.headers.get("x-request-id"));
    expect(record).toMatchObject({ outcome: "left_after_content", estimated: true });
    expect(record.charged_nano_usd).toBeLessThan(1_000_000);
    expect(record.charged_nano_usd).toBeGreaterThan(16 * 400);
  });

  it.each([
    [{ model: "qwen/qwen3.7-plus", suffix: "x" }, "suffix", "bad_request"],
    [{ model: "mistralai/codestral-2508", n: 2 }, "n", "bad_request"],
    [{ model: "mistralai/codestral-2508", best_of: 4 }, "best_of", "unsupported_field"],
    [{ model: "mistralai/codestral-2508", echo: true }, "echo", "unsupported_field"],
    [{ model: "mistralai/codestral-2508", transforms: ["middle-out"] }, "transforms", "unsupported_field"],
    [{ model: "mistralai/codestral-2508", plugins: [{ id: "web" }] }, "plugins", "unsupported_field"],
  ])("%j is refused by name", async (more, param, code) => {
    const { response, json } = await post("/completions", { prompt: "def", ...more });
    expect([response.status, json.error?.param, json.error?.code]).toEqual([400, param, code]);
  });
});
