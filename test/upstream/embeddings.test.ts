// Embeddings come in the requested encoding, whatever the vendor's encoding.
import { describe, expect, it } from "vitest";
import { forFile } from "../support/for-file.ts";
import { startTestGateway } from "../support/gateway.ts";
import { postAs } from "../support/keyed-fetch.ts";
import { startVendor } from "../support/vendor-server.ts";

const NUMBERS = [0.5, -1.25, 3];
const BASE64 = Buffer.from(new Float32Array(NUMBERS).buffer).toString("base64");
const FORMS = { float: NUMBERS, base64: BASE64 } as const;
const MODEL = "openai/text-embedding-3-small";

const vendor = forFile(await startVendor());
const gateway = forFile(await startTestGateway({ OPENAI_API_KEY: "sk-1", OPENAI_BASE_URL: `${vendor.url}/v1` }));
const account = await gateway.account({ kind: "personal", creditCents: 10_000 });

const answerOf = (...vectors: unknown[]) => ({
  body: {
    object: "list",
    data: vectors.map((embedding, index) => ({ object: "embedding", index, embedding })),
    usage: { prompt_tokens: 2, total_tokens: 2 },
  },
});

async function post(path: string, body: unknown) {
  const response = await postAs(account.key, `${gateway.url}${path}`, body);
  return { status: response.status, json: (await response.json()) as Record<string, never> };
}

describe.each(Object.entries(FORMS))("a vendor that answers in %s", (_, had) => {
  it.each([
    ["float", NUMBERS],
    ["base64", BASE64],
    [undefined, NUMBERS],
  ])("is read as %s", async (encoding_format, wanted) => {
    vendor.answers(answerOf(had, had));
    const { status, json } = await post("/v1/embeddings", { model: MODEL, input: ["a", "b"], encoding_format });
    expect([status, json.data]).toEqual([
      200,
      [0, 1].map((index) => ({ object: "embedding", index, embedding: wanted })),
    ]);
  });

  it("is read as numbers in Google's format", async () => {
    vendor.answers(answerOf(had));
    const content = { parts: [{ text: "a" }] };
    const { status, json } = await post(`/v1beta/models/${MODEL}:embedContent`, { content });
    expect([status, json.embedding]).toEqual([200, { values: NUMBERS }]);
  });
});

it.each(["AAA=", "", null, 7])("%j is no vector: the answer is broken, and free", async (vector) => {
  vendor.answers(answerOf(vector));
  const before = await gateway.admin("GET", `/admin/v1/accounts/${account.accountId}`);
  const { status } = await post("/v1/embeddings", { model: MODEL, input: "a" });
  const after = await gateway.admin("GET", `/admin/v1/accounts/${account.accountId}`);
  expect([status >= 500, after.json.spent_nano_usd]).toEqual([true, before.json.spent_nano_usd]);
});
