// The bill of a run as its callers see it: what the ledger charged, to the nano, with the runs below it; and the pages that show it.
import { describe, expect, test } from "vitest";
import { Person } from "../edge/oauth/person.ts";
import { forFile } from "../support/for-file.ts";
import { startTestGateway } from "../support/gateway.ts";
import { getAs, postAs, sendAs } from "../support/keyed-fetch.ts";

const gateway = forFile(await startTestGateway({ ADDRESS_REQUESTS_PER_MINUTE: "100000" }));
const account = await gateway.account();

type Json = Record<string, unknown>;
interface Bill extends Json {
  readonly calls: readonly (Json & { readonly charged_nano_usd: number; readonly transaction_id: string })[];
  readonly children: readonly Json[];
  readonly spent_nano_usd: number;
  readonly next_cursor: string | null;
}

const open = (body: Json) => postAs(account.key, `${gateway.url}/api/v1/runs`, { budget_cents: 500, ...body });
const own = async <Body = Json>(path: string) =>
  (await (await getAs(account.key, `${gateway.url}${path}`)).json()) as Body;
const billOf = (id: string, query = "") => own<Bill>(`/api/v1/runs/${id}${query}`);

async function chat(runId: string, content: string, more: Json = {}): Promise<void> {
  const body = { model: "sandbox/ok", messages: [{ role: "user", content }], ...more };
  const response = await postAs(`${account.key}+${runId}`, `${gateway.url}/api/llm/v1/chat/completions`, body);
  expect([response.status, await response.text()]).toMatchObject([200, expect.any(String)]);
}

await open({ id: "night", label: "<b>night</b>" });
await open({ id: "child", parent: "night", budget_cents: 100 });
await chat("night", "Hello", { stream: true });
for (const _ of [1, 2, 3]) await chat("child", "the same again");
await chat("night", "Hello", { model: "sandbox/503", models: ["sandbox/ok"] });
const searched = await postAs(`${account.key}+night`, `${gateway.url}/api/run/brave/news`, { q: "tides" });
expect(searched.status).toBe(200);

describe("a run's bill", () => {
  test("is the sum of its transactions and its children's, to the nano", async () => {
    const bill = await billOf("night");
    const { transactions } = await own<{ transactions: Json[] }>("/api/v1/transactions?limit=50");
    const charged = transactions.filter(({ run_id: run }) => run === "night" || run === "child");
    const sum = charged.reduce((all, one) => all + Number(one.charged_nano_usd), 0);
    expect(charged).toHaveLength(6);
    expect(bill.spent_nano_usd).toBe(sum);
    expect(bill.calls.reduce((all, one) => all + one.charged_nano_usd, 0)).toBe(sum);
    expect(bill).toMatchObject({
      totals: {
        calls: 6,
        charged_nano_usd: sum,
        by_model: [{ model: "sandbox/ok", calls: 5 }],
        by_action: [{ action: "brave/news", calls: 1 }],
      },
      children: [{ id: "child", parent: "night", children: [] }],
    });
    expect(await billOf("child")).toMatchObject({ totals: { calls: 3 }, children: [] });
  });

  test("lists calls in their order, with their times and what they fell back from", async () => {
    const { calls } = await billOf("night");
    expect(calls.map(({ run_id: run }) => run)).toEqual(["night", "child", "child", "child", "night", "night"]);
    expect(calls[0]).toMatchObject({
      ...{ endpoint: "chat", model: "sandbox/ok", status: "complete", key_label: "primary" },
      ...{ first_token_ms: expect.any(Number), duration_ms: expect.any(Number) },
    });
    expect(calls[4]).toMatchObject({ fell_back_from: [{ model: "sandbox/503" }] });
    expect(calls[5]).toMatchObject({ service: "brave", action: "news", usage: null });
  });

  test("points out a call that was repeated, and what the repeats cost", async () => {
    const { loops, calls } = await billOf("child");
    const repeats = calls.slice(1).reduce((all, one) => all + one.charged_nano_usd, 0);
    const message = "sandbox/ok got the same request 3 times.";
    expect(loops).toEqual([
      { kind: "same_call", run_id: "child", name: "sandbox/ok", calls: 3, charged_nano_usd: repeats, message },
    ]);
  });

  test("comes by page, as CSV, and without its calls for those who look often", async () => {
    const first = await billOf("night", "?limit=4");
    const second = await billOf("night", `?limit=4&cursor=${first.next_cursor}`);
    const whole = await billOf("night");
    expect([...first.calls, ...second.calls]).toEqual(whole.calls);
    expect([second.next_cursor, second.totals]).toEqual([null, undefined]);
    expect(await billOf("night", "?limit=0")).toMatchObject({ spent_nano_usd: whole.spent_nano_usd });
    expect(await billOf("night", "?limit=0")).not.toHaveProperty("calls");
    const csv = await getAs(account.key, `${gateway.url}/api/v1/runs/night?format=csv`);
    expect(csv.headers.get("content-type")).toContain("text/csv");
    expect((await csv.text()).trimEnd().split("\r\n")).toHaveLength(7);
    expect((await getAs(account.key, `${gateway.url}/api/v1/runs/night?limit=1.5`)).status).toBe(400);
  });

  test("is read by the operator, and by no other account", async () => {
    const other = await gateway.account();
    expect((await getAs(other.key, `${gateway.url}/api/v1/runs/night`)).status).toBe(404);
    const { json } = await gateway.admin("GET", `/admin/v1/accounts/${account.accountId}/runs/night`);
    expect(json).toMatchObject({ totals: { calls: 6 } });
  });

  test("is one row of a day's usage by run, and the conversation of its spans", async () => {
    const day = new Date().toISOString().slice(0, 10);
    const { usage } = await own<{ usage: Json[] }>(`/api/v1/usage?by=run&from=${day}&to=${day}`);
    expect(usage).toContainEqual(expect.objectContaining({ run_id: "night", calls: 3 }));
    expect(usage).toContainEqual(expect.objectContaining({ run_id: "child", calls: 3 }));
    const records = gateway.records().filter(({ run_id: run }) => run === "night");
    expect(records).toHaveLength(3);
  });
});

describe("the pages of runs", () => {
  const person = new Person(gateway.url);

  test("show every run, and one with its tree, its loops, its timeline and its calls", async () => {
    await person.signIn(account.key, "/account");
    const list = await (await person.open("/account/runs")).text();
    for (const id of ["night", "child"]) expect(list).toContain(`href="/account/runs/${id}"`);
    expect(list).toContain("&lt;b&gt;night&lt;/b&gt;");
    const page = await (await person.open("/account/runs/night")).text();
    expect(page).toContain('href="/account/runs/child"');
    expect(page).toContain("sandbox/ok got the same request 3 times.");
    expect(page).toMatch(/<svg role="img" aria-label="child: 3 calls, /);
    expect(page.match(/href="\/account\/transactions\/tx_/g)).toHaveLength(6);
    expect((await person.open("/account/runs/unknown")).status).toBe(404);
  });

  test("change a run's budget and stop it, after a question", async () => {
    await open({ id: "button" });
    const path = "/account/runs/button";
    const csrf = await person.csrf(path);
    expect((await person.submit(path, { csrf, act: "raise", budget: "7.50" })).status).toBe(303);
    expect(await billOf("button")).toMatchObject({ budget_cents: 750, stopped: false });
    expect(await (await person.submit(path, { csrf, act: "raise", budget: "much" })).text()).toContain("budget_cents");
    expect(await (await person.submit(path, { csrf, act: "stop" })).text()).toContain("Are you sure?");
    expect((await person.submit(path, { csrf, act: "stop", sure: "yes" })).status).toBe(303);
    expect(await billOf("button")).toMatchObject({ status: "stopped" });
    expect(await (await person.open(path)).text()).not.toContain("Stop this run");
    expect((await sendAs(account.key, "POST", `${gateway.url}/api/v1/runs/button/stop`)).status).toBe(200);
  });
});
