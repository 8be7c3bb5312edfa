// Stops of runs, and what their rules do, as clients of a real gateway experience them.
import { expect, test } from "vitest";
import { forFile } from "../support/for-file.ts";
import { eventually, startTestGateway, type TestAccount } from "../support/gateway.ts";
import { postAs, sendAs } from "../support/keyed-fetch.ts";

const gateway = forFile(await startTestGateway());

type Json = Record<string, unknown>;

async function own(key: string, method: string, path: string, body?: unknown) {
  const response = await sendAs(key, method, `${gateway.url}${path}`, body);
  return { status: response.status, json: (await response.json()) as Json };
}

const send = (key: string, path: string, body: Json): Promise<Response> => postAs(key, `${gateway.url}${path}`, body);

const opened = (account: TestAccount, body: Json) =>
  own(account.key, "POST", "/api/v1/runs", { budget_cents: 500, ...body });
const run = async ({ key }: TestAccount, id: string) => (await own(key, "GET", `/api/v1/runs/${id}`)).json;
const stop = (account: TestAccount, id: string) => own(account.key, "POST", `/api/v1/runs/${id}/stop`);
const charges = async ({ key }: TestAccount) =>
  ((await own(key, "GET", "/api/v1/transactions")).json.transactions as Json[]).filter(({ kind }) => kind === "charge");

/** Streams two tokens a second, for longer than any test waits. */
const SLOW = {
  model: "sandbox/ok-at-2",
  max_tokens: 4_000,
  stream: true,
  messages: [{ role: "user", content: "[[words: 2000]]" }],
};

/** A streamed answer whose first content has come: the rest of it. */
async function streaming(key: string, path: string, body: Json) {
  const response = await send(key, path, body);
  expect(response.status).toBe(200);
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const text: string[] = [];
  const take = async () => {
    const { done, value } = await reader.read();
    if (value !== undefined) text.push(Buffer.from(value).toString());
    return done;
  };
  while (!/"content":"\w|text_delta|output_text.delta|"text":"\w/.test(text.join(""))) await take();
  return async () => {
    while (!(await take()));
    return text.join("");
  };
}

test("a stop of a parent ends the streams of its children in every format, charged for what was delivered", async () => {
  const account = await gateway.account();
  await opened(account, { id: "parent" });
  await opened(account, { id: "child", parent: "parent" });
  const key = `${account.key}+child`;
  const slow = { ...SLOW, model: "sandbox-messages/ok-at-2" };
  const ends = await Promise.all([
    streaming(key, "/v1/chat/completions", SLOW),
    streaming(key, "/v1/messages", slow),
    streaming(key, "/v1/responses", {
      model: "sandbox-responses/ok-at-2",
      stream: true,
      max_output_tokens: 4_000,
      input: "[[words: 2000]]",
    }),
  ]);
  const beganMs = performance.now();
  const stopped = await stop(account, "parent");
  expect(stopped.json).toMatchObject({ status: "stopped" });
  const texts = await Promise.all(ends.map((end) => end()));
  expect(performance.now() - beganMs).toBeLessThan(20_000);
  for (const text of texts) expect(text).toContain("run_stopped");
  await eventually(
    async () => ((await run(account, "parent")).held_nano_usd === 0 ? true : undefined),
    "the end of the holds",
  );
  const spent = (await charges(account)).reduce((sum, { charged_nano_usd: nano }) => sum + Number(nano), 0);
  expect(spent).toBeGreaterThan(0);
  expect((await run(account, "child")).spent_nano_usd).toBe(spent);
  const after = await send(key, "/v1/chat/completions", SLOW);
  expect([after.status, after.headers.get("x-should-retry")]).toEqual([409, "false"]);
  expect(await gateway.doctor()).toEqual([]);
});

test("a call that waits for its first content gets the 409 when its run is stopped", async () => {
  const account = await gateway.account();
  await opened(account, { id: "waits" });
  const body = { ...SLOW, model: "sandbox/slow-headers-30", stream: false };
  const answer = send(`${account.key}+waits`, "/v1/chat/completions", body);
  await eventually(
    async () => (Number((await run(account, "waits")).held_nano_usd) > 0 ? true : undefined),
    "its hold",
  );
  await stop(account, "waits");
  const { status } = await answer;
  expect(status).toBe(409);
});

test("jobs of a stopped run are cancelled, and count in its sum", async () => {
  const account = await gateway.account();
  await opened(account, { id: "jobs" });
  const launch = { rows: ["a@example.com", "b@example.com"], budgetCents: 100 };
  const launched = await send(`${account.key}+jobs`, "/api/run/core/onefind-deep", launch);
  expect(launched.status).toBe(200);
  const { data } = (await launched.json()) as { data: Json };
  await stop(account, "jobs");
  await eventually(async () => {
    const { json } = await own(account.key, "POST", "/api/run/core/result", { job_id: data.job_id });
    return ["succeeded", "failed"].includes(String((json.data as Json).status)) ? true : undefined;
  }, "the end of the job");
  expect(await run(account, "jobs")).toMatchObject({ held_nano_usd: 0, status: "stopped" });
  expect(await gateway.doctor()).toEqual([]);
});

test("a metered session of a stopped run is closed, and its minutes count in the run", async () => {
  const account = await gateway.account();
  await opened(account, { id: "boxes" });
  const launched = await send(`${account.key}+boxes`, "/api/run/e2b/create_session", {});
  expect(launched.status).toBe(200);
  expect(Number((await run(account, "boxes")).held_nano_usd)).toBeGreaterThan(0);
  await stop(account, "boxes");
  const shown = await eventually(async () => {
    const now = await run(account, "boxes");
    return now.held_nano_usd === 0 ? now : undefined;
  }, "the end of the session");
  const spent = (await charges(account)).reduce((sum, { charged_nano_usd: nano }) => sum + Number(nano), 0);
  expect([shown.spent_nano_usd, spent > 0]).toEqual([spent, true]);
  expect(await gateway.doctor()).toEqual([]);
});

/** Costs some 2 cents. */
const LONG = { model: "core/best", max_tokens: 100, messages: [{ role: "user", content: "say ".repeat(10_000) }] };

test("a model is told what is left once per mark, after its prompt", async () => {
  const account = await gateway.account();
  await opened(account, { id: "told", budget_cents: 4, notice_at: 50 });
  const key = `${account.key}+told`;
  await send(key, "/v1/chat/completions", LONG);
  expect(Number((await run(account, "told")).spent_nano_usd)).toBeGreaterThanOrEqual(20_000_000);
  const tokens = async () => {
    const asked = { model: "core/best", max_tokens: 20, messages: [{ role: "user", content: "hi" }] };
    const { usage } = (await (await send(key, "/v1/chat/completions", asked)).json()) as { usage: Json };
    return Number(usage.prompt_tokens);
  };
  const [told, untold] = [await tokens(), await tokens()];
  expect(told).toBeGreaterThan(untold);
  expect(await tokens()).toBe(untold);
});

test("rules stop a run at a mark, serve it from a lower tier, and let calls wait for more", async () => {
  const account = await gateway.account();
  await opened(account, { id: "stops", budget_cents: 4, stop_at: 50 });
  await send(`${account.key}+stops`, "/v1/chat/completions", LONG);
  await eventually(async () => ((await run(account, "stops")).status === "stopped" ? true : undefined), "the stop");
  await opened(account, { id: "above", budget_cents: 4, stop_at: 50 });
  await opened(account, { id: "below", budget_cents: 400, parent: "above" });
  await send(`${account.key}+below`, "/v1/chat/completions", LONG);
  await eventually(async () => ((await run(account, "above")).status === "stopped" ? true : undefined), "the stop");
  await opened(account, { id: "lower", budget_cents: 4, lower_at: 50 });
  const short = { ...LONG, messages: [{ role: "user", content: "hi" }] };
  const before = (await send(`${account.key}+lower`, "/v1/chat/completions", LONG)).headers.get("x-tollgate-model");
  const after = (await send(`${account.key}+lower`, "/v1/chat/completions", short)).headers.get("x-tollgate-model");
  expect(after).not.toBe(before);
  await opened(account, { id: "asks", budget_cents: 3, ask_at: 50, ask_seconds: 60 });
  await send(`${account.key}+asks`, "/v1/chat/completions", LONG);
  const big = { ...LONG, messages: [{ role: "user", content: `other ${"say ".repeat(10_000)}` }] };
  const waiting = send(`${account.key}+asks`, "/v1/chat/completions", big);
  const { data } = await eventually(async () => {
    const { events } = (await own(account.key, "GET", "/api/v1/events")).json as { events: Json[] };
    return events.find(({ kind }) => kind === "run.asks");
  }, "the event of a call that waits");
  expect(data).toMatchObject({ run_id: "asks", budget_usd: "0.03", ask_seconds: 60 });
  await own(account.key, "PATCH", "/api/v1/runs/asks", { budget_cents: 50 });
  expect((await waiting).status).toBe(200);
  expect(await gateway.doctor()).toEqual([]);
});
