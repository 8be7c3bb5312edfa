// What clients of hosted gateways request besides calls: the key, the remaining credit, and a call's cost, which agrees with the books.
import { expect, it } from "vitest";
import { forFile } from "../../support/for-file.ts";
import { startTestGateway } from "../../support/gateway.ts";
import { postAs } from "../../support/keyed-fetch.ts";

const gateway = forFile(await startTestGateway());
const account = await gateway.account({ creditCents: 500 });

async function get(path: string, key = account.key) {
  const response = await fetch(`${gateway.url}${path}`, { headers: { authorization: `Bearer ${key}` } });
  const json = (await response.json()) as { data: Record<string, unknown>; error?: Record<string, unknown> };
  return { status: response.status, ...json };
}

/** A model's charges, by the metrics. */
async function chargedBy(model: string): Promise<number> {
  const text = await (await fetch(`${gateway.adminUrl}/metrics`)).text();
  const lines = text
    .split("\n")
    .filter((line) => line.startsWith("tollgate_charged_usd") && line.includes(`"${model}"`));
  return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

it("a generation costs what its answer, its transaction and the metrics say, by any id that its caller has", async () => {
  const { data, response } = await account.client.chat.completions
    .create({ model: "openai/gpt-5-nano", messages: [{ role: "user", content: "hello" }] })
    .withResponse();
  const requestId = String(response.headers.get("x-request-id"));
  const transactionId = requestId.replace(/^req_/, "tx_");
  const { cost } = data.usage as unknown as { cost: number };
  for (const id of [data.id, requestId, transactionId, data.id.replace(/^chatcmpl-/, "gen-")]) {
    const { data: told } = await get(`/v1/generation?id=${id}`);
    expect(told).toMatchObject({
      id: transactionId,
      model: "openai/gpt-5-nano",
      provider_name: "openai",
      api_type: "chat",
      total_cost: cost,
      usage: cost,
      tokens_prompt: data.usage?.prompt_tokens,
      tokens_completion: data.usage?.completion_tokens,
      is_byok: false,
    });
  }
  const posting = (await get(`/api/v1/transactions/${transactionId}`)) as unknown as { charged_nano_usd: number };
  expect(posting.charged_nano_usd / 1e9).toBe(cost);
  expect(await chargedBy("openai/gpt-5-nano")).toBeCloseTo(cost, 12);
});

it("so does a generation of a model that is sold by units", async () => {
  const { data, response } = await account.client.images
    .generate({ model: "gpt-image-2", prompt: "a boat", quality: "medium", size: "1024x1024" })
    .withResponse();
  const { cost } = data.usage as unknown as { cost: number };
  const { data: told } = await get(`/v1/generation?id=${response.headers.get("x-request-id")}`);
  expect(told).toMatchObject({ model: "openai/gpt-image-2", api_type: "images", total_cost: cost });
  expect(await chargedBy("openai/gpt-image-2")).toBeCloseTo(cost, 12);
});

it("a stream that asks for usage in OpenRouter's way says what it cost", async () => {
  const stream = await account.client.chat.completions.create({
    model: "sandbox/ok",
    messages: [{ role: "user", content: "again" }],
    stream: true,
    usage: { include: true },
  } as never);
  let last: { id: string; usage?: { cost?: number } } | null = null;
  for await (const chunk of stream as unknown as AsyncIterable<{ id: string; usage?: { cost?: number } }>) last = chunk;
  const { data: told } = await get(`/api/llm/v1/generation?id=${last?.id}`);
  expect(told.total_cost).toBe(last?.usage?.cost);
});

it("a generation of nobody's, or of another's, is not found", async () => {
  const other = await gateway.account();
  const { id } = await other.client.chat.completions.create({
    model: "sandbox/ok",
    messages: [{ role: "user", content: "mine" }],
  });
  expect((await get(`/v1/generation?id=${id}`)).status).toBe(404);
  expect((await get("/v1/generation?id=gen-0123456789")).status).toBe(404);
  expect((await get("/v1/generation?id=../../x")).status).toBe(404);
  expect((await get("/v1/generation")).error).toMatchObject({ code: "bad_request", param: "id" });
});

it("a key tells its ceiling and what is left of it, and what was spent in its period", async () => {
  const made = await postAs(account.key, `${gateway.url}/api/v1/agents`, {
    label: "agent",
    ceiling_cents: 100,
    ceiling_period: "week",
  });
  const { api_key } = (await made.json()) as { api_key: string };
  const client = account.client.withOptions({ apiKey: api_key });
  const { usage } = await client.chat.completions.create({
    model: "sandbox/ok",
    messages: [{ role: "user", content: "hello" }],
  });
  const { cost } = usage as unknown as { cost: number };
  const { data } = await get("/v1/key", api_key);
  expect(data).toMatchObject({
    label: "agent",
    limit: 1,
    limit_reset: "weekly",
    usage: cost,
    usage_weekly: cost,
    usage_daily: null,
    is_provisioning_key: false,
  });
  expect(data.limit_remaining).toBeCloseTo(1 - cost, 9);
  expect((await get("/v1/key")).data).toMatchObject({ limit: null, limit_remaining: null, is_provisioning_key: true });
});

it("credits are what was granted and what was spent", async () => {
  const { data } = await get("/v1/credits");
  const { balance_cents } = (await get("/api/v1/account")) as unknown as { balance_cents: number };
  expect(data.total_credits).toBe(5);
  expect(Math.floor((5 - Number(data.total_usage)) * 100)).toBe(balance_cents);
});

it.each([
  [{ transforms: ["middle-out"] }, "transforms"],
  [{ plugins: [{ id: "file-parser" }] }, "plugins"],
])("%j is refused by name", async (more, param) => {
  const asked = account.client.chat.completions.create({
    model: "sandbox/ok",
    messages: [{ role: "user", content: "x" }],
    ...more,
  });
  await expect(asked).rejects.toMatchObject({ status: 400, param, code: "unsupported_field" });
});
