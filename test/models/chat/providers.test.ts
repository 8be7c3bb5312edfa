// Live accounts against every vendor's wire: keys and addresses from the environment, a single key, several keys in turn.
import type OpenAI from "openai";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { forFile } from "../../support/for-file.ts";
import { startTestGateway } from "../../support/gateway.ts";
import { LONG_RUNS } from "../../support/runs.ts";
import { startRecordingVendor } from "./recording-vendor.ts";

/** How each vendor receives our key, the path at the end of its calls, and a model of its. */
const BEARER = { header: "authorization", prefix: "Bearer ", path: "/chat/completions" };
const GEMINI_PATH = /\/models\/[\w.-]+:(generateContent|streamGenerateContent)/;
const VENDORS = {
  openai: { ...BEARER, model: "openai/gpt-5.4-nano" },
  anthropic: { header: "x-api-key", prefix: "", path: "/messages", model: "anthropic/claude-sonnet-5" },
  gemini: { header: "x-goog-api-key", prefix: "", path: GEMINI_PATH, model: "google/gemini-3-flash-preview" },
  groq: { ...BEARER, model: "openai/gpt-oss-120b" },
  mistral: { ...BEARER, model: "mistralai/mistral-small-2603" },
  deepseek: { ...BEARER, model: "deepseek/deepseek-v4-flash" },
  xai: { ...BEARER, model: "x-ai/grok-4.5" },
  together: { ...BEARER, model: "openai/gpt-oss-120b" },
  fireworks: { ...BEARER, model: "z-ai/glm-5.3" },
  cerebras: { ...BEARER, model: "openai/gpt-oss-120b" },
  openrouter: { ...BEARER, model: "openai/gpt-5.4-nano" },
};
const LOCAL = ["ollama", "vllm", "custom"];

const vendor = forFile(await startRecordingVendor());

beforeEach(() => vendor.forget());

/** The settings for one vendor, with our address. */
function configured(id: string, keys = `key-of-${id}`): Record<string, string> {
  const name = id.toUpperCase();
  return { [`${name}_API_KEY`]: keys, [`${name}_BASE_URL`]: `${vendor.url}/${id}/v1` };
}

const HELLO: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: "hello [[pace: 100000]]" }];

function words(text: string | null | undefined): number {
  return (text ?? "").split(" ").filter(Boolean).length;
}

async function bothWays(client: OpenAI, model: string, fields: object = {}) {
  const body = { model, messages: HELLO, ...fields };
  const { data, request_id } = await client.chat.completions.create(body).withResponse();
  const streamed = await client.chat.completions.stream(body).finalChatCompletion();
  expect(words(data.choices[0]?.message.content)).toBe(60);
  expect(streamed.choices[0]?.message.content).toBe(data.choices[0]?.message.content);
  return { slug: data.model, requestId: request_id };
}

interface Row {
  readonly id: string;
  readonly kind: string;
  readonly available: boolean;
}

describe("with every vendor configured", async () => {
  const gateway = forFile(
    await startTestGateway(Object.assign({}, ...Object.keys(VENDORS).map((id) => configured(id)))),
  );
  const { client } = await gateway.account({ kind: "personal", creditCents: 100_000 });

  it.each(Object.entries(VENDORS))("%s gets its key and nobody else's", async (id, { header, prefix, path, model }) => {
    const { slug, requestId } = await bothWays(client, model, { provider: { only: [id] } });
    expect(slug).toBe(model);
    expect(vendor.arrivals).toHaveLength(2);
    for (const arrival of vendor.arrivals) {
      expect(arrival.path.startsWith(`/${id}/v1/`)).toBe(true);
      if (typeof path === "string") expect(arrival.path.endsWith(path)).toBe(true);
      else expect(arrival.path).toMatch(path);
      expect(arrival.headers[header]).toBe(`${prefix}key-of-${id}`);
      expect(Object.values(arrival.headers).join(" ")).not.toContain("tg_sk_");
      expect(arrival.headers["user-agent"] ?? "").not.toContain("OpenAI/JS");
    }
    expect(vendor.arrivals[0]?.headers["x-request-id"]).toBe(requestId);
  });

  it("play accounts reach no vendor, and live ones no sandbox", async () => {
    const play = await gateway.account();
    const before = (await gateway.books()).requests.length;
    for (const model of ["core/cheap", "core/mid", "core/best", "openai/gpt-5.4-nano", "ollama/any", "sandbox/ok"]) {
      await bothWays(play.client, model);
    }
    await play.client.embeddings.create({ model: "openai/text-embedding-3-small", input: "x" });
    expect(vendor.arrivals).toEqual([]);
    const served = (await gateway.books()).requests.length;
    expect(served - before).toBe(13);
    for (const model of ["sandbox/ok", "sandbox-messages/ok", "sandbox-gemini/ok"]) {
      const call = client.chat.completions.create({ model, messages: HELLO });
      await expect(call).rejects.toMatchObject({ status: 404, code: "model_not_found" });
    }
    for (const model of ["core/cheap", "core/mid", "core/best"]) await bothWays(client, model);
    await client.embeddings.create({ model: "openai/text-embedding-3-small", input: "x" });
    expect(vendor.arrivals).toHaveLength(7);
    expect((await gateway.books()).requests.length).toBe(served);
  });

  it("another one of the same model comes before another model, at the same price", async () => {
    const trace = { headers: { "x-tollgate-trace": "1" } };
    const ask = async () => {
      const answer = await client.chat.completions.create({ model: "core/mid", messages: HELLO }, trace);
      const { attempts } = (answer as unknown as { tollgate: { attempts: Record<string, unknown>[] } }).tollgate;
      const { cost } = answer.usage as unknown as { cost: number };
      return { model: answer.model, cost, tried: attempts.map(({ provider, model }) => `${provider} ${model}`) };
    };
    const first = await ask();
    expect(first).toMatchObject({ model: "openai/gpt-6.1-terra", tried: ["openai openai/gpt-6.1-terra"] });
    vendor.refuse("key-of-openai", 503);
    const second = await ask();
    expect(second).toEqual({
      model: "openai/gpt-6.1-terra",
      cost: first.cost,
      tried: ["openai openai/gpt-6.1-terra", "openrouter openai/gpt-6.1-terra"],
    });
    vendor.refuse("key-of-openrouter", 402);
    const third = await ask();
    expect(third.model).toBe("google/gemini-3.8-flash");
    expect(third.tried).toHaveLength(3);
  });
});

describe.each(LONG_RUNS ? Object.keys(VENDORS) : ["anthropic"])("with a key of %s alone", async (id) => {
  const gateway = forFile(await startTestGateway(configured(id)));
  const { client } = await gateway.account({ kind: "personal", creditCents: 100_000 });

  it("its models answer, and tiers use them as far as they go", async () => {
    const rows = (await client.models.list()).data as unknown as Row[];
    const available = new Set(rows.filter((row) => row.available).map((row) => row.id));
    const first = rows.find((row) => row.kind === "chat" && row.available)?.id ?? "";
    expect((await bothWays(client, first)).slug).toBe(first);
    expect(vendor.arrivals.map(({ path }) => path.split("/")[1])).toEqual([id, id]);
    const { tiers } = (await (await fetch(`${gateway.url}/api/llm/v1/pricing`)).json()) as {
      tiers: Record<string, string[]>;
    };
    const served = Object.entries(tiers).map(
      ([tier, slugs]) => [tier, slugs.find((one) => available.has(one))] as const,
    );
    // One tier that reaches the vendor and one that does not; the long form tries all of them.
    const both = [true, false].map((isServed) => served.find(([, slug]) => (slug !== undefined) === isServed));
    for (const [tier, expected] of LONG_RUNS ? served : both.filter((one) => one !== undefined)) {
      const call = client.chat.completions.create({ model: `core/${tier}`, messages: HELLO });
      if (expected === undefined) {
        await expect(call).rejects.toMatchObject({ status: 503, code: "upstream_not_configured" });
      } else expect((await call).model).toBe(expected);
    }
    const other = id === "openai" ? "anthropic/claude-haiku-4.5" : "openai/gpt-5.4-nano";
    if (!available.has(other)) {
      const call = client.chat.completions.create({ model: other, messages: HELLO });
      await expect(call).rejects.toMatchObject({ status: 503, code: "upstream_not_configured" });
    }
  });
});

/** Vendors and servers that are configured in other ways, side by side. */
const OTHERS = {
  ...configured("moonshot"),
  ...configured("deepinfra"),
  DEEPINFRA_MODEL: "lab/model-1",
  DEEPINFRA_PROMPT_USD_PER_MILLION: "3",
  DEEPINFRA_COMPLETION_USD_PER_MILLION: "7",
  ...configured("perplexity"),
  CUSTOM_BASE_URL: `${vendor.url}/custom/v1`,
  CUSTOM_LAB_BASE_URL: `${vendor.url}/custom-lab/v1`,
  CUSTOM_LAB_API_KEY: "key-of-lab",
  CUSTOM_FAR_LAB_BASE_URL: `${vendor.url}/custom-far-lab/v1`,
  CUSTOM_FAR_LAB_COMPLETION_USD_PER_MILLION: "7",
  CUSTOM_MESSAGES_BASE_URL: `${vendor.url}/custom-messages/v1`,
  CUSTOM_MESSAGES_API_KEY: "key-of-messages",
  CUSTOM_MESSAGES_LAB_BASE_URL: `${vendor.url}/custom-messages-lab/v1`,
  CUSTOM_MESSAGES_LAB_API_KEY: "key-of-messages-lab",
  CUSTOM_MESSAGES_LAB_MODEL: "own-1",
  ...Object.assign(
    {},
    ...["openai", "mistral", "deepseek", "xai", "groq"].map((id) => configured(id, `first-${id}, second-${id}`)),
  ),
};
const others = forFile(await startTestGateway(OTHERS));

describe("rows of the table of providers", () => {
  it("are asked as files are: by their price list, or by a named model and its price", async () => {
    const { client } = await others.account({ kind: "personal", creditCents: 100_000 });
    const called = { id: "call_1", type: "function" as const, function: { name: "look", arguments: "{}" } };
    const messages: OpenAI.ChatCompletionMessageParam[] = [
      { role: "developer", content: "Be brief." },
      { role: "user", content: "look" },
      { role: "assistant", content: null, tool_calls: [called] },
      { role: "tool", tool_call_id: "call_1", content: "{}" },
    ];
    const body = { model: "moonshotai/kimi-k3", messages, temperature: 0.5 };
    expect((await client.chat.completions.create(body)).model).toBe("moonshotai/kimi-k3");
    const [arrival] = vendor.arrivals;
    expect(arrival?.path).toBe("/moonshot/v1/chat/completions");
    expect(arrival?.body).not.toHaveProperty("temperature");
    expect(arrival?.body.messages).toMatchObject([{ role: "system" }, {}, { reasoning_content: "" }, {}]);
    expect((await bothWays(client, "deepinfra/lab/model-1")).slug).toBe("deepinfra/lab/model-1");
    expect(vendor.arrivals.at(-1)?.body.model).toBe("lab/model-1");
    const dear = client.chat.completions.create({ model: "deepinfra/lab/model-2", messages: HELLO });
    await expect(dear).rejects.toMatchObject({ status: 404, code: "model_not_found" });
  });
});

describe("a model that searches, for a fee beside its tokens", () => {
  it("is held and charged with the fee, holds what it may find, and is told to search once", async () => {
    const { client } = await others.account({ kind: "personal", creditCents: 1 });
    const body = { model: "perplexity/sonar", messages: HELLO, max_tokens: 100 };
    const { usage } = await client.chat.completions.create(body);
    const { prompt_tokens, completion_tokens, cost } = usage as OpenAI.CompletionUsage & { cost: number };
    expect(Math.round(cost * 1e9)).toBe(2_500_000 + prompt_tokens * 250 + completion_tokens * 2_500);
    expect(vendor.arrivals[0]?.path).toBe("/perplexity/v1/agent");
    expect(vendor.arrivals[0]?.body).toMatchObject({
      model: "perplexity/sonar",
      input: [{ type: "message", role: "user", content: HELLO[0]?.content }],
      tools: [{ type: "web_search", search_context_size: "low", max_tokens: 8_000 }],
      tool_choice: "required",
      max_steps: 1,
    });
    // Three quarters of a cent are left: enough for one such answer with its fee, but not for two, including what it may find.
    await client.chat.completions.create(body);
    await expect(client.chat.completions.create(body)).rejects.toMatchObject({ status: 402 });
    const sonar = (await client.models.retrieve("perplexity/sonar")) as unknown as { pricing: { request: string } };
    expect(sonar.pricing.request).toBe("0.0025");
  });
});

describe("servers of the operator's own", () => {
  it("need no key, serve any model, and cost what the environment says", async () => {
    const environment = {
      OLLAMA_BASE_URL: `${vendor.url}/ollama/v1`,
      OLLAMA_MODEL: "llama3.2",
      VLLM_BASE_URL: `${vendor.url}/vllm/v1`,
      CUSTOM_BASE_URL: `${vendor.url}/custom/v1`,
      CUSTOM_PROMPT_USD_PER_MILLION: "3",
      CUSTOM_COMPLETION_USD_PER_MILLION: "7",
    };
    const gateway = await startTestGateway(environment);
    onTestFinished(() => gateway.stop());
    const { client, key } = await gateway.account({ kind: "personal", creditCents: 1_000 });
    for (const id of LOCAL) expect((await bothWays(client, `${id}/any:model-7b`)).slug).toBe(`${id}/any:model-7b`);
    for (const { path, headers, body } of vendor.arrivals) {
      expect(path).toMatch(/^\/(ollama|vllm|custom)\/v1\/chat\/completions$/);
      expect(headers.authorization).toBe(undefined);
      expect(body.model).toBe("any:model-7b");
    }
    const free = await client.chat.completions.create({ model: "ollama/x", messages: HELLO });
    expect((free.usage as unknown as { cost: number }).cost).toBe(0);
    const { usage } = await client.chat.completions.create({ model: "custom/x", messages: HELLO });
    const { prompt_tokens, completion_tokens, cost } = usage as OpenAI.CompletionUsage & { cost: number };
    expect(Math.round(cost * 1e9)).toBe(prompt_tokens * 3_000 + completion_tokens * 7_000);
    // A tier reaches the only model that the operator names.
    const tier = await client.chat.completions.create({ model: "core/best", messages: HELLO });
    expect(tier.model).toBe("ollama/llama3.2");
    const account = await fetch(`${gateway.url}/api/v1/account`, { headers: { authorization: `Bearer ${key}` } });
    expect(await account.json()).toMatchObject({ kind: "personal", held_cents: 0 });
    expect(await gateway.doctor()).toEqual([]);
  });
});

describe("named servers of the operator's own", () => {
  it("are as many as have an address, on two wires, each with a key, a price and a model of its own", async () => {
    const { client } = await others.account({ kind: "personal", creditCents: 1_000 });
    const ids = ["custom", "custom-lab", "custom-far-lab", "custom-messages", "custom-messages-lab"];
    for (const id of ids) expect((await bothWays(client, `${id}/any`)).slug).toBe(`${id}/any`);
    const seen = vendor.arrivals.map(({ path, headers }) => {
      return [path, headers.authorization ?? headers["x-api-key"]].filter(Boolean).join(" ");
    });
    expect([...new Set(seen)]).toEqual([
      "/custom/v1/chat/completions",
      "/custom-lab/v1/chat/completions Bearer key-of-lab",
      "/custom-far-lab/v1/chat/completions",
      "/custom-messages/v1/messages key-of-messages",
      "/custom-messages-lab/v1/messages key-of-messages-lab",
    ]);
    const { usage } = await client.chat.completions.create({ model: "custom-far-lab/any", messages: HELLO });
    const { completion_tokens, cost } = usage as OpenAI.CompletionUsage & { cost: number };
    expect(Math.round(cost * 1e9)).toBe(completion_tokens * 7_000);
    const listed = (await client.models.list()).data.map(({ id }) => id).filter((id) => id.startsWith("custom"));
    expect(listed).toEqual(["custom-messages-lab/own-1"]);
  });
});

describe("several keys of one vendor", () => {
  const keysSeen = () => vendor.arrivals.map(({ headers }) => headers.authorization?.replace("Bearer ", ""));

  it.each([
    [401, {}, "mistral"],
    [403, {}, "deepseek"],
    [429, { "retry-after": "30" }, "xai"],
    [429, {}, "groq"],
  ] as const)(
    "after %i %j the other key is asked at once, and the conversation's own rests",
    async (status, headers, id) => {
      const { client } = await others.account({ kind: "personal" });
      const body = { model: VENDORS[id].model, messages: HELLO };
      await client.chat.completions.create(body);
      const [own = ""] = keysSeen();
      const other = own === `first-${id}` ? `second-${id}` : `first-${id}`;
      vendor.refuse(own, status, headers);
      const startedMs = performance.now();
      const { data, response } = await client.chat.completions.create(body).withResponse();
      // Otherwise it would have waited for half a minute.
      expect(performance.now() - startedMs).toBeLessThan(15_000);
      expect(words(data.choices[0]?.message.content)).toBe(60);
      expect(response.headers.get("x-tollgate-attempts")).toBe("2");
      expect(keysSeen()).toEqual([own, own, other]);
      for (let more = 0; more < 3; more++) await client.chat.completions.create(body);
      expect(keysSeen()).toEqual([own, own, other, other, other, other]);
    },
  );

  it("share conversations while all are good, and all bad ones are our fault, not the caller's", async () => {
    const { client } = await others.account({ kind: "personal" });
    const { model } = VENDORS.openai;
    const both = new Set(["first-openai", "second-openai"]);
    const ask = (text: string) =>
      client.chat.completions.create({ model, messages: [{ role: "user", content: text }] });
    const texts = Array.from({ length: 16 }, (_, at) => `about ${at} [[pace: 100000]]`);
    for (const text of texts) await ask(text);
    const taken = keysSeen();
    expect(new Set(taken)).toEqual(both);
    // Each stays with the key at which its prompt is cached.
    for (const text of texts.slice(0, 4)) await ask(text);
    expect(keysSeen()).toEqual([...taken, ...taken.slice(0, 4)]);
    vendor.refuse("first-openai", 401);
    vendor.refuse("second-openai", 402);
    const call = client.withOptions({ maxRetries: 2 }).chat.completions.create({ model, messages: HELLO });
    await expect(call).rejects.toMatchObject({ status: 503, code: "upstream_not_configured" });
    expect(new Set(keysSeen().slice(20))).toEqual(both);
    expect(keysSeen()).toHaveLength(22);
  });
});
