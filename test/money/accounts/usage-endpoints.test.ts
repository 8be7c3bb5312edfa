import { afterAll, beforeAll, expect, test } from "vitest";
import { fewAtATime } from "../../../src/money/accounts/few-at-a-time.ts";
import { type Gate, openGate } from "./gate.ts";

let gate: Gate;
let account: { id: string; key: string };
let agent: { id: string; key: string };
let primaryId: string;

beforeAll(async () => {
  gate = await openGate();
  const { body } = await gate.admin("POST", "/admin/v1/accounts", { name: "Ada", kind: "business" });
  account = { id: body.account_id, key: body.api_key };
  const made = (await gate.call(account.key, "POST", "/api/v1/agents", { label: "robot" })).body;
  agent = { id: made.id, key: made.api_key };
  const keys = (await gate.call(account.key, "GET", "/api/v1/agents")).body.agents;
  primaryId = keys.find((key: { primary: boolean }) => key.primary).id;
  await gate.charge(account.id, primaryId, 1);
  await gate.charge(account.id, agent.id, 2);
  gate.clock.advance(86_400_000);
  await gate.charge(account.id, agent.id, 4);
});
afterAll(() => gate.close());

const usage = async (key: string, query: string) => (await gate.call(key, "GET", `/api/v1/usage?${query}`)).body;

test("an account sees what its keys have spent, exactly, and not what it cost us", async () => {
  const { usage: rows, next_cursor } = await usage(account.key, "by=key,day");
  expect(next_cursor).toBeNull();
  expect(rows).toHaveLength(3);
  expect(rows).toContainEqual({
    ...{
      key_id: agent.id,
      key_label: "robot",
      day: "2026-05-07",
      calls: 1,
      charged_nano_usd: 40_000_000,
      charged_usd: "0.04",
    },
    ...{ input_tokens: 12, output_tokens: 5 },
  });
  expect((await usage(account.key, "by=model&from=2026-05-06&to=2026-05-06")).usage).toEqual([
    {
      ...{ model: "acme/small", calls: 2, charged_nano_usd: 30_000_000, charged_usd: "0.03" },
      ...{ input_tokens: 24, output_tokens: 10 },
    },
  ]);
});

test("an agent key sees itself alone, whatever it asks", async () => {
  expect((await usage(agent.key, "by=key")).usage).toMatchObject([{ key_id: agent.id, charged_nano_usd: 60_000_000 }]);
  expect((await usage(agent.key, `by=key&key=${primaryId}`)).usage).toEqual([]);
  const { status, body } = await gate.call(agent.key, "GET", "/api/v1/usage?by=account");
  expect([status, body.param]).toEqual([400, "by"]);
  expect((await gate.call(agent.key, "GET", `/api/v1/usage?account=${account.id}`)).status).toBe(400);
});

test("one report of an account is made at a time", async () => {
  const both = await Promise.all([1, 2].map(() => gate.call(account.key, "GET", "/api/v1/usage")));
  expect(both.map(({ status }) => status)).toEqual([200, 429]);
  expect((await gate.call(account.key, "GET", "/api/v1/usage")).status).toBe(200);
});

test("the operator sees all accounts, what it cost us, and what was credited", async () => {
  const { body } = await gate.admin("GET", `/admin/v1/usage?by=account,provider&account=${account.id}`);
  expect(body.usage).toEqual([
    {
      ...{ account_id: account.id, account_name: "Ada", provider: "acme" },
      ...{ calls: 3, charged_nano_usd: 70_000_000, charged_usd: "0.07" },
      ...{ input_tokens: 36, output_tokens: 15, upstream_nano_usd: 3, upstream_usd: "0.000000003" },
      ...{ absorbed_nano_usd: 0, absorbed_usd: "0", margin_nano_usd: 69_999_997, margin_usd: "0.069999997" },
    },
  ]);
  const credited = await gate.admin("GET", `/admin/v1/usage?by=account&status=credited&account=${account.id}`);
  expect(credited.body.usage).toMatchObject([{ account_id: account.id, calls: 1, credited_usd: "10" }]);
  expect(Object.keys(credited.body.usage[0])).not.toContain("margin_usd");
});

test.each([
  ["model", "acme/small"],
  ["provider", "acme"],
])("the operator sees the margin by %s: what was charged less what it cost", async (by, name) => {
  const row = { [by]: name, charged_usd: "0.07", upstream_usd: "0.000000003", margin_usd: "0.069999997" };
  expect((await gate.admin("GET", `/admin/v1/usage?by=${by}`)).body.usage).toMatchObject([row]);
  const csv = String((await gate.admin("GET", `/admin/v1/usage?by=${by}&format=csv`)).body).split("\r\n");
  expect([csv[0]?.endsWith(",margin_nano_usd,margin_usd"), csv[1]?.endsWith(",69999997,0.069999997")]).toEqual([
    true,
    true,
  ]);
  expect(JSON.stringify(await usage(account.key, `by=${by}`))).not.toMatch(/margin|upstream/);
});

test("names and labels stand beside ids, whoever reads", async () => {
  const names = { account_id: account.id, account_name: "Ada", key_id: agent.id, key_label: "robot" };
  const { body } = await gate.admin("GET", "/admin/v1/usage?by=key");
  expect(body.usage).toContainEqual(expect.objectContaining(names));
  const found = await gate.admin("GET", "/admin/v1/transactions?limit=1");
  expect(found.body.transactions).toMatchObject([names]);
  const csv = await gate.admin("GET", "/admin/v1/transactions?limit=1&format=csv");
  expect(csv.body).toContain(`${account.id},Ada,${agent.id},robot`);
});

test("pages follow their cursors, as JSON and as CSV", async () => {
  const first = (await gate.admin("GET", "/admin/v1/usage?by=day,key&limit=2")).body;
  const second = (await gate.admin("GET", `/admin/v1/usage?by=day,key&limit=2&cursor=${first.next_cursor}`)).body;
  expect([...first.usage, ...second.usage].map(({ day }) => day)).toEqual(["2026-05-06", "2026-05-06", "2026-05-07"]);
  const csv = await gate.admin("GET", "/admin/v1/usage?by=day&format=csv");
  expect(csv.body).toBe(
    "day,calls,charged_nano_usd,charged_usd,input_tokens,output_tokens,upstream_nano_usd,upstream_usd," +
      "absorbed_nano_usd,absorbed_usd,margin_nano_usd,margin_usd\r\n" +
      "2026-05-06,2,30000000,0.03,24,10,2,0.000000002,0,0,29999998,0.029999998\r\n" +
      "2026-05-07,1,40000000,0.04,12,5,1,0.000000001,0,0,39999999,0.039999999\r\n",
  );
});

test("the operator finds transactions by filter, newest first; what takes reading is asked of one day", async () => {
  const ids = async (query: string) =>
    (await gate.admin("GET", `/admin/v1/transactions?${query}`)).body.transactions.map(
      ({ transaction_id }: { transaction_id: string }) => transaction_id,
    );
  expect(await ids(`account=${account.id}&key=${agent.id}`)).toEqual(["tx_test_3", "tx_test_2"]);
  expect(await ids("limit=2")).toEqual(["tx_test_3", "tx_test_2"]);
  expect(await ids("model=acme/small&from=2026-05-06&to=2026-05-06")).toEqual(["tx_test_2", "tx_test_1"]);
  expect(await ids("status=credited&from=2026-05-06&to=2026-05-06")).toEqual([`open_${account.id}`]);
  const { status, body } = await gate.admin("GET", "/admin/v1/transactions?model=acme/small&from=2026-05-06");
  expect([status, body.param]).toEqual([400, "model"]);
  expect(body.message).toMatch(/model: .* one UTC day/);
  const csv = (await gate.admin("GET", "/admin/v1/transactions?limit=1&format=csv")).body;
  expect(csv).toMatch(/^transaction_id,kind,.*\r\ntx_test_3,charge,/);
});

test("a report can be limited to some values of its first field", async () => {
  const rows = (await usage(account.key, `by=key,day&only=${agent.id}`)).usage;
  expect(rows.map((row: { key_id: string; day: string }) => [row.key_id, row.day])).toEqual([
    [agent.id, "2026-05-06"],
    [agent.id, "2026-05-07"],
  ]);
  expect((await usage(account.key, `by=key&only=${agent.id},${primaryId}`)).usage).toHaveLength(2);
  const { body } = await gate.admin("GET", `/admin/v1/usage?by=account,day&only=${account.id},acct_other`);
  expect(body.usage).toHaveLength(2);
  expect((await gate.admin("GET", "/admin/v1/usage?by=account&only=acct_other")).body.usage).toEqual([]);
});

test.each([
  ["by=colour", "by"],
  ["by=day&only=2026-05-06", "only"],
  ["from=yesterday", "from"],
  ["to=2026-13-40", "to"],
  ["tag=red", "tag"],
  ["limit=0", "limit"],
  ["format=xml", "format"],
  ["nonsense=1", "nonsense"],
  ["order=calls", "order"],
  ["order=amount&cursor=x", "cursor"],
])("what cannot be read is refused by its name: %s", async (query, param) => {
  const { status, body } = await gate.admin("GET", `/admin/v1/usage?${query}`);
  expect([status, body.param]).toEqual([400, param]);
});

test("the play money of a sandbox account is in no sum of the operator's unless it is asked for", async () => {
  const total = async (query: string) => (await gate.admin("GET", `/admin/v1/usage?by=account${query}`)).body.usage;
  const before = await total("");
  const { body: play } = await gate.admin("POST", "/admin/v1/accounts", { name: "Play", kind: "sandbox" });
  const keys = (await gate.call(play.api_key, "GET", "/api/v1/agents")).body.agents;
  await gate.charge(play.account_id, keys[0].id, 7);
  expect(await total("")).toEqual(before);
  const own = { account_id: play.account_id, calls: 1, charged_usd: "0.07" };
  expect(await total("&sandbox=1")).toMatchObject([own]);
  expect(await total(`&account=${play.account_id}`)).toMatchObject([own]);
  expect((await gate.call(play.api_key, "GET", "/api/v1/usage")).body.usage).toMatchObject([{ calls: 1 }]);
  const { status, body } = await gate.admin("GET", "/admin/v1/usage?sandbox=yes");
  expect([status, body.param]).toEqual([400, "sandbox"]);
});

test("rows are named a few at a time, in their order, and what waits on the loop goes between", async () => {
  let [asked, most, between] = [0, 0, 0];
  let going = true;
  const count = () => {
    between += 1;
    if (going) setImmediate(count);
  };
  setImmediate(count);
  const items = Array.from({ length: 100 }, (_, at) => at);
  const named = await fewAtATime(items, async (item) => {
    asked += 1;
    most = Math.max(most, asked);
    await Promise.resolve();
    asked -= 1;
    return item * 2;
  });
  going = false;
  expect(named).toEqual(items.map((item) => item * 2));
  expect(most).toBe(16);
  expect(between).toBeGreaterThanOrEqual(6);
});
