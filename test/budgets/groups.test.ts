// Budgets of groups, tags and accounts, as callers of a real gateway experience them.
import { describe, expect, test } from "vitest";
import { forFile } from "../support/for-file.ts";
import { startTestGateway, type TestAccount } from "../support/gateway.ts";
import { sendAs } from "../support/keyed-fetch.ts";

const gateway = forFile(await startTestGateway());

type Json = Record<string, unknown>;

async function own(key: string, method: string, path: string, body?: unknown) {
  const response = await sendAs(key, method, `${gateway.url}${path}`, body);
  return { status: response.status, headers: response.headers, json: (await response.json()) as Json };
}

interface Chat {
  readonly model?: string;
  readonly tokens?: number;
  readonly tags?: string;
  /** Makes the call cost something: 4 cents for ten thousand words. */
  readonly words?: number;
}

async function chat(key: string, { model = "core/best", tokens = 500, tags, words = 2 }: Chat = {}) {
  const response = await fetch(`${gateway.url}/api/llm/v1/chat/completions`, {
    method: "POST",
    headers: {
      ...{ authorization: `Bearer ${key}`, "content-type": "application/json" },
      ...(tags === undefined ? {} : { "x-tollgate-tags": tags }),
    },
    body: JSON.stringify({ model, max_tokens: tokens, messages: [{ role: "user", content: "say ".repeat(words) }] }),
  });
  return { status: response.status, headers: response.headers, json: (await response.json()) as Json };
}

/** A group in its own account, and keys in it. */
async function grouped(limits: Json, keys = 1) {
  const account = await gateway.account();
  const made = await own(account.key, "POST", "/api/v1/groups", { name: "research", ...limits });
  expect(made.status).toBe(201);
  const group = String(made.json.id);
  const secrets: string[] = [];
  const ids: string[] = [];
  for (let at = 0; at < keys; at++) {
    const { json } = await own(account.key, "POST", "/api/v1/agents", { label: `agent ${at}`, group });
    secrets.push(String(json.api_key));
    ids.push(String(json.id));
  }
  return { account, group, secrets, ids };
}

const groupOf = async ({ key }: TestAccount, id: string) => (await own(key, "GET", `/api/v1/groups/${id}`)).json;
const code = ({ json }: { json: Json }) => (json.error as Json | undefined)?.code;
const data = ({ json }: { json: Json }) => (json.error as Json).metadata as Json;

describe("a group", () => {
  test("has a ceiling that bounds its keys together, and no other key", async () => {
    const { account, group, secrets } = await grouped({ ceiling_cents: 1, ceiling_period: "week" }, 2);
    const [one = "", other = ""] = secrets;
    const statuses = await Promise.all(Array.from({ length: 12 }, (_, at) => chat(at % 2 === 0 ? one : other)));
    const refused = statuses.find(({ status }) => status !== 200);
    expect(refused?.status).toBe(402);
    expect(code(refused as never)).toBe("budget_exceeded");
    expect(data(refused as never)).toMatchObject({
      ...{ budget: "the group research", budget_cents: 1, budget_period: "week" },
      resets_at: expect.stringMatching(/T00:00:00.000Z$/),
    });
    expect((await chat(account.key)).status).toBe(200);
    const seen = await groupOf(account, group);
    expect(Number(seen.spent_cents) + Number(seen.held_cents)).toBeLessThanOrEqual(1);
    expect(await gateway.doctor()).toEqual([]);
  });

  test("narrows what its keys may call", async () => {
    const { secrets, account, group } = await grouped({ models: ["core/cheap"], services: ["files"] });
    const [key = ""] = secrets;
    expect(code(await chat(key))).toBe("key_not_allowed");
    expect((await chat(key, { model: "core/cheap" })).status).toBe(200);
    await own(account.key, "PATCH", `/api/v1/groups/${group}`, { models: null });
    expect((await chat(key)).status).toBe(200);
  });

  test("whose ceiling is set below what it has spent refuses from then on and takes nothing back", async () => {
    const { account, group, secrets } = await grouped({ ceiling_cents: 1_000 });
    const [key = ""] = secrets;
    expect((await chat(key, { words: 10_000 })).status).toBe(200);
    const before = await groupOf(account, group);
    const lower = await own(account.key, "PATCH", `/api/v1/groups/${group}`, { ceiling_cents: 0 });
    expect(lower.json).toMatchObject({ ceiling_cents: 0, ceiling_period: "month", spent_cents: before.spent_cents });
    expect(code(await chat(key))).toBe("budget_exceeded");
    await own(account.key, "PATCH", `/api/v1/groups/${group}`, { ceiling_cents: null });
    expect((await chat(key)).status).toBe(200);
  });

  test("that is deleted while calls of it run ends them in its budget, and its keys are in no group", async () => {
    const { account, group, secrets, ids } = await grouped({ ceiling_cents: 1_000 });
    const [key = ""] = secrets;
    const running = Array.from({ length: 4 }, () => chat(key));
    const deleted = await own(account.key, "DELETE", `/api/v1/groups/${group}`);
    expect(deleted.json).toEqual({ id: group, deleted: true, keys: ids });
    expect((await Promise.all(running)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    const { json } = await own(account.key, "GET", "/api/v1/agents");
    expect((json.agents as Json[]).map((agent) => agent.group)).toEqual([null, null]);
    expect((await chat(key)).status).toBe(200);
    expect((await own(account.key, "GET", `/api/v1/groups/${group}`)).status).toBe(404);
    expect(await gateway.doctor()).toEqual([]);
  });

  test("lets a key be in it alone: another one takes it over", async () => {
    const { account, group, ids } = await grouped({});
    const other = String((await own(account.key, "POST", "/api/v1/groups", { name: "sales" })).json.id);
    const moved = await own(account.key, "PATCH", `/api/v1/agents/${ids[0]}`, { group: other });
    expect(moved.json.group).toBe(other);
    expect((await groupOf(account, group)).keys).toEqual([]);
    expect((await groupOf(account, other)).keys).toEqual(ids);
  });
});

describe("a mark", () => {
  test("serves a tier by the one below it from where its owner wants that, and says so", async () => {
    const { account, group, secrets } = await grouped({ ceiling_cents: 1_000, lower_at: 50 });
    const [key = ""] = secrets;
    expect((await chat(key)).headers.get("x-tollgate-lowered")).toBeNull();
    await own(account.key, "PATCH", `/api/v1/groups/${group}`, { ceiling_cents: 40 });
    let lowered: string | null = null;
    for (let at = 0; at < 20 && lowered === null; at++) {
      const answer = await chat(key, { words: 10_000 });
      expect(answer.status).toBe(200);
      lowered = answer.headers.get("x-tollgate-lowered");
    }
    expect(lowered).toBe("core/best=core/mid");
    const { json } = await own(account.key, "GET", "/api/v1/budgets");
    expect(json.budgets).toMatchObject([{ of: "group", id: group, marks_passed: [50], lowered: true, lower_at: 50 }]);
    expect(Number((json.budgets as Json[])[0]?.spent_cents)).toBeGreaterThanOrEqual(20);
  });
});

describe("other budgets", () => {
  test("of a tag count the calls that are called so, whatever their key", async () => {
    const { key } = await gateway.account();
    const tags = [{ tag: "team=red", ceiling_cents: 0, ceiling_period: "day" }];
    expect((await own(key, "PATCH", "/api/v1/budgets", { tags })).status).toBe(200);
    const refused = await chat(key, { tags: "team=red,x=1" });
    expect([refused.status, code(refused), data(refused).budget]).toEqual([402, "budget_exceeded", "the tag team=red"]);
    expect((await chat(key, { tags: "team=blue" })).status).toBe(200);
  });

  test("of everything at once, each with its marks, let a call through that is under all of them", async () => {
    const { account, group } = await grouped({ ceiling_cents: 1_000 });
    const names = ["team", "app", "user", "run"];
    const tags = names.map((name) => ({ tag: `${name}=1`, ceiling_cents: 1_000 }));
    const body = { account: { ceiling_cents: 1_000 }, low_balance_cents: 1, tags };
    const ruled = await gateway.admin("PATCH", `/admin/v1/accounts/${account.accountId}/budgets`, body);
    expect(ruled.status).toBe(200);
    const agent = await own(account.key, "POST", "/api/v1/agents", { group, ceiling_cents: 1_000 });
    expect(agent.status).toBe(201);
    const called = await chat(String(agent.json.api_key), { tags: names.map((name) => `${name}=1`).join(",") });
    expect(called.status).toBe(200);
  });

  test("of the account are the operator's to set, and its keys see them", async () => {
    const { key, accountId } = await gateway.account();
    const account = { ceiling_cents: 0, ceiling_period: "day" };
    expect((await own(key, "PATCH", "/api/v1/budgets", { account })).status).toBe(400);
    await gateway.admin("PATCH", `/admin/v1/accounts/${accountId}/budgets`, { account, low_balance_cents: 100 });
    expect(code(await chat(key))).toBe("budget_exceeded");
    const { json } = await own(key, "GET", "/api/v1/budgets");
    expect(json).toMatchObject({
      low_balance_cents: 100,
      budgets: [{ of: "account", ceiling_cents: 0, spent_cents: 0 }],
    });
  });
});

describe("what cannot be ruled", () => {
  test.each([
    ["a period without a ceiling", { name: "a", ceiling_period: "day" }, "ceiling_period"],
    ["a mark without a ceiling", { name: "a", lower_at: 50 }, "lower_at"],
    ["a mark that is none", { name: "a", ceiling_cents: 1, lower_at: 60 }, "lower_at"],
    ["no name", { name: " " }, "name"],
    ["a model that is not sold", { name: "a", models: ["core/bset"] }, "models"],
    ["half a cent", { name: "a", ceiling_cents: 0.5 }, "ceiling_cents"],
    ["what is unknown", { name: "a", budget: 1 }, "budget"],
  ])("%s is refused with its field", async (_, body, param) => {
    const { key } = await gateway.account();
    const { status, json } = await own(key, "POST", "/api/v1/groups", body);
    expect([status, String(json.message).includes(`${param}`)]).toEqual([400, true]);
    expect((await own(key, "GET", "/api/v1/groups")).json.groups).toEqual([]);
  });

  test("a key in a group that is not there is not made", async () => {
    const { key } = await gateway.account();
    expect((await own(key, "POST", "/api/v1/agents", { group: "grp_none" })).status).toBe(404);
    expect((await own(key, "GET", "/api/v1/agents")).json.agents).toHaveLength(1);
  });

  test("an agent key neither sees groups nor changes them", async () => {
    const { secrets, group } = await grouped({});
    const [key = ""] = secrets;
    expect((await own(key, "GET", "/api/v1/groups")).status).toBe(403);
    expect((await own(key, "DELETE", `/api/v1/groups/${group}`)).status).toBe(403);
  });

  test("two groups of one name are refused, and so is the primary key in one", async () => {
    const { account, group } = await grouped({});
    expect((await own(account.key, "POST", "/api/v1/groups", { name: "research" })).status).toBe(409);
    const { json } = await own(account.key, "GET", "/api/v1/agents");
    const primary = (json.agents as Json[]).find((agent) => agent.primary);
    expect((await own(account.key, "PATCH", `/api/v1/agents/${primary?.id}`, { group })).status).toBe(409);
  });
});
