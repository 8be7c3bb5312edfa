// The answer length requested from each vendor: never above its own limit, whatever the limits of others with the same model.
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestGateway, type TestAccount, type TestGateway } from "../../support/gateway.ts";
import { startVendor, type VendorServer } from "../../support/vendor-server.ts";

type Json = Record<string, unknown>;

let cerebras: VendorServer;
let groq: VendorServer;
let xai: VendorServer;
let gateway: TestGateway;
let account: TestAccount;

const answer = {
  body: {
    choices: [{ index: 0, message: { role: "assistant", content: "Fine." }, finish_reason: "stop" }],
    usage: { prompt_tokens: 5, completion_tokens: 2 },
  },
};

beforeAll(async () => {
  [cerebras, groq, xai] = await Promise.all([startVendor(), startVendor(), startVendor()]);
  gateway = await startTestGateway({
    CEREBRAS_API_KEY: "k",
    CEREBRAS_BASE_URL: `${cerebras.url}/v1`,
    GROQ_API_KEY: "k",
    GROQ_BASE_URL: `${groq.url}/v1`,
    XAI_API_KEY: "k",
    XAI_BASE_URL: `${xai.url}/v1`,
  });
  const rich = { kind: "personal", creditCents: 1_000_000, inferenceCapCents: 1_000_000 } as const;
  account = await gateway.account(rich);
});

afterAll(async () => {
  expect(await gateway.doctor()).toEqual([]);
  await gateway.stop();
  for (const vendor of [cerebras, groq, xai]) await vendor.close();
});

async function ask(path: string, body: Json) {
  const headers = { authorization: `Bearer ${account.key}`, "content-type": "application/json" };
  const response = await fetch(`${gateway.url}/api/llm/v1${path}`, {
    method: "POST",
    headers,
    body: JSON.stringify(body),
  });
  return { status: response.status, loweredTo: response.headers.get("x-tollgate-max-tokens") };
}

const sentTo = ({ asked }: VendorServer) => asked.map(({ body }) => (body as Json).max_completion_tokens);
const LONG = { model: "qwen/qwen3.8-27b", messages: [{ role: "user", content: "Hi" }], max_tokens: 30_000 };

it("is the caller's where the vendor takes that much", async () => {
  cerebras.answers(answer);
  groq.answers(answer);
  expect(await ask("/messages", LONG)).toEqual({ status: 200, loweredTo: null });
  expect([sentTo(cerebras), sentTo(groq)]).toEqual([[30_000], []]);
});

it("is the vendor's own where another route has taken over, and a header says so", async () => {
  cerebras.answers({ status: 429, body: { error: { message: "too many", code: "rate_limit" } } });
  groq.answers(answer);
  expect(await ask("/messages", LONG)).toEqual({ status: 200, loweredTo: "16384" });
  expect(sentTo(groq)).toEqual([16_384]);
});

it("leaves room for the prompt where the caller names no bound and the model may fill its context", async () => {
  xai.answers(answer);
  expect((await ask("/responses", { model: "x-ai/grok-4.7", input: "Hi" })).status).toBe(200);
  expect(sentTo(xai)).toEqual([250_000]);
});
