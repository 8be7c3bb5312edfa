// An account's own provider keys: which key a vendor receives, what the call costs, and where the gateway stores and shows the key.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { forFile } from "../../support/for-file.ts";
import { startTestGateway, type TestAccount } from "../../support/gateway.ts";
import { sendAs } from "../../support/keyed-fetch.ts";
import { startVendor } from "../../support/vendor-server.ts";

type Json = Record<string, unknown>;

const OWN = "sk-own-1234567890abcdefWXYZ";
const MODEL = "openai/gpt-5.4-mini";

let account: TestAccount;

const vendor = forFile(await startVendor());
const gateway = forFile(
  await startTestGateway({ OPENAI_API_KEY: "sk-ours", OPENAI_BASE_URL: `${vendor.url}/v1`, ZDR_PROVIDERS: "openai" }),
);
beforeEach(async () => {
  account = await gateway.account({ kind: "personal", creditCents: 10_000 });
});

async function call(key: string, method: string, path: string, body?: unknown) {
  const response = await sendAs(key, method, `${gateway.url}${path}`, body);
  return { status: response.status, json: (await response.json()) as Json };
}

const ASKED = { model: MODEL, max_tokens: 20, messages: [{ role: "user", content: "How are you?" }] };

const put = (body: Json, provider = "openai") => call(account.key, "PUT", `/api/v1/provider-keys/${provider}`, body);

/** The vendor rejects these keys and accepts all others. */
async function chat(refuses: readonly string[] = [], more: Json = {}) {
  vendor.answers((response, { headers }) => {
    const isRefused = refuses.some((key) => headers.authorization === `Bearer ${key}`);
    const message = { role: "assistant", content: "Fine." };
    const usage = { prompt_tokens: 1_000, completion_tokens: 1_000 };
    const body = isRefused
      ? { error: { message: "Incorrect API key provided", code: "invalid_api_key" } }
      : { choices: [{ index: 0, message, finish_reason: "stop" }], usage };
    response.writeHead(isRefused ? 401 : 200, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  const asked = { model: MODEL, max_tokens: 2_000, messages: [{ role: "user", content: "How are you?" }], ...more };
  const { status, json } = await call(account.key, "POST", "/api/llm/v1/chat/completions", asked);
  const keys = vendor.asked.map(({ headers }) => headers.authorization?.replace("Bearer ", ""));
  return { status, keys, cost: Number((json.usage as Json | undefined)?.cost), code: (json.error as Json)?.code };
}

async function lastPosting(): Promise<Json> {
  const { json } = await gateway.admin("GET", `/admin/v1/transactions?account=${account.accountId}&limit=1`);
  return (json.transactions as Json[])[0] as Json;
}

it("is shown to the vendor in place of ours, for a twentieth of the price, and costs us nothing", async () => {
  const ours = await chat();
  expect(ours).toMatchObject({ status: 200, keys: ["sk-ours"] });
  expect((await put({ key: OWN })).status).toBe(200);
  const own = await chat();
  expect(own).toMatchObject({ status: 200, keys: [OWN] });
  expect(own.cost).toBeCloseTo(ours.cost / 20, 9);
  expect(await lastPosting()).toMatchObject({ upstream_nano_usd: 0, price_version: expect.stringMatching(/\*5%$/) });
  const { transaction_id: id } = await lastPosting();
  const told = await call(account.key, "GET", `/api/llm/v1/generation?id=${id}`);
  expect(told.json.data).toMatchObject({ is_byok: true });
  // The vendor's promises to us do not cover the account's own key.
  expect((await chat([], { provider: { zdr: true } })).keys).toEqual(["sk-ours"]);
  const other = account;
  account = await gateway.account({ kind: "personal", creditCents: 10_000 });
  expect((await chat()).keys).toEqual(["sk-ours"]);
  account = other;
  await call(account.key, "DELETE", "/api/v1/provider-keys/openai");
  expect((await chat()).keys).toEqual(["sk-ours"]);
});

it("gives way to ours at the full price where the vendor refuses it, and that rests no one else's route", async () => {
  const full = (await chat()).cost;
  await put({ key: OWN });
  const gone = await chat([OWN]);
  expect(gone).toMatchObject({ status: 200, keys: [OWN, "sk-ours"] });
  expect(gone.cost).toBe(full);
  const metrics = await gateway.metricsText();
  expect(metrics).not.toMatch(/tollgate_route_resting\{.*openai.*\} 1/);
  expect(gateway.lines().filter((line) => line.includes(OWN))).toEqual([]);
});

it("is the only way where its owner wants no other: a call that it does not serve fails and costs nothing", async () => {
  await put({ key: OWN, fallback: false });
  expect(await chat([OWN])).toMatchObject({ status: 403, code: "provider_key_refused", keys: [OWN] });
  const { json } = await call(account.key, "GET", "/api/v1/account");
  expect([json.balance_cents, json.held_cents]).toEqual([10_000, 0]);
});

it("lets an account go on whose balance does not do for the full price", async () => {
  account = await gateway.account({ kind: "personal", creditCents: 0 });
  await gateway.admin("POST", `/admin/v1/accounts/${account.accountId}/credits`, { cents: 1, reference: "little" });
  await put({ key: OWN });
  // At the full price 2,000 tokens could cost nearly a cent; fifty thousand could cost more than ten.
  vendor.answers({
    body: {
      choices: [{ index: 0, message: { role: "assistant", content: "Yes." }, finish_reason: "stop" }],
      usage: { prompt_tokens: 9, completion_tokens: 1 },
    },
  });
  const asked = { model: MODEL, max_tokens: 30_000, messages: [{ role: "user", content: "How are you?" }] };
  expect((await call(account.key, "POST", "/api/llm/v1/chat/completions", asked)).status).toBe(200);
  expect(vendor.asked.map(({ headers }) => headers.authorization)).toEqual([`Bearer ${OWN}`]);
});

it("the provider's words about a failed call are kept for the operator, except of a call with an account's own key", async () => {
  const failed = async () => {
    vendor.answers({ status: 500, body: { error: { message: "Words of the provider" } } });
    expect((await call(account.key, "POST", "/api/llm/v1/chat/completions", ASKED)).status).toBe(502);
    const { json } = await gateway.admin("GET", `/admin/v1/transactions?account=${account.accountId}&status=failed`);
    return JSON.stringify((json.transactions as Json[])[0]);
  };
  expect(await failed()).toContain("Words of the provider");
  await put({ key: OWN, fallback: false });
  expect(await failed()).not.toContain("Words of the provider");
});

it("is sealed where it is kept, told by its last characters, and put by the primary key at a provider that is sold here", async () => {
  const made = await put({ key: OWN });
  expect(made.json).toMatchObject({ provider: "openai", hint: "...WXYZ", fallback: true });
  const listed = await call(account.key, "GET", "/api/v1/provider-keys");
  expect(listed.json).toMatchObject({ fee_percent: 5, provider_keys: [{ provider: "openai", hint: "...WXYZ" }] });
  const seen = await gateway.admin("GET", `/admin/v1/accounts/${account.accountId}/provider-keys`);
  expect(JSON.stringify(seen.json)).not.toContain(OWN);
  for (const name of readdirSync(gateway.dataDir).filter((file) => file.includes("tollgate.db")))
    expect(readFileSync(join(gateway.dataDir, name)).includes(OWN)).toBe(false);
  expect((await put({ key: OWN }, "nobody")).status).toBe(400);
  expect((await put({ key: "with space" })).status).toBe(400);
  const agent = await call(account.key, "POST", "/api/v1/agents", {});
  expect((await call(String(agent.json.api_key), "PUT", "/api/v1/provider-keys/openai", { key: OWN })).status).toBe(
    403,
  );
  // Every object has a property of the second name.
  for (const provider of ["none", "constructor"])
    expect((await call(account.key, "DELETE", `/api/v1/provider-keys/${provider}`)).status).toBe(404);
});

it.each([
  ["one that signs or asks for a token", "vertex", "kkkk-0123456789"],
  ["a server of the operator's own", "vllm", "kkkk-0123456789"],
])("a key for %s is not taken", async (_, provider, key) => {
  expect((await put({ key }, provider)).status).toBe(400);
});

it("a key that is longer than keys are is refused by its field", async () => {
  const { status, json } = await put({ key: "k".repeat(6_000) });
  expect(status).toBe(400);
  expect(JSON.stringify(json)).toContain("key: must have at most 512 characters");
});
