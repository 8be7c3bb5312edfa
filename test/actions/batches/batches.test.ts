// Batches whose lines the gateway calls, as the official client and the ledger see them, against the sandbox.
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type OpenAI from "openai";
import { toFile } from "openai";
import { describe, expect, it } from "vitest";
import { BatchPlaces } from "../../../src/actions/batches/batch-part.ts";
import { forFile } from "../../support/for-file.ts";
import { eventually, startTestGateway, type TestAccount } from "../../support/gateway.ts";
import { getAs, sendAs } from "../../support/keyed-fetch.ts";

const gateway = forFile(await startTestGateway());
const MODEL = "core/cheap";

interface Line {
  readonly custom_id: string;
  readonly response: { status_code: number; request_id: string; body: Record<string, unknown> } | null;
  readonly error: { code: string; message: string; line?: number } | null;
}

const chat = (id: string, content = `Say ${id}`, more: object = {}) => ({
  custom_id: id,
  method: "POST",
  url: "/v1/chat/completions",
  body: { model: MODEL, max_tokens: 20, messages: [{ role: "user", content }], ...more },
});

async function upload({ client }: TestAccount, lines: readonly unknown[] | string): Promise<string> {
  const text = typeof lines === "string" ? lines : lines.map((line) => JSON.stringify(line)).join("\n");
  const file = await client.files.create({ purpose: "batch", file: await toFile(Buffer.from(text), "in.jsonl") });
  return file.id;
}

type Batch = OpenAI.Batch & { readonly tollgate: Record<string, unknown>; readonly usage: Record<string, unknown> };

async function begin(
  account: TestAccount,
  lines: readonly unknown[] | string,
  more: Record<string, unknown> = {},
): Promise<Batch> {
  const wanted = {
    input_file_id: await upload(account, lines),
    endpoint: "/v1/chat/completions" as const,
    completion_window: "24h" as const,
    ...more,
    metadata: { tollgate_mode: "inline", ...(more.metadata as object | undefined) },
  };
  return (await account.client.batches.create(wanted)) as Batch;
}

const over = ({ client }: TestAccount, { id }: { readonly id: string }): Promise<Batch> =>
  eventually(async () => {
    const batch = (await client.batches.retrieve(id)) as Batch;
    return ["completed", "failed", "expired", "cancelled"].includes(batch.status) ? batch : undefined;
  }, `the end of ${id}`);

async function linesOf({ client }: TestAccount, fileId: string | null | undefined): Promise<Line[]> {
  if (fileId == null) return [];
  const text = await (await client.files.content(fileId)).text();
  return text
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Line);
}

/** What the lines say that they cost. */
const nanoOf = (lines: readonly Line[]): number =>
  lines.reduce((sum, { response }) => {
    const { cost = 0 } = (response?.body.usage ?? {}) as { cost?: number };
    return sum + Math.round(cost * 1_000_000_000);
  }, 0);

interface Posting {
  readonly kind: string;
  readonly endpoint: string;
  readonly charged_nano_usd: number;
  readonly charged_usd: string;
  readonly usage: unknown;
}

async function charges({ key }: TestAccount): Promise<Posting[]> {
  const answer = await getAs(key, `${gateway.url}/api/v1/transactions`);
  const { transactions } = (await answer.json()) as { transactions: Posting[] };
  return transactions.filter(({ kind }) => kind === "charge");
}

describe("a batch", () => {
  it("answers every line once, and the ledger charges what the lines say", async () => {
    const account = await gateway.account();
    const made = await begin(account, [chat("a"), chat("b"), chat("c")], { metadata: { team: "red" } });
    const named = { metadata: { team: "red", tollgate_mode: "inline" } };
    expect(made).toMatchObject({ object: "batch", status: "validating", ...named });
    const batch = await over(account, made);
    expect(batch).toMatchObject({ status: "completed", error_file_id: null, ...named });
    expect(batch.request_counts).toEqual({ total: 3, completed: 3, failed: 0 });
    const lines = await linesOf(account, batch.output_file_id);
    expect(lines.map(({ custom_id: id }) => id).toSorted()).toEqual(["a", "b", "c"]);
    expect(lines.every(({ response }) => response?.status_code === 200)).toBe(true);
    const [posting] = await charges(account);
    expect(posting).toMatchObject({ endpoint: "batch", usage: { output_tokens: 60 } });
    expect(nanoOf(lines)).toBe(posting?.charged_nano_usd);
    expect(batch.usage).toMatchObject({ output_tokens: 60, cost: Number(posting?.charged_usd) });
    const told = await eventually(async () => {
      const answer = await getAs(account.key, `${gateway.url}/api/v1/events`);
      const { events } = (await answer.json()) as { events: { kind: string; data: unknown }[] };
      return events.find(({ kind }) => kind === "batch.completed");
    }, "the event");
    expect(told.data).toMatchObject({ batch_id: batch.id, completed: 3, output_file_id: batch.output_file_id });
    expect(await gateway.doctor()).toEqual([]);
  });

  it("calls its lines within the run that it was created in, where its key requires one", async () => {
    const account = await gateway.account();
    const agent = await sendAs(account.key, "POST", `${gateway.url}/api/v1/agents`, { run_required: true });
    const { api_key: key } = (await agent.json()) as { api_key: string };
    await sendAs(account.key, "POST", `${gateway.url}/api/v1/runs`, { id: "lines", budget_cents: 50 });
    const inOther = chat("b", "b", { metadata: { tollgate_run: "other" } });
    const made = await sendAs(`${key}+lines`, "POST", `${gateway.url}/v1/batches`, {
      input_file_id: await upload(account, [chat("a"), inOther]),
      endpoint: "/v1/chat/completions",
      completion_window: "24h",
      metadata: { tollgate_mode: "inline" },
    });
    const batch = await over(account, (await made.json()) as Batch);
    expect(batch.request_counts).toEqual({ total: 2, completed: 1, failed: 1 });
    expect(await charges(account)).toMatchObject([{ endpoint: "batch", run_id: "lines" }]);
  });

  it("turns lines that cannot run into free error lines, and runs the others", async () => {
    const account = await gateway.account();
    const lines = [
      chat("good"),
      chat("good"),
      { ...chat("foreign"), url: "/v1/embeddings" },
      { ...chat("get"), method: "GET" },
      chat("streamed", "Hello", { stream: true }),
      chat("unknown", "Hello", { model: "no/such-model" }),
      chat("refused", "Hello", { model: "sandbox/400" }),
      { ...chat("bodiless"), body: null },
      { body: {} },
      [],
    ].map((line) => JSON.stringify(line));
    const made = await begin(account, [...lines, "{not json", "", `"${"x".repeat(9_000_000)}"`].join("\n"));
    const batch = await over(account, made);
    expect(batch).toMatchObject({ status: "completed", request_counts: { total: 12, completed: 1, failed: 11 } });
    const good = await linesOf(account, batch.output_file_id);
    expect(good.map(({ custom_id: id }) => id)).toEqual(["good"]);
    const bad = await linesOf(account, batch.error_file_id);
    expect(bad.find(({ custom_id: id }) => id === "unknown")?.response).toMatchObject({
      status_code: 404,
      body: { error: { code: "model_not_found" } },
    });
    expect(bad.find(({ custom_id: id }) => id === "refused")?.response).toMatchObject({ status_code: 400 });
    const told = bad.flatMap(({ error }) => (error === null ? [] : [[error.line, error.message]]));
    expect(told).toEqual([
      [2, expect.stringContaining("custom_id: good was on an earlier line")],
      [3, expect.stringContaining("url: must be /v1/chat/completions")],
      [4, expect.stringContaining("method: must be POST")],
      [5, expect.stringContaining("body.stream: not possible in a batch")],
      [8, expect.stringContaining("body: must be an object")],
      [9, expect.stringContaining("custom_id: must be text")],
      [10, expect.stringContaining("The line must be a JSON object")],
      [11, expect.stringContaining("not valid JSON")],
      [13, expect.stringContaining("The line is longer than 8 MiB")],
    ]);
    expect(nanoOf(good)).toBe((await charges(account)).reduce((sum, one) => sum + one.charged_nano_usd, 0));
  });

  it.each([
    ["/v1/responses", { model: MODEL, input: "Hello", max_output_tokens: 20 }],
    ["/v1/embeddings", { model: "openai/text-embedding-3-small", input: "Hello" }],
    ["/v1/completions", { model: "mistralai/codestral-2508", prompt: "def add(", max_tokens: 20 }],
    ["/v1/moderations", { input: "Hello" }],
  ])("runs lines of %s", async (endpoint, body) => {
    const account = await gateway.account();
    const lines = ["a", "b"].map((id) => ({ custom_id: id, method: "POST", url: endpoint, body }));
    const batch = await over(account, await begin(account, lines, { endpoint }));
    expect([batch.request_counts, await linesOf(account, batch.error_file_id)]).toEqual([
      { total: 2, completed: 2, failed: 0 },
      [],
    ]);
    const paid = (await charges(account)).reduce((sum, one) => sum + one.charged_nano_usd, 0);
    expect(nanoOf(await linesOf(account, batch.output_file_id))).toBe(paid);
  });

  it("goes as far as the money lasts, in parts that shrink to what fits", async () => {
    const account = await gateway.account({ creditCents: 3 });
    // Each can cost two cents and costs less.
    const dear = { model: "sandbox/ok", max_tokens: 10_000 };
    const lines = ["a", "b", "c"].map((id) => chat(id, `Say ${id}`, dear));
    const batch = await over(
      account,
      await begin(account, [...lines, chat("d", "Hi", { ...dear, max_tokens: 20_000 })]),
    );
    expect(batch).toMatchObject({ status: "expired", request_counts: { total: 4, completed: 3, failed: 1 } });
    expect(batch.tollgate).toMatchObject({ affordable_lines: 1, stopped: "no_money" });
    expect((await charges(account)).length).toBe(3);
    const [left] = await linesOf(account, batch.error_file_id);
    expect(left).toMatchObject({ custom_id: "d", response: null, error: { code: "insufficient_balance" } });
    expect(await gateway.doctor()).toEqual([]);
  });

  it("costs at most max_cost_cents", async () => {
    const account = await gateway.account();
    const dear = { model: "sandbox/ok", max_tokens: 10_000 };
    const lines = ["a", "b"].map((id) => chat(id, `Say ${id}`, dear));
    const batch = await over(account, await begin(account, lines, { max_cost_cents: 1 }));
    expect(batch).toMatchObject({ status: "expired", request_counts: { total: 2, completed: 0, failed: 2 } });
    const left = await linesOf(account, batch.error_file_id);
    expect(left.map(({ error }) => error?.code)).toEqual(["max_cost_exceeded", "max_cost_exceeded"]);
    expect(await charges(account)).toEqual([]);
  });

  it("keeps what was done when it is cancelled, and charges for that alone", async () => {
    const account = await gateway.account();
    const slow = Array.from({ length: 40 }, (_, at) => chat(`slow ${at}`, "Hi", { model: "sandbox/slow-headers-0.5" }));
    const made = await begin(account, [chat("first", "Hi", { model: "sandbox/ok" }), ...slow]);
    await eventually(async () => {
      const { request_counts: counts } = await account.client.batches.retrieve(made.id);
      return (counts?.completed ?? 0) > 0 ? true : undefined;
    }, "the first line");
    await expect(account.client.files.delete(made.input_file_id)).rejects.toMatchObject({ status: 409 });
    expect(await account.client.batches.cancel(made.id)).toMatchObject({ status: "cancelling" });
    const batch = await over(account, made);
    expect(batch.status).toBe("cancelled");
    const [good, left] = [await linesOf(account, batch.output_file_id), await linesOf(account, batch.error_file_id)];
    expect([...good, ...left].map(({ custom_id: id }) => id).toSorted()).toHaveLength(41);
    expect(new Set(left.map(({ error }) => error?.code))).toEqual(new Set(["batch_cancelled"]));
    expect(nanoOf(good)).toBe((await charges(account)).reduce((sum, one) => sum + one.charged_nano_usd, 0));
    await expect(account.client.batches.cancel(made.id)).rejects.toMatchObject({ status: 409 });
    expect(await account.client.files.delete(made.input_file_id)).toMatchObject({ deleted: true });
  });

  it("runs in the run that its key requires", async () => {
    const account = await gateway.account();
    const made = await sendAs(account.key, "POST", `${gateway.url}/api/v1/agents`, { run_required: true });
    const { api_key: key } = (await made.json()) as { api_key: string };
    const batch = await fetch(`${gateway.url}/api/llm/v1/batches`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
        "x-tollgate-run": "nightly",
        "x-tollgate-run-budget-cents": "50",
      },
      body: JSON.stringify({
        input_file_id: await upload(account, [chat("a")]),
        endpoint: "/v1/chat/completions",
        completion_window: "24h",
        metadata: { tollgate_mode: "inline" },
      }),
    });
    const { id } = (await batch.json()) as { id: string };
    expect((await over(account, { id })).request_counts).toMatchObject({ completed: 1, failed: 0 });
  });

  it("keeps at most 16 of an account's lines in memory", async () => {
    const places = new BatchPlaces();
    const { promise, resolve } = Promise.withResolvers<void>();
    let begun = 0;
    const line = async () => {
      begun += 1;
      await promise;
    };
    const lines = Array.from({ length: 40 }, () => places.line("acct:a", line));
    await new Promise((turn) => setImmediate(turn));
    expect(begun).toBe(16);
    resolve();
    await Promise.all(lines);
    expect(begun).toBe(40);
  });

  it.each([
    ["without lines", " \n\n", "empty_file"],
    ["with far too many lines", "\n".repeat(100_002), "too_many_lines"],
  ])("fails %s, free", async (_, text, code) => {
    const account = await gateway.account();
    const batch = await over(account, await begin(account, text));
    expect(batch).toMatchObject({ status: "failed", errors: { data: [{ code }] }, output_file_id: null });
    expect(await charges(account)).toEqual([]);
  });

  it("is the account's: listed for each of its keys, and for no other account", async () => {
    const [account, other] = [await gateway.account(), await gateway.account()];
    const made = [await begin(account, [chat("a")]), await begin(account, [chat("b")])];
    const batches = await Promise.all(made.map((one) => over(account, one)));
    const ids = batches.map(({ id }) => id).toReversed();
    const page = await account.client.batches.list({ limit: 1 });
    expect([page.data.map(({ id }) => id), page.has_more]).toEqual([[ids[0]], true]);
    expect((await page.getNextPage()).data.map(({ id }) => id)).toEqual([ids[1]]);
    expect((await other.client.batches.list()).data).toEqual([]);
    const [{ id, input_file_id: input, output_file_id: output }] = batches as [Batch];
    for (const asked of [
      () => other.client.batches.retrieve(id),
      () => other.client.batches.cancel(id),
      () => other.client.files.retrieve(input),
      () => other.client.files.content(output ?? ""),
      () => other.client.files.delete(input),
      () => begin(other, [], { input_file_id: input }),
    ])
      await expect(asked()).rejects.toMatchObject({ status: 404 });
    const files = await account.client.files.list({ purpose: "batch_output" });
    expect(files.data.map(({ purpose }) => purpose)).toEqual(["batch_output", "batch_output"]);
    const jobs = await getAs(account.key, `${gateway.url}/api/v1/jobs`);
    const { jobs: rows } = (await jobs.json()) as { jobs: Record<string, unknown>[] };
    expect(rows[0]).toMatchObject({ job: "batch", status: "succeeded", progress: { done: 1, total: 1 } });
  });

  it.each([
    [{ endpoint: "/v1/images/generations" }, "endpoint"],
    [{ completion_window: "1h" }, "completion_window"],
    [{ metadata: { tollgate_mode: "both" } }, "metadata"],
    [{ max_cost_cents: -1 }, "max_cost_cents"],
  ])("is refused with %j", async (more, param) => {
    const account = await gateway.account();
    await expect(begin(account, [chat("a")], more)).rejects.toMatchObject({ status: 400, param });
  });
});

describe("a batch of the messages wire", () => {
  interface MessageBatch {
    readonly id: string;
    readonly processing_status: string;
    readonly request_counts: Record<string, number>;
    readonly results_url: string | null;
  }
  interface Result {
    readonly custom_id: string;
    readonly result: { readonly type: string; readonly message?: { readonly usage: { readonly cost: number } } };
  }
  const clientOf = ({ key }: TestAccount) => {
    const call = async <Body = MessageBatch>(method: string, path = "", body?: unknown): Promise<Body> => {
      const answer = await sendAs(key, method, `${gateway.url}/v1/messages/batches${path}`, body);
      const json = await answer.json();
      if (!answer.ok) throw Object.assign(new Error(JSON.stringify(json)), { status: answer.status, error: json });
      return json as Body;
    };
    return {
      create: (body: object) => call("POST", "", { tollgate_mode: "inline", ...body }),
      retrieve: (id: string) => call("GET", `/${id}`),
      cancel: (id: string) => call("POST", `/${id}/cancel`),
      delete: (id: string) => call<Record<string, unknown>>("DELETE", `/${id}`),
      list: (query = "") => call<{ data: MessageBatch[]; has_more: boolean }>("GET", query),
      async results({ results_url: url }: MessageBatch): Promise<Result[]> {
        const text = await (await getAs(key, url ?? "")).text();
        return text
          .trim()
          .split("\n")
          .map((line) => JSON.parse(line) as Result);
      },
    };
  };
  const ask = (id: string, more: object = {}) => ({
    custom_id: id,
    params: { model: MODEL, max_tokens: 20, messages: [{ role: "user" as const, content: `Say ${id}` }], ...more },
  });
  type Client = ReturnType<typeof clientOf>;
  const ended = (client: Client, id: string) =>
    eventually(async () => {
      const batch = await client.retrieve(id);
      return batch.processing_status === "ended" ? batch : undefined;
    }, `the end of ${id}`);
  it("has a result for each request, and is deleted with its results", async () => {
    const account = await gateway.account();
    const client = clientOf(account);
    const requests = [ask("a"), ask("b", { model: "no/such-model" }), ask("a"), ask("c", { stream: true }), ask("d")];
    const made = await client.create({ requests });
    expect(made).toMatchObject({ type: "message_batch", processing_status: "in_progress", results_url: null });
    const batch = await ended(client, made.id);
    const counts = { processing: 0, succeeded: 2, errored: 3, canceled: 0, expired: 0 };
    expect(batch).toMatchObject({ request_counts: counts, tollgate_mode: "inline" });
    const results = await client.results(batch);
    expect(results.map(({ custom_id: id, result }) => [id, result.type]).toSorted()).toEqual([
      ["a", "errored"],
      ["a", "succeeded"],
      ["b", "errored"],
      ["c", "errored"],
      ["d", "succeeded"],
    ]);
    const found = new Map(results.map(({ custom_id: id, result }) => [id, result]));
    expect(found.get("d")).toMatchObject({
      message: { type: "message", role: "assistant", usage: { output_tokens: 20 } },
    });
    expect(found.get("b")).toMatchObject({ error: { type: "error", error: { type: "not_found_error" } } });
    const paid = results.reduce((sum, { result }) => sum + Math.round((result.message?.usage.cost ?? 0) * 1e9), 0);
    expect(paid).toBe((await charges(account)).reduce((sum, one) => sum + one.charged_nano_usd, 0));
    expect(paid).toBeGreaterThan(0);
    expect((await account.client.files.list()).data).toEqual([]);
    expect(await client.delete(made.id)).toMatchObject({ id: made.id, type: "message_batch_deleted" });
    await expect(client.retrieve(made.id)).rejects.toMatchObject({ status: 404 });
    expect((await client.list()).data).toEqual([]);
  });

  it("has a result for each request where it is cancelled at once", async () => {
    const account = await gateway.account();
    const client = clientOf(account);
    const slow = Array.from({ length: 2_000 }, (_, at) => ask(`s-${at}`, { model: "sandbox/slow-headers-0.5" }));
    const made = await client.create({ requests: slow });
    await client.cancel(made.id);
    const batch = await ended(client, made.id);
    expect(batch.request_counts.processing).toBe(0);
    expect(await client.results(batch)).toHaveLength(2_000);
  });

  it("is cancelled, and is nobody else's", async () => {
    const [account, other] = [await gateway.account(), await gateway.account()];
    const client = clientOf(account);
    const slow = Array.from({ length: 30 }, (_, at) => ask(`slow-${at}`, { model: "sandbox/slow-headers-0.5" }));
    const made = await client.create({ requests: slow });
    await expect(client.delete(made.id)).rejects.toMatchObject({ status: 409 });
    for (const asked of [
      () => clientOf(other).retrieve(made.id),
      () => clientOf(other).cancel(made.id),
      () => clientOf(other).delete(made.id),
    ])
      await expect(asked()).rejects.toMatchObject({ status: 404 });
    expect(await client.cancel(made.id)).toMatchObject({ processing_status: "canceling" });
    const batch = await ended(client, made.id);
    const { succeeded = 0, canceled = 0 } = batch.request_counts;
    expect(succeeded + canceled).toBe(30);
    const types = (await client.results(batch)).map(({ result }) => result.type);
    expect(types.filter((type) => type === "canceled")).toHaveLength(canceled);
    expect((await client.list("?limit=1")).data.map(({ id }) => id)).toEqual([made.id]);
  });

  it("keeps the input of the batch that runs, and that of a repeat or a refused request for an hour", async () => {
    const account = await gateway.account();
    // A provider runs it, and is never done.
    const headers = { "idempotency-key": "once", "x-tollgate-sandbox-fault": "batch-slow-3600" };
    const create = async (id: string) => {
      const body = { tollgate_mode: "native", requests: [ask(id, { model: "anthropic/claude-haiku-4.5" })] };
      const answer = await sendAs(account.key, "POST", `${gateway.url}/v1/messages/batches`, body, headers);
      return { status: answer.status, id: ((await answer.json()) as Partial<MessageBatch>).id ?? "" };
    };
    const made = await create("slow");
    expect(await create("slow")).toEqual({ status: 200, id: made.id });
    expect(await create("other")).toMatchObject({ status: 422 });
    const database = new DatabaseSync(join(gateway.dataDir, "tollgate.db"), { readOnly: true, timeout: 60_000 });
    const inputs = database
      .prepare("SELECT value FROM record WHERE kind = 'file' AND payer = ?")
      .all(`acct:${account.accountId}/batch`)
      .map(({ value }) => JSON.parse(String(value)) as { expiresAtMs: number });
    database.close();
    const afterMs = Date.now() + 2 * 3_600_000;
    await clientOf(account).cancel(made.id);
    expect([inputs.length, inputs.filter(({ expiresAtMs }) => expiresAtMs > afterMs).length]).toEqual([3, 1]);
  });

  it.each([[{}], [{ requests: [] }], [{ requests: {} }], [{ requests: [ask("a")], tollgate_mode: "both" }]])(
    "is refused with %j",
    async (sent) => {
      const account = await gateway.account();
      const asked = clientOf(account).create(sent);
      await expect(asked).rejects.toMatchObject({ status: 400, error: { type: "error" } });
    },
  );
});
