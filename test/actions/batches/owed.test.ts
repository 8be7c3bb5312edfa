// What a provider has done for a native batch is charged to its account, whatever happens to the payer or the catalog meanwhile.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { toFile } from "openai";
import { expect, it } from "vitest";
import { folderForFile, forFile } from "../../support/for-file.ts";
import { eventually, startTestGateway, type TestAccount } from "../../support/gateway.ts";
import { getAs, sendAs } from "../../support/keyed-fetch.ts";

const overlay = folderForFile("tollgate-owed-");

/** Acme, which has a batch API, with these models. */
function writeAcme(models: string): void {
  mkdirSync(join(overlay, "adapters"), { recursive: true });
  const text = `// Acme.
import { bearer, defineAdapter } from "#adapter";

export default defineAdapter({
  name: "Acme",
  docs: "https://acme.example/docs",
  origin: "https://api.acme.example/v1",
  auth: bearer,
  maker: "acme",
  batches: {
    format: "files",
    paths: ["/chat/completions"],
    prices: [{ since: "2026-08-01", percent: 50 }],
    linesMax: 50_000,
    bytesMax: 200_000_000,
    oneModel: true,
  },
  chat: { dialect: "chat-completions", models: { ${models} } },
});
`;
  writeFileSync(join(overlay, "adapters", "acme.ts"), text);
}

const model = (name: string, input: number, output: number) =>
  `"${name}": { contextTokens: 32_000, prices: [{ since: "2026-08-01", input: "${input}", output: "${output}" }] },`;

writeAcme(model("one-2", 1, 3) + model("two-1", 2, 8));
const gateway = forFile(await startTestGateway({ BATCH_POLL_SECONDS: "0.02", OVERLAY_DIR: overlay }));

const LINES = 12;
const ENDED = ["completed", "failed", "expired", "cancelled"];

interface Batch {
  readonly id: string;
  readonly status: string;
  readonly output_file_id: string | null;
  readonly error_file_id: string | null;
  readonly request_counts: { readonly completed: number; readonly failed: number };
}

interface Line {
  readonly custom_id: string;
  readonly response: { readonly body: { readonly usage?: { readonly cost: number } } } | null;
  readonly error: { readonly code: string } | null;
}

interface Asked {
  readonly url: string;
  readonly body: { readonly model: string };
}

const chat = (at: number, model: string, more: object = {}) => ({
  custom_id: `line ${at}`,
  method: "POST",
  url: "/v1/chat/completions",
  body: { model, max_tokens: 20, messages: [{ role: "user", content: `Say ${at}` }], ...more },
});

interface How {
  readonly seconds?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

async function answered(answer: Response): Promise<Record<string, unknown>> {
  const json = (await answer.json()) as Record<string, unknown>;
  if (!answer.ok) throw new Error(JSON.stringify(json));
  return json;
}

/** How many lines of batches the sandbox has run since `from`. */
async function runs(from = 0): Promise<number> {
  const { requests } = await gateway.books();
  return requests.filter(({ requestId }) => requestId === null).length - from;
}

/** Seconds that a provider takes for a batch: for one that runs to its end, and for one that is cancelled after a quarter of it. */
const TO_ITS_END = 0.5;
const TO_BE_CANCELLED = 4;

/** Creates a batch with this key, which takes a provider `seconds`. */
async function created(
  { account, agent }: Keyed,
  lines: readonly Asked[],
  { mode = "native", seconds = TO_ITS_END, headers = {} }: How & { readonly mode?: string } = {},
): Promise<Batch> {
  const { files } = account.client;
  const text = lines.map((line) => JSON.stringify(line)).join("\n");
  const file = await files.create({ purpose: "batch", file: await toFile(Buffer.from(text), "in.jsonl") });
  const made = await fetch(`${gateway.url}/v1/batches`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${agent.key}`,
      "content-type": "application/json",
      "x-tollgate-sandbox-fault": `batch-slow-${seconds}`,
      ...headers,
    },
    body: JSON.stringify({
      input_file_id: file.id,
      endpoint: lines[0]?.url,
      completion_window: "24h",
      metadata: { tollgate_mode: mode },
    }),
  });
  return (await answered(made)) as unknown as Batch;
}

/** Creates a native batch, and waits until the provider has done more than a quarter of it. */
async function begun(of: Keyed, lines: readonly Asked[], how: How = {}): Promise<Batch> {
  const batch = await created(of, lines, how);
  const vendor = lines[0]?.body.model.split("/", 1)[0];
  await eventually(async () => {
    const list = await getAs("any", `${gateway.sandboxUrl}/${vendor}/batches?limit=100`);
    return (await list.text()).includes(batch.id.slice("batch_".length)) ? true : undefined;
  }, "the provider's batch");
  const sinceMs = Date.now();
  const quarterMs = 250 * (how.seconds ?? TO_ITS_END);
  await eventually(() => (Date.now() - sinceMs > quarterMs + 50 ? true : undefined), "some lines");
  return batch;
}

async function linesOf({ client }: TestAccount, fileId: string | null): Promise<Line[]> {
  if (fileId === null) return [];
  const text = await (await client.files.content(fileId)).text();
  return text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);
}

async function chargesOf({ key }: TestAccount) {
  const { transactions } = (await answered(await getAs(key, `${gateway.url}/api/v1/transactions`))) as {
    transactions: { kind: string; charged_nano_usd: number; run_id: string | null }[];
  };
  return transactions.filter(({ kind }) => kind === "charge");
}

const over = ({ key }: TestAccount, { id }: Batch): Promise<Batch> =>
  eventually(async () => {
    const now = (await (await getAs(key, `${gateway.url}/v1/batches/${id}`)).json()) as Batch;
    return ENDED.includes(now.status) ? now : undefined;
  }, "the end of the batch");

/** Waits for the end, and checks that every line that ran at the provider is charged once, in one posting. */
async function paid(account: TestAccount, made: Batch, runsBefore: number, spentBefore: readonly number[] = []) {
  const batch = await over(account, made);
  const [good, bad] = [await linesOf(account, batch.output_file_id), await linesOf(account, batch.error_file_id)];
  const charges = await chargesOf(account);
  const costs = new Map(good.map((line) => [line.custom_id, Math.round((line.response?.body.usage?.cost ?? 0) * 1e9)]));
  const nano = [...costs.values()];
  expect(charges.map((one) => one.charged_nano_usd)).toEqual([nano.reduce((sum, one) => sum + one, 0), ...spentBefore]);
  expect(nano.every((one) => one > 0)).toBe(true);
  expect(good).toHaveLength(await runs(runsBefore));
  expect(good.length + bad.length).toBe(LINES);
  return { status: batch.status, done: good.length, codes: [...new Set(bad.map(({ error }) => error?.code))], costs };
}

interface Keyed {
  readonly account: TestAccount;
  /** The key that pays for the batch. */
  readonly agent: { readonly id: string; readonly key: string };
}

async function keyed(fields: object = {}): Promise<Keyed> {
  const account = await gateway.account();
  const made = await answered(await sendAs(account.key, "POST", `${gateway.url}/api/v1/agents`, fields));
  return { account, agent: { id: String(made.id ?? made.agent_id), key: String(made.api_key) } };
}

const change = ({ account, agent }: Keyed, fields: object) =>
  sendAs(account.key, "PATCH", `${gateway.url}/api/v1/agents/${agent.id}`, fields).then(answered);
const revoke = ({ account, agent }: Keyed) =>
  sendAs(account.key, "DELETE", `${gateway.url}/api/v1/agents/${agent.id}`, {});
const freeze = ({ account }: Keyed, frozen: boolean) =>
  gateway.admin("PATCH", `/admin/v1/accounts/${account.accountId}`, { frozen });
const lines = (name = "acme/one-2") => Array.from({ length: LINES }, (_, at) => chat(at, name));

it.each<[string, (of: Keyed) => Promise<unknown>, string]>([
  ["its key is revoked", (of) => revoke(of), "invalid_token"],
  ["its key is paused", (of) => change(of, { paused: true }), "key_paused"],
  ["its account is frozen", (of) => freeze(of, true), "account_frozen"],
])("where %s, the provider's batch is cancelled and what it did is charged", async (_, happens, code) => {
  const of = await keyed();
  const before = await runs();
  const batch = await begun(of, lines(), { seconds: TO_BE_CANCELLED });
  await happens(of);
  const { status, done, codes } = await paid(of.account, batch, before);
  expect([status, codes]).toEqual(["expired", [code]]);
  expect(done).toBeGreaterThan(2);
  expect(done).toBeLessThan(LINES);
});

it("where its key expires, and has no ceiling and no model left, all of it is charged", async () => {
  const of = await keyed();
  const before = await runs();
  const batch = await begun(of, lines());
  const expires = new Date(Date.now() + 100).toISOString();
  await change(of, { expires_at: expires, ceiling_cents: 0, models: ["core/cheap"] });
  await eventually(async () => {
    const { status } = await getAs(of.agent.key, `${gateway.url}/v1/batches`);
    return status === 401 ? true : undefined;
  }, "the key's end");
  expect(await paid(of.account, batch, before)).toMatchObject({ status: "completed", done: LINES, codes: [] });
});

it("where its run is stopped, what the provider did is charged to the run", async () => {
  const of = await keyed();
  const run = { "x-tollgate-run": "r", "x-tollgate-run-budget-cents": "50" };
  const before = await runs();
  const batch = await begun(of, lines(), { seconds: TO_BE_CANCELLED, headers: run });
  await sendAs(of.account.key, "POST", `${gateway.url}/api/v1/runs/r/stop`, {}).then(answered);
  const { status, done } = await paid(of.account, batch, before);
  expect([status, done < LINES, done > 2]).toEqual(["cancelled", true, true]);
  expect(await chargesOf(of.account)).toMatchObject([{ run_id: "r" }]);
});

it("where a model is no longer sold, or costs more, all of it is charged at the prices of its creation", async () => {
  const of = await keyed();
  const half = LINES / 2;
  const before = await runs();
  const mixed = [...lines().slice(0, half), ...lines("acme/two-1").slice(half)];
  const batch = await begun(of, mixed);
  writeAcme(model("two-1", 20, 80));
  await gateway.reload();
  const { done, costs } = await paid(of.account, batch, before);
  expect(done).toBe(LINES);
  writeAcme(model("one-2", 1, 3) + model("two-1", 2, 8));
  await gateway.reload();
  const price = async (at: number) => {
    const { body } = chat(at, mixed[at]?.body.model ?? "");
    const { usage } = await of.account.client.chat.completions.create({ ...body, messages: body.messages as [] });
    return Math.ceil(Math.round((usage as unknown as { cost: number }).cost * 1e9) / 2);
  };
  expect([costs.get("line 0"), costs.get(`line ${half}`)]).toEqual([await price(0), await price(half)]);
});

it("where what its lines refer to is gone, all of it is charged", async () => {
  const of = await keyed();
  const model = "openai/gpt-6-luna";
  const { responses } = of.account.client;
  const { id } = await responses.create({ model, input: "Hello", max_output_tokens: 20, store: true });
  const before = await runs();
  const spent = (await chargesOf(of.account)).map((one) => one.charged_nano_usd);
  const asks = Array.from({ length: LINES }, (_, at) => ({
    ...{ custom_id: `line ${at}`, method: "POST", url: "/v1/responses" },
    body: { model, input: `Say ${at}`, max_output_tokens: 20, previous_response_id: id },
  }));
  const batch = await begun(of, asks);
  await responses.delete(id);
  expect(await paid(of.account, batch, before, spent)).toMatchObject({ status: "completed", done: LINES });
});

it("an inline batch whose key is revoked during its last call is completed and charged", async () => {
  const of = await keyed();
  const slow = "sandbox/slow-headers-0.3";
  const batch = await created(of, lines(slow).slice(0, 1), { mode: "inline" });
  await eventually(async () => {
    const { requests } = await gateway.books();
    return requests.some((one) => one.model === slow.slice("sandbox/".length)) ? true : undefined;
  }, "the call");
  await revoke(of);
  const { status, output_file_id: output } = await over(of.account, batch);
  expect(status).toBe("completed");
  const [line] = await linesOf(of.account, output);
  const [charge] = await chargesOf(of.account);
  expect(charge?.charged_nano_usd).toBe(Math.round((line?.response?.body.usage?.cost ?? 0) * 1e9));
});

it("leaves a line that names a run to its creator, free, before the provider gets it", async () => {
  const of = await keyed();
  const before = await runs();
  const named = chat(0, "acme/one-2", { metadata: { tollgate_run: "other" } });
  const batch = await begun(of, [named, ...lines().slice(1)]);
  expect(await paid(of.account, batch, before)).toMatchObject({ status: "completed", done: LINES - 1 });
});

it("leaves sound books", async () => {
  expect(await gateway.doctor()).toEqual([]);
});
