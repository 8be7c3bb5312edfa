// Models that are sold by units, by way of the official client: what they answer, what is held, and what the ledger shows.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestGateway, type TestAccount, type TestGateway } from "../support/gateway.ts";

let gateway: TestGateway;
let account: TestAccount;

beforeAll(async () => {
  gateway = await startTestGateway();
  account = await gateway.account({ creditCents: 10_000 });
});

afterAll(async () => {
  const findings = await gateway.doctor();
  await gateway.stop();
  expect(findings).toEqual([]);
});

async function post(path: string, body: unknown, headers: Record<string, string> = {}, key = account.key) {
  const response = await fetch(`${gateway.url}/v1${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  return { response, json: (await response.json()) as Record<string, never> & { error?: Record<string, unknown> } };
}

/** The transaction of an answer, as its payer looks it up. */
async function transactionOf(requestId: string | null, key = account.key) {
  const id = String(requestId).replace(/^req_/, "tx_");
  const response = await fetch(`${gateway.url}/api/v1/transactions/${id}`, {
    headers: { authorization: `Bearer ${key}` },
  });
  return (await response.json()) as Record<string, unknown>;
}

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
    expect(json).toMatchObject({
      model,
      results: [{ index: 1, document: { text: "the sea is deep" } }, { index: 0 }],
    });
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
    // Sixty documents of three thousand bytes are at most seven chunks each, which is five searches.
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
