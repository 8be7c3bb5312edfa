// Batches that a provider's own batch API runs: modes, money, and a provider's faults, as clients and the ledger see them.
import { toFile } from "openai";
import { describe, expect, it } from "vitest";
import { forFile } from "../../support/for-file.ts";
import { eventually, startTestGateway, type TestAccount } from "../../support/gateway.ts";
import { getAs, sendAs } from "../../support/keyed-fetch.ts";

const gateway = forFile(await startTestGateway({ BATCH_POLL_SECONDS: "0.004" }));
const MODEL = "openai/gpt-6-luna";
const CLAUDE = "anthropic/claude-haiku-4.5";
const ENDED = ["completed", "failed", "expired", "cancelled"];

interface Batch {
  readonly id: string;
  readonly status: string;
  readonly output_file_id: string | null;
  readonly error_file_id: string | null;
  readonly request_counts: { readonly total: number; readonly completed: number; readonly failed: number };
}

interface Line {
  readonly custom_id: string;
  readonly response: { readonly status_code: number; readonly body: { usage?: { cost?: number } } } | null;
  readonly error: { readonly code: string; readonly message: string } | null;
}

const chat = (id: string, more: object = {}) => ({
  custom_id: id,
  method: "POST",
  url: "/v1/chat/completions",
  body: { model: MODEL, max_tokens: 20, messages: [{ role: "user", content: `Say ${id}` }], ...more },
});

const named = (count: number): object[] => Array.from({ length: count }, (_, at) => chat(`line ${at}`));

async function begin({ client }: TestAccount, lines: readonly object[], more: object = {}, fault = ""): Promise<Batch> {
  const text = lines.map((line) => JSON.stringify(line)).join("\n");
  const file = await client.files.create({ purpose: "batch", file: await toFile(Buffer.from(text), "in.jsonl") });
  const wanted = {
    input_file_id: file.id,
    endpoint: "/v1/chat/completions",
    completion_window: "24h",
    ...more,
  } as const;
  const headers = fault === "" ? {} : { "x-tollgate-sandbox-fault": fault };
  return (await client.batches.create(wanted, { headers })) as Batch;
}

const over = ({ key }: TestAccount, { id }: { readonly id: string }): Promise<Batch> =>
  eventually(async () => {
    const batch = (await (await getAs(key, `${gateway.url}/v1/batches/${id}`)).json()) as Batch;
    return ENDED.includes(batch.status) ? batch : undefined;
  }, `the end of ${id}`);

async function linesOf({ client }: TestAccount, fileId: string | null): Promise<Line[]> {
  if (fileId === null) return [];
  const text = await (await client.files.content(fileId)).text();
  return text
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Line);
}

const nanoOf = (lines: readonly Line[]): number =>
  lines.reduce((sum, { response }) => sum + Math.round((response?.body.usage?.cost ?? 0) * 1e9), 0);

async function chargesOf({ key }: TestAccount) {
  const answer = await getAs(key, `${gateway.url}/api/v1/transactions`);
  const { transactions } = (await answer.json()) as { transactions: { kind: string; charged_nano_usd: number }[] };
  return transactions.filter(({ kind }) => kind === "charge").map(({ charged_nano_usd: nano }) => nano);
}

const idsOf = (lines: readonly Line[]): string[] => lines.map(({ custom_id: id }) => id).toSorted();
const sum = (all: readonly number[]): number => all.reduce((one, other) => one + other, 0);

/** The price of the same call without a batch. */
async function priceOf({ client }: TestAccount, { body }: ReturnType<typeof chat>): Promise<number> {
  const answer = await client.chat.completions.create({ ...body, messages: body.messages as [] });
  return Math.round(((answer.usage as unknown as { cost: number }).cost ?? 0) * 1e9);
}

interface MessageBatch {
  readonly id: string;
  readonly processing_status: string;
  readonly request_counts: Record<string, number>;
  readonly tollgate_mode: string | null;
  readonly results_url: string | null;
}

interface Result {
  readonly custom_id: string;
  readonly result: { readonly type: string; readonly message?: { readonly usage: { readonly cost: number } } };
}

const ask = (id: string, more: object = {}) => ({
  custom_id: id,
  params: { model: CLAUDE, max_tokens: 20, messages: [{ role: "user", content: `Say ${id}` }], ...more },
});

const asks = (count: number): object[] => Array.from({ length: count }, (_, at) => ask(`line-${at}`));

async function beginMessages({ key }: TestAccount, body: object, fault = ""): Promise<MessageBatch> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const answer = await fetch(`${gateway.url}/v1/messages/batches`, {
    method: "POST",
    headers: fault === "" ? headers : { ...headers, "x-tollgate-sandbox-fault": fault },
    body: JSON.stringify(body),
  });
  const json = await answer.json();
  if (!answer.ok) throw Object.assign(new Error(JSON.stringify(json)), { status: answer.status, error: json });
  return json as MessageBatch;
}

async function overMessages({ key }: TestAccount, { id }: { readonly id: string }) {
  const batch = await eventually(async () => {
    const answer = await getAs(key, `${gateway.url}/v1/messages/batches/${id}`);
    const now = (await answer.json()) as MessageBatch;
    return now.processing_status === "ended" ? now : undefined;
  }, `the end of ${id}`);
  const text = batch.results_url === null ? "" : await (await getAs(key, batch.results_url)).text();
  const results = text.split("\n").filter(Boolean);
  return { batch, results: results.map((line) => JSON.parse(line) as Result) };
}

const paidIn = (results: readonly Result[]): number =>
  sum(results.map(({ result }) => Math.round((result.message?.usage.cost ?? 0) * 1e9)));

/** How often the sandbox ran the lines of an adapter since `from`. */
async function runsOf(adapter: string, from = 0): Promise<number> {
  const { requests } = await gateway.books();
  return requests.filter((one) => one.adapter === adapter && one.requestId === null).length - from;
}

describe("a batch that a provider runs", () => {
  it("costs half, to the nano, and has every line once", async () => {
    const account = await gateway.account();
    const before = await runsOf("openai");
    const batch = await over(account, await begin(account, named(3), { metadata: { team: "red" } }));
    expect(batch).toMatchObject({ status: "completed", metadata: { team: "red", tollgate_mode: "native" } });
    expect(batch.request_counts).toEqual({ total: 3, completed: 3, failed: 0 });
    const lines = await linesOf(account, batch.output_file_id);
    expect(idsOf(lines)).toEqual(["line 0", "line 1", "line 2"]);
    expect(await chargesOf(account)).toEqual([nanoOf(lines)]);
    expect(await runsOf("openai", before)).toBe(3);
    for (const { custom_id: id, response } of lines) {
      const whole = await priceOf(account, chat(id));
      expect(Math.round((response?.body.usage?.cost ?? 0) * 1e9)).toBe(Math.ceil(whole / 2));
    }
  });

  it("runs lines of several models, and of another format", async () => {
    const account = await gateway.account();
    const models = [MODEL, "openai/gpt-4o-mini", MODEL, "openai/gpt-4o-mini"];
    const mixed = models.map((model, at) => chat(`line ${at}`, { model }));
    const claude = mixed.map((line) => ({ ...line, body: { ...line.body, model: CLAUDE } }));
    for (const lines of [mixed, claude]) {
      const batch = await over(account, await begin(account, lines));
      expect(batch).toMatchObject({ metadata: { tollgate_mode: "native" }, request_counts: { completed: 4 } });
    }
  });

  it.each([
    ["/v1/responses", { model: MODEL, input: "Hello", max_output_tokens: 20 }],
    ["/v1/embeddings", { model: "openai/text-embedding-3-small", input: "Hello" }],
    ["/v1/moderations", { input: "Hello" }],
  ])("runs lines of %s", async (endpoint, body) => {
    const account = await gateway.account();
    const lines = ["a", "b"].map((id) => ({ custom_id: id, method: "POST", url: endpoint, body }));
    const batch = await over(account, await begin(account, lines, { endpoint }));
    expect(batch).toMatchObject({ metadata: { tollgate_mode: "native" }, request_counts: { completed: 2 } });
    expect(sum(await chargesOf(account))).toBe(nanoOf(await linesOf(account, batch.output_file_id)));
  });

  it("leaves out lines that cannot run, free", async () => {
    const account = await gateway.account();
    const lines = [chat("a"), chat("a"), chat("b", { model: "no/such-model" }), chat("c", { stream: true }), chat("d")];
    const batch = await over(account, await begin(account, lines));
    expect(batch).toMatchObject({ metadata: { tollgate_mode: "native" }, request_counts: { completed: 2, failed: 3 } });
    expect(sum(await chargesOf(account))).toBe(nanoOf(await linesOf(account, batch.output_file_id)));
  });

  it("goes as far as the money lasts", async () => {
    const account = await gateway.account({ creditCents: 3 });
    const lines = Array.from({ length: 4 }, (_, at) =>
      chat(`line ${at}`, { model: "openai/gpt-4o", max_tokens: 2_000 }),
    );
    const batch = await over(account, await begin(account, lines));
    expect(batch).toMatchObject({ status: "expired", request_counts: { total: 4, completed: 2, failed: 2 } });
    const left = await linesOf(account, batch.error_file_id);
    expect(left.map(({ error }) => error?.code)).toEqual(["insufficient_balance", "insufficient_balance"]);
    expect(sum(await chargesOf(account))).toBe(nanoOf(await linesOf(account, batch.output_file_id)));
  });
});

describe("the mode of a batch", () => {
  it.each([
    ["by default native where one provider comes first for all lines", [MODEL, "core/cheap"], undefined, "native"],
    ["by default inline where it does not", [MODEL, CLAUDE], undefined, "inline"],
    ["by default inline where the provider has no batch API", ["sandbox/ok"], undefined, "inline"],
    ["inline where that is requested", [MODEL], "inline", "inline"],
    ["native where that is requested and a provider can", ["core/cheap", CLAUDE], "native", "native"],
  ])("is %s", async (_, models, wish, mode) => {
    const account = await gateway.account();
    const lines = models.map((model, at) => chat(`line ${at}`, { model }));
    const more = wish === undefined ? {} : { metadata: { tollgate_mode: wish } };
    const batch = await over(account, await begin(account, lines, more));
    expect(batch).toMatchObject({ metadata: { tollgate_mode: mode }, request_counts: { completed: lines.length } });
  });

  it("is refused where no provider can run all lines", async () => {
    const account = await gateway.account();
    const native = { metadata: { tollgate_mode: "native" } };
    await expect(begin(account, [chat("a", { model: "sandbox/ok" })], native)).rejects.toMatchObject({
      status: 400,
      param: "metadata.tollgate_mode",
    });
    const sent = { requests: [ask("a", { model: "sandbox/ok" })], tollgate_mode: "native" };
    await expect(beginMessages(account, sent)).rejects.toMatchObject({
      status: 400,
      error: { error: { message: expect.stringContaining("tollgate_mode") } },
    });
    // Only the first lines are read before the batch is created.
    const late = [...named(30), chat("last", { model: "sandbox/ok" })];
    const batch = await over(account, await begin(account, late, native));
    expect(batch).toMatchObject({ status: "failed", errors: { data: [{ param: "metadata.tollgate_mode" }] } });
  });
});

describe("a provider's fault", () => {
  it.each([
    ["batch-twice", { completed: 4, failed: 0 }, "completed"],
    ["batch-unknown", { completed: 4, failed: 0 }, "completed"],
    ["batch-half", { completed: 4, failed: 0 }, "completed"],
    ["batch-unheard", { completed: 4, failed: 0 }, "completed"],
    ["batch-few", { completed: 2, failed: 2 }, "completed"],
    ["batch-failing", { completed: 3, failed: 1 }, "completed"],
    ["batch-expired", { completed: 2, failed: 2 }, "expired"],
    ["batch-lost", { completed: 0, failed: 4 }, "completed"],
    ["batch-refused", { completed: 0, failed: 4 }, "completed"],
  ])("%s loses no line and charges none twice", async (fault, counts, status) => {
    const account = await gateway.account();
    const [files, claude] = [await runsOf("openai"), await runsOf("anthropic")];
    const other = await gateway.account();
    const made = await begin(account, named(4), {}, fault);
    const messages = await beginMessages(other, { requests: asks(4) }, fault);
    const batch = await over(account, made);
    expect(batch).toMatchObject({ status, metadata: { tollgate_mode: "native" }, request_counts: counts });
    const [good, bad] = [await linesOf(account, batch.output_file_id), await linesOf(account, batch.error_file_id)];
    expect(idsOf([...good, ...bad])).toEqual(["line 0", "line 1", "line 2", "line 3"]);
    expect(sum(await chargesOf(account))).toBe(nanoOf(good));
    const { results } = await overMessages(other, messages);
    const done = results.filter(({ result }) => result.type === "succeeded");
    expect([results.length, done.length]).toEqual([4, counts.completed]);
    expect(sum(await chargesOf(other))).toBe(paidIn(results));
    // Nothing was sent twice.
    expect(await runsOf("openai", files)).toBeLessThanOrEqual(4);
    expect(await runsOf("anthropic", claude)).toBeLessThanOrEqual(4);
  });
});

it("finds its own batches again among others of the same size", async () => {
  const before = await runsOf("anthropic");
  const accounts = await Promise.all([gateway.account(), gateway.account(), gateway.account()]);
  const all = await Promise.all(
    accounts.map(async (account) => {
      const made = await beginMessages(account, { requests: asks(7) }, "batch-unheard,batch-slow-0.2");
      return overMessages(account, made);
    }),
  );
  for (const [at, { results }] of all.entries()) {
    expect(results.map(({ result }) => result.type)).toEqual(Array(7).fill("succeeded"));
    expect(await chargesOf(accounts[at] as TestAccount)).toEqual([paidIn(results)]);
  }
  expect(await runsOf("anthropic", before)).toBe(21);
});

describe("a cancelled batch", () => {
  it("pays for what the provider had done", async () => {
    const account = await gateway.account();
    const made = await begin(account, named(40), {}, "batch-slow-1");
    await eventually(async () => {
      const { status } = await account.client.batches.retrieve(made.id);
      return status === "in_progress" ? true : undefined;
    }, "its start");
    await account.client.batches.cancel(made.id);
    const batch = await over(account, made);
    expect(batch.status).toBe("cancelled");
    const [good, bad] = [await linesOf(account, batch.output_file_id), await linesOf(account, batch.error_file_id)];
    expect(new Set(idsOf([...good, ...bad])).size).toBe(40);
    expect(new Set(bad.map(({ error }) => error?.code))).toEqual(new Set(["batch_cancelled"]));
    expect(sum(await chargesOf(account))).toBe(nanoOf(good));
  });
});

describe("a batch of messages that a provider runs", () => {
  it("costs half, to the nano, and has every result once", async () => {
    const account = await gateway.account();
    const made = await beginMessages(account, { requests: asks(3) });
    expect(made.tollgate_mode).toBeNull();
    const { batch, results } = await overMessages(account, made);
    expect(batch).toMatchObject({ tollgate_mode: "native", request_counts: { succeeded: 3, errored: 0 } });
    expect(results.map(({ custom_id: id }) => id).toSorted()).toEqual(["line-0", "line-1", "line-2"]);
    expect(await chargesOf(account)).toEqual([paidIn(results)]);
    const call = await sendAs(account.key, "POST", `${gateway.url}/v1/messages`, ask("line-0").params);
    const { usage } = (await call.json()) as { usage: { cost: number } };
    const first = results.find(({ custom_id: id }) => id === "line-0")?.result.message?.usage.cost ?? 0;
    expect(Math.round(first * 1e9)).toBe(Math.ceil(Math.round(usage.cost * 1e9) / 2));
  });
});

it("leaves nothing at the providers, however its batches ended", async () => {
  const ids = async (path: string, key: string) => {
    const answer = await fetch(gateway.sandboxUrl + path, {
      headers: { authorization: `Bearer ${key}`, "x-api-key": key },
    });
    const { data } = (await answer.json()) as { data: { id: string }[] };
    return data.map(({ id }) => id);
  };
  const left = async () => [
    ...(await ids("/openai/files", "any")),
    ...(await ids("/anthropic/messages/batches?limit=100", "any")),
  ];
  await eventually(async () => ((await left()).length === 0 ? true : undefined), "the deletion of all files");
});

it("leaves sound books", async () => {
  expect(await gateway.doctor()).toEqual([]);
});
