// Cached tokens on every wire: the price list says what they cost, and a route whose vendor bills them in full sells them as input.
import { afterAll, beforeAll, expect, it } from "vitest";
import { MODEL_WIRES } from "../../../src/models/formats/model-wires.ts";
import { startTestGateway, type TestAccount, type TestGateway } from "../../support/gateway.ts";
import { startVendor, type VendorServer } from "../../support/vendor-server.ts";

type Json = Record<string, unknown>;

/** Its maker charges 0.11 USD per million cached tokens; the router has no price for them, so they cost 0.6 there. */
const MODEL = "z-ai/glm-4.7";
const USAGE = { prompt_tokens: 1_200, completion_tokens: 100, prompt_tokens_details: { cached_tokens: 1_000 } };
const IN_FULL_NANO = 1_200 * 600 + 100 * 2_200;
const DISCOUNTED_NANO = 200 * 600 + 1_000 * 110 + 100 * 2_200;

/** A request in each wire, and where its answer reports cached tokens. */
const WIRES: Readonly<Record<string, { ask(stream: boolean): readonly [path: string, body: Json]; told: RegExp }>> = {
  "chat-completions": {
    ask: (stream) => [
      "/api/llm/v1/chat/completions",
      {
        model: MODEL,
        messages: [{ role: "user", content: "Hi" }],
        stream,
        ...(stream ? { stream_options: { include_usage: true } } : {}),
      },
    ],
    told: /"cached_tokens":(\d+)/g,
  },
  messages: {
    ask: (stream) => [
      "/api/llm/v1/messages",
      { model: MODEL, messages: [{ role: "user", content: "Hi" }], max_tokens: 500, stream },
    ],
    told: /"cache_read_input_tokens":(\d+)/g,
  },
  responses: {
    ask: (stream) => ["/api/llm/v1/responses", { model: MODEL, input: "Hi", stream }],
    told: /"cached_tokens":(\d+)/g,
  },
  "generate-content": {
    ask: (stream) => [
      `/api/llm/v1beta/models/${MODEL}:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`,
      { contents: [{ role: "user", parts: [{ text: "Hi" }] }] },
    ],
    told: /"cachedContentTokenCount":(\d+)/g,
  },
};

let vendor: VendorServer;
let gateways: readonly TestGateway[] = [];

beforeAll(async () => {
  vendor = await startVendor();
  vendor.answers((response, { body }) => {
    const choice = { index: 0, finish_reason: "stop" };
    const message = { role: "assistant", content: "Fine." };
    if ((body as Json).stream !== true) {
      const whole = { choices: [{ ...choice, message }], usage: USAGE };
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(whole));
      return;
    }
    const chunks = [{ choices: [{ ...choice, delta: message }] }, { choices: [], usage: USAGE }];
    const events = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("");
    response.writeHead(200, { "content-type": "text/event-stream" }).end(`${events}data: [DONE]\n\n`);
  });
  const started = [
    { HF_TOKEN: "k", HUGGINGFACE_BASE_URL: `${vendor.url}/v1` },
    { ZAI_API_KEY: "k", ZAI_BASE_URL: `${vendor.url}/v1` },
  ];
  gateways = await Promise.all(started.map((env) => startTestGateway(env)));
});

afterAll(async () => {
  for (const gateway of gateways) {
    expect(await gateway.doctor()).toEqual([]);
    await gateway.stop();
  }
  await vendor.close();
});

async function charged(gateway: TestGateway, account: TestAccount, wire: string, stream: boolean) {
  const [path, body] = WIRES[wire]?.ask(stream) ?? [];
  const headers = { authorization: `Bearer ${account.key}`, "content-type": "application/json" };
  const response = await fetch(`${gateway.url}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  const text = await response.text();
  expect(response.status, text).toBe(200);
  const told = [...text.matchAll(WIRES[wire]?.told ?? /none/g)].at(-1)?.[1];
  const { json } = await gateway.admin("GET", `/admin/v1/transactions?account=${account.accountId}&limit=1`);
  const [posting] = json.transactions as Json[];
  return { told: Number(told), nano: posting?.charged_nano_usd, costNano: posting?.upstream_nano_usd };
}

for (const { name } of MODEL_WIRES)
  for (const stream of [false, true])
    it(`are charged as the route bills them on ${name}, ${stream ? "streamed" : "whole"}`, async () => {
      const [router, maker] = gateways;
      if (router === undefined || maker === undefined) throw new Error("not started");
      const options = { kind: "personal", creditCents: 1_000 } as const;
      const inFull = await charged(router, await router.account(options), name, stream);
      expect(inFull).toEqual({ told: 0, nano: IN_FULL_NANO, costNano: IN_FULL_NANO });
      const discounted = await charged(maker, await maker.account(options), name, stream);
      expect(discounted).toEqual({ told: 1_000, nano: DISCOUNTED_NANO, costNano: DISCOUNTED_NANO });
    });

it("have one listed price, whichever route serves", async () => {
  for (const gateway of gateways) {
    const response = await fetch(`${gateway.url}/api/llm/v1/models/${MODEL}`);
    const { pricing } = (await response.json()) as { pricing: Json };
    expect(pricing).toMatchObject({ prompt: "0.0000006", completion: "0.0000022", input_cache_read: "0.00000011" });
  }
});
