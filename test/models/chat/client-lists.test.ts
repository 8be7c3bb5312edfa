// What the official client finds besides chat: the model list, prices, embeddings, and the account of its key.

import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { forFile } from "../../support/for-file.ts";
import { startTestGateway } from "../../support/gateway.ts";
import { getAs } from "../../support/keyed-fetch.ts";
import { postingOf } from "./own-sums.ts";

interface ModelRow extends OpenAI.Model {
  readonly kind?: string;
  readonly context_length: number;
  readonly pricing: Record<string, string>;
}

interface PriceList {
  readonly tiers: Record<string, string[]>;
  readonly models: { model: string; prompt_usd_per_million: number; completion_usd_per_million: number }[];
}

const gateway = forFile(await startTestGateway());
const account = await gateway.account({ creditCents: 5_000 });
const client = account.client;

async function get<Body>(path: string): Promise<Body> {
  const response = await getAs(account.key, `${gateway.url}${path}`);
  expect(response.status).toBe(200);
  return (await response.json()) as Body;
}

async function ask(content: string): Promise<string> {
  const { request_id } = await client.chat.completions
    .create({ model: "sandbox/ok", messages: [{ role: "user", content }] })
    .withResponse();
  return String(request_id);
}

describe("the models", () => {
  it("are listed with prices, and each is found by its slug, slash and all", async () => {
    const models: ModelRow[] = [];
    for await (const model of client.models.list()) models.push(model as ModelRow);
    expect(models.length).toBeGreaterThanOrEqual(60);
    expect(new Set(models.map(({ id }) => id)).size).toBe(models.length);
    for (const { id, object, owned_by, created, kind, context_length, pricing } of models) {
      expect([object, owned_by, typeof created]).toEqual(["model", id.split("/")[0], "number"]);
      // A model sold by units has no context, and a price per unit.
      if (pricing.prompt === undefined) continue;
      if (kind !== "realtime") expect(context_length).toBeGreaterThan(0);
      for (const field of ["prompt", "completion"]) expect(pricing[field]).toMatch(/^\d+(\.\d+)?$/);
    }
    const listed = models.find(({ id }) => id === "openai/gpt-5.4-nano");
    expect(await client.models.retrieve("openai/gpt-5.4-nano")).toEqual(listed);
    const unescaped = await get<ModelRow>("/api/llm/v1/models/openai/gpt-5.4-nano");
    expect(unescaped).toEqual(listed);
    await expect(client.models.retrieve("nobody/knows-it")).rejects.toBeInstanceOf(OpenAI.NotFoundError);
  });

  it("have one price, whichever list is read", async () => {
    const prices = await get<PriceList>("/api/llm/v1/pricing");
    for await (const model of client.models.list()) {
      if (model.owned_by === "core") continue;
      const { kind, pricing } = model as ModelRow;
      // Models sold by units, realtime ones included, are in a list of their own.
      if (pricing.prompt === undefined || kind === "realtime") continue;
      const row = prices.models.find((one) => one.model === model.id);
      expect(Number(pricing.prompt) * 1e6).toBeCloseTo(row?.prompt_usd_per_million ?? -1, 6);
      expect(Number(pricing.completion) * 1e6).toBeCloseTo(row?.completion_usd_per_million ?? -1, 6);
    }
    expect(Object.keys(prices.tiers).toSorted()).toEqual(["best", "cheap", "mid"]);
    const slugs = prices.models.map(({ model }) => model);
    for (const tier of Object.values(prices.tiers)) expect(slugs).toEqual(expect.arrayContaining(tier));
  });

  it("need no key", async () => {
    for (const path of ["/api/llm/v1/models", "/api/llm/v1/pricing", "/api/llm/v1/models/openai/gpt-5.4-nano"]) {
      expect((await fetch(`${gateway.url}${path}`)).status).toBe(200);
    }
  });
});

describe("embeddings", () => {
  it("come as numbers, for one text and for several, and are charged by their input", async () => {
    const one = await client.embeddings.create({ model: "openai/text-embedding-3-small", input: "a few words here" });
    expect(one.data).toHaveLength(1);
    expect(one.data[0]?.embedding).toHaveLength(1_536);
    const { data, response, request_id } = await client.embeddings
      .create({ model: "openai/text-embedding-3-small", input: ["a few words here", "and two"] })
      .withResponse();
    expect(data.model).toBe("openai/text-embedding-3-small");
    expect(data.data.map(({ index }) => index)).toEqual([0, 1]);
    expect(data.data[0]?.embedding).toEqual(one.data[0]?.embedding);
    expect(response.headers.get("x-tollgate-model")).toBe("openai/text-embedding-3-small");
    const posting = await postingOf(gateway, account, request_id);
    // 0.02 USD per million tokens is 20 nano-USD per token.
    expect(Number(posting?.charged_nano_usd)).toBe(data.usage.prompt_tokens * 20);
    expect((data.usage as unknown as { cost: number }).cost).toBe(Number(posting?.charged_nano_usd) / 1e9);
  });

  it("are the same whether they travel as text or as bytes", async () => {
    const body = { model: "openai/text-embedding-3-large", input: "the same text", dimensions: 16 };
    const bytes = await client.embeddings.create(body);
    const floats = await client.embeddings.create({ ...body, encoding_format: "float" });
    expect(bytes.data[0]?.embedding).toHaveLength(16);
    for (const [at, value] of (floats.data[0]?.embedding ?? []).entries()) {
      expect(bytes.data[0]?.embedding[at]).toBeCloseTo(value, 5);
    }
    const tokens = await client.embeddings.create({ ...body, input: [1, 2, 3] });
    expect(tokens.usage.prompt_tokens).toBe(3);
  });

  it("are refused by name of the field at fault", async () => {
    const empty = client.embeddings.create({ model: "openai/text-embedding-3-small", input: "" });
    await expect(empty).rejects.toMatchObject({ status: 400, param: "input" });
    const unknown = client.embeddings.create({ model: "nobody/knows-it", input: "x" });
    await expect(unknown).rejects.toMatchObject({ status: 404, code: "model_not_found" });
    const chat = client.embeddings.create({ model: "openai/gpt-5.4-nano", input: "x" });
    await expect(chat).rejects.toMatchObject({ status: 404, code: "model_not_found" });
  });
});

describe("the account behind a key", () => {
  it("loses what its transactions say, newest first, page by page", async () => {
    const other = await gateway.account({ creditCents: 500 });
    const first = await ask("first [[words: 5000]]");
    const second = await ask("second");
    interface Page {
      readonly transactions: Record<string, unknown>[];
      readonly next_cursor: string | null;
    }
    const page = await get<Page>("/api/v1/transactions?limit=1");
    expect(page.transactions.map(({ request_id }) => request_id)).toEqual([second]);
    const next = await get<Page>(`/api/v1/transactions?limit=1&cursor=${page.next_cursor}`);
    expect(next.transactions.map(({ request_id }) => request_id)).toEqual([first]);
    const [row] = next.transactions;
    expect(row).toMatchObject({ model: "sandbox/ok", endpoint: "chat" });
    expect(await get(`/api/v1/transactions/${row?.transaction_id}`)).toEqual({ ...row, legs: expect.any(Array) });
    const all = await get<Page>("/api/v1/transactions?limit=1000");
    const spent = all.transactions.reduce((sum, one) => sum + Number(one.charged_cents), 0);
    expect(spent).toBeGreaterThan(0);
    expect(await get("/api/v1/account")).toMatchObject({
      account_id: account.accountId,
      kind: "sandbox",
      balance_cents: 5_000 - spent,
      held_cents: 0,
      key: { spent_cents: spent },
    });
    const foreign = await getAs(other.key, `${gateway.url}/api/v1/transactions/${row?.transaction_id}`);
    expect(foreign.status).toBe(404);
  });
});
