// Things that sandbox accounts make at vendors exist in later calls, as at the vendors themselves, and only for their own account.
import { describe, expect, it } from "vitest";
import type { Json, JsonObject } from "../../src/catalog/said.ts";
import { valueAt } from "../../src/sandbox/action-body.ts";
import { forFile } from "../support/for-file.ts";
import { startTestGateway, type TestAccount } from "../support/gateway.ts";
import { shippedCatalog } from "../support/shipped-catalog.ts";

const catalog = await shippedCatalog();
const actions = catalog.actions({ sandbox: true });

const gateway = forFile(await startTestGateway());
const [ada, eve] = [await gateway.account({ creditCents: 50_000 }), await gateway.account({ creditCents: 5_000 })];

async function run(account: TestAccount, action: string, params: object, fault?: string) {
  const headers: Record<string, string> = {
    authorization: `Bearer ${account.key}`,
    "content-type": "application/json",
  };
  if (fault !== undefined) headers["x-tollgate-sandbox-fault"] = fault;
  const response = await fetch(`${gateway.url}/api/run/${action}`, {
    method: "POST",
    headers,
    body: JSON.stringify(params),
  });
  const json = (await response.json()) as { ok: boolean; error?: string; charged_cents: number; data: Json };
  return { status: response.status, json };
}

/** A call that must succeed, and its answer. */
async function good<T = Record<string, string>>(action: string, params: object, fault?: string): Promise<T> {
  const { status, json } = await run(ada, action, params, fault);
  expect([status, json]).toMatchObject([200, { ok: true }]);
  return json.data as T;
}

async function statusOf(account: TestAccount, action: string, params: object): Promise<number> {
  const { status, json } = await run(account, action, params);
  if (status >= 400) expect(json.charged_cents, action).toBe(0);
  return status;
}

interface Mails {
  readonly count: number;
  readonly next_page_token?: string;
  readonly messages: readonly { readonly message_id: string; readonly thread_id: string; readonly subject: string }[];
}

describe("a mailbox", () => {
  it("has the name that it was given, once", async () => {
    const made = await good("agentmail/create_inbox", { username: "quiet", display_name: "Quiet" });
    expect(made).toMatchObject({ inbox_id: "quiet@agentmail.to", display_name: "Quiet" });
    expect(await statusOf(eve, "agentmail/create_inbox", { username: "quiet" })).toBe(400);
    const own = await good("agentmail/create_inbox", { username: "quiet", domain: "mail.example.com" });
    expect(own.inbox_id).toBe("quiet@mail.example.com");
  });

  it("lists what was sent from it and answered in it, newest first, a page at a time, and nothing of another's", async () => {
    const { inbox_id } = await good("agentmail/create_inbox", {});
    const other = await good("agentmail/create_inbox", {});
    const sent = await good("agentmail/send", { inbox_id, to: "a@b.example", subject: "First", text: "Hi" });
    const [, received] = (await good<Mails>("agentmail/list-messages", { inbox_id })).messages;
    const reply = { inbox_id, message_id: received?.message_id ?? "", text: "Good evening." };
    expect(await good("agentmail/reply", reply)).toMatchObject({ thread_id: received?.thread_id });
    const all = await good<Mails>("agentmail/list-messages", { inbox_id });
    expect(all.messages.map(({ subject }) => subject)).toEqual(["Re: Hello", "First", "Hello"]);
    expect(all.messages[1]).toMatchObject({ message_id: sent.message_id, to: "a@b.example", preview: "Hi" });
    const first = await good<Mails>("agentmail/list-messages", { inbox_id, limit: 2 });
    expect(first).toMatchObject({ count: 2, limit: 2 });
    const rest = await good<Mails>("agentmail/list-messages", {
      inbox_id,
      limit: 2,
      page_token: first.next_page_token,
    });
    expect(rest.messages.map(({ subject }) => subject)).toEqual(["Hello"]);
    expect(rest.next_page_token).toBeUndefined();
    expect((await good<Mails>("agentmail/list-messages", { inbox_id: other.inbox_id })).count).toBe(1);
    const strange = { ...reply, inbox_id: other.inbox_id, message_id: String(sent.message_id) };
    expect(await statusOf(ada, "agentmail/reply", strange)).toBe(404);
  });

  it("keeps its mail out of the log, whatever becomes of it", async () => {
    const { inbox_id } = await good("agentmail/create_inbox", {});
    const [subject, text, to] = ["Subject-of-mine", "Words-of-mine", "someone-of-mine@b.example"];
    for (const fault of [undefined, "400", "500", "means-caller_invalid", "malformed"]) {
      await run(ada, "agentmail/send", { inbox_id, to, subject, text }, fault);
    }
    await run(ada, "agentmail/send", { inbox_id, to: [to, text], subject, text });
    await good("agentmail/list-messages", { inbox_id });
    const log = gateway.lines().join("\n");
    expect(log).toContain("agentmail/send");
    expect(log).not.toMatch(/of-mine/);
  });

  it("has nothing of a mail that was not sent", async () => {
    const { inbox_id } = await good("agentmail/create_inbox", {});
    const failed = await run(ada, "agentmail/send", { inbox_id, to: "a@b.example", text: "Hi" }, "503");
    expect(failed.json.ok).toBe(false);
    expect((await good<Mails>("agentmail/list-messages", { inbox_id })).count).toBe(1);
  });
});

describe("memory", () => {
  it("of a user is found by what was said, best first, and only by who kept it", async () => {
    const say = (content: string) =>
      good("mem0/add", { messages: [{ role: "user", content }], user_id: "u1", metadata: { from: "chat" } });
    await say("I never eat meat.");
    await say("My bicycle is red.");
    const search = { query: "Which bicycle?", user_id: "u1", top_k: 5 };
    const { results } = await good<{ results: readonly object[] }>("mem0/search", search);
    expect(results).toMatchObject([
      { memory: "My bicycle is red.", user_id: "u1", metadata: { from: "chat" } },
      { memory: "I never eat meat." },
    ]);
    expect((await good<{ results: unknown[] }>("mem0/search", { ...search, top_k: 1 })).results).toHaveLength(1);
    expect((await run(eve, "mem0/search", search)).json.data).toEqual({ results: [] });
    expect(await good("mem0/search", { ...search, user_id: "u2" })).toEqual({ results: [] });
  });

  it("keeps no long metadata, of which each message would have a copy", async () => {
    const messages = [{ role: "user", content: "My boat is blue." }];
    await good("mem0/add", { messages, user_id: "u3", metadata: { long: "x".repeat(100_000) } });
    const { results } = await good<{ results: readonly object[] }>("mem0/search", { query: "boat", user_id: "u3" });
    expect(results).toMatchObject([{ memory: "My boat is blue.", metadata: {} }]);
  });

  it("of a graph wants the user before the thread, and the thread before what is said", async () => {
    const [user_id, thread_id] = ["z1", "talk"];
    const messages = [{ role: "user", content: "I live in Bern." }];
    expect(await statusOf(ada, "zep/thread-create", { thread_id, user_id })).toBe(404);
    expect(await statusOf(ada, "zep/add", { thread_id, messages })).toBe(404);
    expect(await good("zep/user-add", { user_id, first_name: "Zoe" })).toMatchObject({ user_id, first_name: "Zoe" });
    expect(await statusOf(ada, "zep/user-add", { user_id })).toBe(400);
    expect(await good("zep/thread-create", { thread_id, user_id })).toMatchObject({ thread_id, user_id });
    await good("zep/thread-create", { thread_id: "later", user_id });
    await good("zep/add", { thread_id, messages });
    // A user's facts are known in every thread.
    expect(await good("zep/get-context", { thread_id: "later" })).toEqual({
      context: "<FACTS>\nI live in Bern.\n</FACTS>",
    });
    const found = await good("zep/search", { query: "Where?", user_id });
    expect(found).toMatchObject({ edges: [{ fact: "I live in Bern." }] });
    expect(await good("zep/search", { query: "Where?", user_id, scope: "nodes" })).toMatchObject({ nodes: [{}] });
    expect(await statusOf(eve, "zep/get-context", { thread_id })).toBe(404);
  });

  it("of an agent begins with its blocks and grows by what it is told", async () => {
    const memory_blocks = [{ label: "human", value: "Ada does not eat meat." }];
    const agent = await good("letta/agent-create", { name: "cook", memory_blocks });
    expect(agent.name).toBe("cook");
    const tell = (input: string) => good<{ messages: unknown }>("letta/message", { agent_id: agent.id, input });
    await tell("She likes figs.");
    expect((await tell("And now?")).messages).toMatchObject([
      { content: "What I know so far: Ada does not eat meat. | She likes figs." },
    ]);
  });
});

describe("work that was launched", () => {
  const page = "https://example.com/short";
  const person = { firstname: "Grace", lastname: "Hopper", domainOrCompany: "example.com" };
  const email = { email: "a@b.example" };
  const captcha = { type: "TurnstileTaskProxyless", websiteURL: page, websiteKey: "0x4" };
  const crawled = "/data/0/metadata/sourceURL";
  it.each([
    ["firecrawl/crawl", { url: page }, "/id", "crawl-status id /status", crawled, page],
    ["firecrawl/extract", { urls: [page], prompt: "x" }, "/id", "extract-status id /status", crawled, page],
    ["fastcrw/crawl", { url: page }, "/id", "crawl-status id /status", crawled, page],
    ["fastcrw/extract", { urls: [page], prompt: "x" }, "/id", "extract-status id /status", "/results/0/url", page],
    [
      "icypeas/email-search",
      person,
      "/item/_id",
      "result id /items/0/status",
      "/items/0/results/fullname",
      "Grace Hopper",
    ],
    [
      "nyne/person-enrichment",
      email,
      "/data/request_id",
      "result request_id /data/status",
      "/data/result/location",
      "London",
    ],
    ["2captcha/create-task", { task: captcha }, "/taskId", "get-task-result taskId /status", "/errorId", 0],
    ["parallel/task", { input: "x", processor: "ultra" }, "/run_id", "task-status run_id /status", "", undefined],
  ] as const)("%s is at work for as many looks as were asked for, then shows what it was asked for", async (...row) => {
    const [launch, params, idAt, looking, at, shown] = row;
    const [status = "", param = "", statusAt = ""] = looking.split(" ");
    const look = `${launch.split("/")[0]}/${status}`;
    const id = valueAt(await good<Json>(launch, params, "poll-2"), idAt);
    const told: Json[] = [];
    for (let time = 0; time < 3; time++) told.push(await good<Json>(look, { [param]: id }));
    const [first, second, third = null] = told.map((one) => valueAt(one, statusAt));
    expect(first).toBe(second);
    expect(third).not.toBe(first);
    if (shown !== undefined) expect(valueAt(told[2] ?? null, at)).toEqual(shown);
    // Without the fault it is done at once.
    const other = valueAt(await good<Json>(launch, params), idAt);
    expect(valueAt(await good<Json>(look, { [param]: other }), statusAt)).toEqual(third);
  });
});

/** One starts with an account's own file, the other names its repository inside a signed token: both have their own tests. */
const ELSEWHERE = ["cueframe", "codestorage"];

/** Every action that takes an id issued by the vendor. */
const owned = actions.filter(
  ({ service, offers: [offer] }) => !ELSEWHERE.includes(service) && (offer?.spec.requires ?? []).length > 0,
);

/** The example's params with ids issued to the account; `ids` are the ids so far, by kind. */
async function ownParams(action: (typeof owned)[number], account: TestAccount, ids: Map<string, Json>) {
  const params: Record<string, Json> = { ...action.exampleParams };
  for (const { kind, param } of action.offers[0]?.spec.requires ?? []) {
    if (params[param] === undefined) continue;
    const maker = actions.find(
      ({ service, id, offers: [offer] }) =>
        service === action.service && id !== action.id && offer?.spec.issues?.some((one) => one.kind === kind),
    );
    const at = maker?.offers[0]?.spec.issues?.find((one) => one.kind === kind)?.at;
    if (maker === undefined || at === undefined) throw new Error(`nobody makes the ${kind} of ${action.id}`);
    if (!ids.has(kind)) {
      const { json } = await run(account, maker.id, await ownParams(maker, account, ids));
      ids.set(kind, valueAt(json.data, at) ?? null);
    }
    params[param] = Array.isArray(params[param]) ? [ids.get(kind) ?? null] : (ids.get(kind) ?? null);
  }
  if (action.facts.price.needsMaxCost === true) params.max_cost_cents = 15_000;
  return params;
}

describe("an id that a vendor made", () => {
  it("is in the catalog in many ways", () => expect(owned.length).toBeGreaterThan(11));

  it.each(owned.map((one) => [one.id, one] as const))(
    "%s: is nobody else's, cannot be guessed, and is refused once the vendor has forgotten it",
    async (id, action) => {
      const params: JsonObject = await ownParams(action, ada, new Map());
      expect(await statusOf(eve, id, params)).toBe(404);
      expect(await statusOf(ada, id, action.exampleParams)).toBe(404);
      // An action that ends a thing ends it once, so the vendor forgets everything first.
      await fetch(`${gateway.sandboxUrl}/_sandbox/reset`, { method: "POST" });
      expect([400, 404, 409, 410], id).toContain(await statusOf(ada, id, params));
    },
  );
});
