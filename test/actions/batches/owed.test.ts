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
  },
  chat: { dialect: "chat-completions", models: { ${models} } },
});
`;
  writeFileSync(join(overlay, "adapters", "acme.ts"), text);
}

const model = (name: string, input: number, output: number) =>
  `"${name}": { contextTokens: 32_000, prices: [{ since: "2026-08-01", input: "${input}", output: "${output}" }] },`;

writeAcme(model("one-2", 1, 3) + model("two-1", 2, 8));
const gateway = forFile(await startTestGateway({ BATCH_POLL_SECONDS: "0.004", OVERLAY_DIR: overlay }));

const LINES = 40;
const ENDED = ["completed", "failed", "expired", "cancelled"];

interface Batch {
  readonly id: string;
  readonly status: string;
  readonly output_file_id: string | null;
  readonly error_file_id: string | null;
  readonly request_counts: { readonly completed: number; readonly failed: number };
}

interface Line {
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

/** Creates a native batch with this key, and waits until the provider has done about a third of it. */
async function begun(
  { client }: TestAccount,
  key: string,
  lines: readonly Asked[],
  headers: Record<string, string> = {},
): Promise<Batch> {
  const text = lines.map((line) => JSON.stringify(line)).join("\n");
  const file = await client.files.create({ purpose: "batch", file: await toFile(Buffer.from(text), "in.jsonl") });
  const made = await fetch(`${gateway.url}/v1/batches`, {
    method: "POST",
    headers: {
      ...{ authorization: `Bearer ${key}`, "content-type": "application/json" },
      "x-tollgate-sandbox-fault": "batch-slow-1",
      ...headers,
    },
    body: JSON.stringify({
      ...{ input_file_id: file.id, endpoint: lines[0]?.url, completion_window: "24h" },
      metadata: { tollgate_mode: "native" },
    }),
  });
  const batch = (await answered(made)) as unknown as Batch;
  const vendor = lines[0]?.body.model.split("/", 1)[0];
  await eventually(async () => {
    const list = await getAs("any", `${gateway.sandboxUrl}/${vendor}/batches?limit=100`);
    return (await list.text()).includes(batch.id.slice("batch_".length)) ? true : undefined;
  }, "the provider's batch");
  const sinceMs = Date.now();
  await eventually(() => (Date.now() - sinceMs > 300 ? true : undefined), "some lines");
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

/** Waits for the end, and checks that every line that ran at the provider is charged once, in one posting. */
async function paid(account: TestAccount, { id }: Batch, runsBefore: number, spentBefore: readonly number[] = []) {
  const batch = await eventually(async () => {
    const now = (await (await getAs(account.key, `${gateway.url}/v1/batches/${id}`)).json()) as Batch;
    return ENDED.includes(now.status) ? now : undefined;
  }, "the end of the batch");
  const [good, bad] = [await linesOf(account, batch.output_file_id), await linesOf(account, batch.error_file_id)];
  const charges = await chargesOf(account);
  const nano = good.map(({ response }) => Math.round((response?.body.usage?.cost ?? 0) * 1e9));
  expect(charges.map((one) => one.charged_nano_usd)).toEqual([
    ...[nano.reduce((sum, one) => sum + one, 0)],
    ...spentBefore,
  ]);
  expect(nano.every((one) => one > 0)).toBe(true);
  expect(good).toHaveLength(await runs(runsBefore));
  expect(good.length + bad.length).toBe(LINES);
  return { status: batch.status, done: good.length, codes: [...new Set(bad.map(({ error }) => error?.code))], nano };
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
const freeze = ({ account }: Keyed, frozen: boolean) =>
  gateway.admin("PATCH", `/admin/v1/accounts/${account.accountId}`, { frozen });
const lines = (name = "acme/one-2") => Array.from({ length: LINES }, (_, at) => chat(at, name));

it.each<[string, (of: Keyed) => Promise<unknown>, string]>([
  [
    "its key is revoked",
    ({ account, agent }) =>
      fetch(`${gateway.url}/api/v1/agents/${agent.id}`, {
        method: "DELETE",
        headers: { authorization: `Bearer ${account.key}` },
      }),
    "invalid_token",
  ],
  ["its key is paused", (of) => change(of, { paused: true }), "key_paused"],
  ["its account is frozen", (of) => freeze(of, true), "account_frozen"],
])("where %s, the provider's batch is cancelled and what it did is charged", async (_, happens, code) => {
  const of = await keyed();
  const before = await runs();
  const batch = await begun(of.account, of.agent.key, lines());
  await happens(of);
  await eventually(async () => ((await runs(before)) > 0 ? true : undefined), "the provider's end");
  const { status, done, codes } = await paid(of.account, batch, before);
  expect([status, codes]).toEqual(["expired", [code]]);
  expect(done).toBeGreaterThan(10);
  expect(done).toBeLessThan(LINES);
});

it.each<[string, (of: Keyed) => Promise<unknown>]>([
  [
    "its key expires",
    async (of) => {
      await change(of, { expires_at: new Date(Date.now() + 200).toISOString() });
      await eventually(async () => {
        const { status } = await getAs(of.agent.key, `${gateway.url}/v1/batches`);
        return status === 401 ? true : undefined;
      }, "the key's end");
    },
  ],
  ["its key's ceiling is lowered to nothing", (of) => change(of, { ceiling_cents: 0 })],
  ["its key may no longer call the model", (of) => change(of, { models: ["core/cheap"] })],
])("where %s, all of it is charged", async (_, happens) => {
  const of = await keyed();
  const before = await runs();
  const batch = await begun(of.account, of.agent.key, lines());
  await happens(of);
  expect(await paid(of.account, batch, before)).toMatchObject({ status: "completed", done: LINES, codes: [] });
});

it("where its run is stopped, what the provider did is charged to the run", async () => {
  const of = await keyed();
  const before = await runs();
  const batch = await begun(of.account, of.agent.key, lines(), {
    "x-tollgate-run": "r",
    "x-tollgate-run-budget-cents": "50",
  });
  await sendAs(of.account.key, "POST", `${gateway.url}/api/v1/runs/r/stop`, {}).then(answered);
  const { status, done } = await paid(of.account, batch, before);
  expect([status, done < LINES, done > 10]).toEqual(["cancelled", true, true]);
  expect(await chargesOf(of.account)).toMatchObject([{ run_id: "r" }]);
});

it("where its model is no longer sold, or costs more, all of it is charged at the price of its creation", async () => {
  const [one, two] = [await keyed(), await keyed()];
  const before = await runs();
  const first = await begun(one.account, one.agent.key, lines());
  writeAcme(model("two-1", 20, 80));
  await gateway.reload();
  const done = await paid(one.account, first, before);
  expect(done).toMatchObject({ status: "completed", done: LINES });
  writeAcme(model("one-2", 1, 3) + model("two-1", 2, 8));
  await gateway.reload();
  const again = await runs();
  const second = await begun(two.account, two.agent.key, lines("acme/two-1"));
  writeAcme(model("two-1", 20, 80));
  await gateway.reload();
  const dear = await paid(two.account, second, again);
  expect(dear).toMatchObject({ status: "completed", done: LINES });
  writeAcme(model("one-2", 1, 3) + model("two-1", 2, 8));
  await gateway.reload();
  const price = async (name: string) => {
    const { body } = chat(0, name);
    const { usage } = await one.account.client.chat.completions.create({ ...body, messages: body.messages as [] });
    return Math.ceil(Math.round((usage as unknown as { cost: number }).cost * 1e9) / 2);
  };
  expect([done.nano[0], dear.nano[0]]).toEqual([await price("acme/one-2"), await price("acme/two-1")]);
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
  const batch = await begun(of.account, of.agent.key, asks);
  await responses.delete(id);
  expect(await paid(of.account, batch, before, spent)).toMatchObject({ status: "completed", done: LINES });
});

it("leaves a line that names a run to its creator, free, before the provider gets it", async () => {
  const of = await keyed();
  const before = await runs();
  const named = chat(0, "acme/one-2", { metadata: { tollgate_run: "other" } });
  const batch = await begun(of.account, of.agent.key, [named, ...lines().slice(1)]);
  expect(await paid(of.account, batch, before)).toMatchObject({ status: "completed", done: LINES - 1 });
});

it("leaves sound books", async () => {
  expect(await gateway.doctor()).toEqual([]);
});
