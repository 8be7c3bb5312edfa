// A model in the chat wire that calls actions: what it receives, what its caller gets, and what the one posting says.
import { afterAll, beforeAll, expect, it } from "vitest";
import type { TestAccount } from "../../support/gateway.ts";
import { postAs } from "../../support/keyed-fetch.ts";
import { MODEL, type Stage, startStage } from "./stage.ts";

let stage: Stage;
let account: TestAccount;

beforeAll(async () => {
  stage = await startStage();
  account = await stage.account();
});
afterAll(async () => {
  expect(await stage.gateway.doctor()).toEqual([]);
  await stage.stop();
});

const SEARCH = { type: "action", action: "brave/search" };
const WEATHER = { type: "function", function: { name: "weather", parameters: { type: "object", properties: {} } } };
const call = (id: string, q: unknown, name = "brave__search") => ({
  id,
  name,
  args: typeof q === "string" ? { q } : q,
});

interface Answer {
  readonly choices: readonly {
    readonly message: { readonly content: string | null; readonly tool_calls?: readonly { id: string }[] };
    readonly finish_reason: string;
    readonly native_finish_reason: string;
  }[];
  readonly usage: { readonly cost: number; readonly total_tokens: number; readonly actions: readonly unknown[] };
  readonly error?: { readonly message: string; readonly param: string; readonly code: string };
}

async function post(body: Record<string, unknown>, by: TestAccount = account, headers: Record<string, string> = {}) {
  return postAs(
    by.key,
    `${stage.gateway.url}/api/llm/v1/chat/completions`,
    { model: MODEL, messages: [{ role: "user", content: "When is the tide?" }], tools: [SEARCH], ...body },
    headers,
  );
}

async function ask(
  body: Record<string, unknown> = {},
  by: TestAccount = account,
  headers: Record<string, string> = {},
) {
  const response = await post(body, by, headers);
  return { status: response.status, headers: response.headers, json: (await response.json()) as Answer };
}

const lastResult = (round = -1) => {
  const { messages } = stage.rounds().at(round) as { messages: { role: string; content: string }[] };
  return messages.filter(({ role }) => role === "tool").map(({ content }) => content);
};

it("runs the action and asks again with what it brought, in one posting with a leg for each", async () => {
  stage.says({ text: "I look.", calls: [call("c1", "tides brest")] }, { text: "At noon." });
  const { status, json } = await ask();
  expect(status).toBe(200);
  expect(json.choices[0]?.message).toMatchObject({ role: "assistant", content: "I look.\n\nAt noon." });
  expect(json.choices[0]?.message.tool_calls).toBeUndefined();
  expect(json.choices[0]?.finish_reason).toBe("stop");
  expect(stage.searches().map(({ url }) => url)).toEqual(["/brave/web/search?q=tides+brest"]);
  expect(JSON.parse(lastResult()[0] ?? "")).toMatchObject({ web: { results: [{ url: "https://example.com/tides" }] } });
  expect(json.usage.total_tokens).toBe(220);
  expect(json.usage.actions).toEqual([{ action: "brave/search", cents: 1, ok: true }]);
  const [posting] = await stage.charges(account);
  expect(posting?.legs.map(({ vendor, ok }) => [vendor, ok])).toEqual([
    ["openai", true],
    ["brave", true],
    ["openai", true],
  ]);
  // Two rounds of 100 tokens in and 10 out, at the model's price, and one search.
  expect(json.usage.cost).toBeCloseTo(2 * (100 * 1.25e-6 + 10 * 10e-6) + 0.01, 9);
});

it("the model sees the action's schema without what the caller has set, which goes along with every call", async () => {
  stage.says({ calls: [call("c1", "x")] }, { text: "Done." });
  const { status } = await ask({ tools: [{ ...SEARCH, params: { count: 3 } }] });
  expect(status).toBe(200);
  const [first] = stage.rounds() as { tools: { function: { name: string; parameters: { properties: object } } }[] }[];
  expect(first?.tools.map((tool) => tool.function.name)).toEqual(["brave__search"]);
  expect(Object.keys(first?.tools[0]?.function.parameters.properties ?? {})).toContain("q");
  expect(Object.keys(first?.tools[0]?.function.parameters.properties ?? {})).not.toContain("count");
  expect(new URL(`http://x${stage.searches()[0]?.url}`).searchParams.get("count")).toBe("3");
});

it("a call of the caller's own function ends the turn, and what actions brought is there again in the next", async () => {
  stage.says({ text: "I look.", calls: [call("c1", "tides")] }, { calls: [{ id: "own1", name: "weather", args: {} }] });
  const { json } = await ask({ tools: [SEARCH, WEATHER] });
  const { message, finish_reason } = json.choices[0] ?? { message: { content: null }, finish_reason: "" };
  expect(finish_reason).toBe("tool_calls");
  expect(message.tool_calls?.map(({ id }) => id)).toEqual(["own1"]);
  stage.says({ text: "Sunny at noon." });
  const messages = [
    { role: "user", content: "When is the tide?" },
    message,
    { role: "tool", tool_call_id: "own1", content: "sunny" },
  ];
  await ask({ tools: [SEARCH, WEATHER], messages });
  const [round] = stage.rounds() as {
    messages: { role: string; tool_calls?: { id: string }[]; tool_call_id?: string }[];
  }[];
  expect(
    round?.messages.map(({ role, tool_calls, tool_call_id }) => [role, tool_calls?.[0]?.id ?? tool_call_id]),
  ).toEqual([
    ["user", undefined],
    ["assistant", "c1"],
    ["tool", "c1"],
    ["assistant", "own1"],
    ["tool", "own1"],
  ]);
});

it("what was kept is of its own conversation, though a vendor numbers its calls alike in each", async () => {
  const own = { id: "functions.weather:0", name: "weather", args: {} };
  const asked = async (words: string) => {
    stage.says({ calls: [call("c1", words)] }, { calls: [own] });
    const { json } = await ask({ tools: [SEARCH, WEATHER], messages: [{ role: "user", content: words }] });
    return json.choices[0]?.message;
  };
  const first = await asked("tides of the first");
  const second = await asked("tides of the second");
  for (const [words, message] of [
    ["tides of the first", first],
    ["tides of the second", second],
  ]) {
    stage.says({ text: "Sunny at noon." });
    const result = { role: "tool", tool_call_id: own.id, content: "sunny" };
    await ask({ tools: [SEARCH, WEATHER], messages: [{ role: "user", content: words }, message, result] });
    const [round] = stage.rounds() as { messages: { tool_calls?: { function: { arguments: string } }[] }[] }[];
    expect(JSON.parse(round?.messages[1]?.tool_calls?.[0]?.function.arguments ?? "")).toEqual({ q: words });
  }
});

it("calls of both kinds in one answer: the actions run, the caller gets its own", async () => {
  stage.says({ calls: [call("c1", "tides"), { id: "own2", name: "weather", args: {} }] });
  const { json } = await ask({ tools: [SEARCH, WEATHER] });
  expect(json.choices[0]?.message.tool_calls?.map(({ id }) => id)).toEqual(["own2"]);
  expect(json.usage.actions).toHaveLength(1);
  expect(stage.rounds()).toHaveLength(1);
  stage.says({ text: "Well." });
  const messages = [
    { role: "user", content: "When is the tide?" },
    json.choices[0]?.message,
    { role: "tool", tool_call_id: "own2", content: "sunny" },
  ];
  await ask({ tools: [SEARCH, WEATHER], messages });
  const [round] = stage.rounds() as {
    messages: { role: string; tool_calls?: { id: string }[]; tool_call_id?: string }[];
  }[];
  expect(round?.messages[1]?.tool_calls?.map(({ id }) => id)).toEqual(["c1", "own2"]);
  expect(round?.messages.slice(2).map(({ tool_call_id }) => tool_call_id)).toEqual(["c1", "own2"]);
});

it("calls in one answer run side by side", async () => {
  let open = 0;
  let most = 0;
  stage.says({ calls: Array.from({ length: 10 }, (_, at) => call(`c${at}`, `tide ${at}`)) }, { text: "Ten." });
  const waiting: (() => void)[] = [];
  stage.finds((response) => {
    open += 1;
    most = Math.max(most, open);
    waiting.push(() => response.writeHead(200, { "content-type": "application/json" }).end('{"web":{"results":[]}}'));
    if (open === 10) for (const go of waiting) go();
  });
  const { json } = await ask();
  expect(most).toBe(10);
  expect(json.usage.actions).toHaveLength(10);
});

it.each<[string, unknown, RegExp]>([
  ["are no JSON", "{q: ", /no JSON/],
  ["are no object", "[1]", /must be a JSON object/],
  ["are two megabytes", `{"q":"${"x".repeat(2_000_000)}"}`, /more than 100000 bytes/],
  ["lack what the schema needs", {}, /q: /],
  ["have what the schema does not know", { q: "x", nonsense: 1 }, /nonsense/],
])("params that %s are told to the model, and cost nothing", async (_, args, told) => {
  stage.says({ calls: [{ id: "c1", name: "brave__search", args }] }, { text: "Sorry." });
  const { status, json } = await ask();
  expect([status, json.choices[0]?.message.content, json.usage.actions]).toEqual([200, "Sorry.", []]);
  expect(lastResult()[0]).toMatch(told);
  expect(stage.searches()).toEqual([]);
});

it("an action that fails is told to the model as such, and is not charged", async () => {
  stage.says({ calls: [call("c1", "x")] }, { text: "It is down." });
  stage.finds((response) => response.writeHead(500).end("{}"));
  const { status, json } = await ask();
  expect(status).toBe(200);
  expect(json.usage.actions).toEqual([{ action: "brave/search", cents: 0, ok: false }]);
  expect(lastResult()[0]).toContain("upstream_error");
});

it("a long result is cut, and says so", async () => {
  stage.says({ calls: [call("c1", "x")] }, { text: "Long." });
  stage.finds((response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ web: { results: [{ title: "x".repeat(50_000), url: "https://example.com/" }] } }));
  });
  expect((await ask()).status).toBe(200);
  const [result = ""] = lastResult();
  expect(result.length).toBe(20_000);
  expect(result).toMatch(/\[cut: the first 20000 of \d+ characters, this line included\]$/);
});

it("a model that calls without end has eight rounds, and then has to answer", async () => {
  stage.says({ calls: [call("c1", "again")] });
  const { status, json } = await ask();
  expect(status).toBe(200);
  expect(stage.searches()).toHaveLength(8);
  expect(stage.rounds()).toHaveLength(9);
  expect(stage.rounds().at(-1)).toMatchObject({ tool_choice: "none" });
  expect(json.choices[0]).toMatchObject({ finish_reason: "length", native_finish_reason: "max_tool_calls" });
});

it.each([
  ["that are no JSON", call("c1", {}, "brave__search"), '{"q": "tide', "JSON"],
  ["of two megabytes", call("c1", "x".repeat(2_000_000)), null, "bytes"],
  ["that its schema does not take", call("c1", { q: 7 }), null, "q"],
  ["that it has not", call("c1", { q: "tide", sudo: true }), null, "sudo"],
  ["at a schema's edge", call("c1", { q: "tide", count: 21 }), null, "count"],
  [
    "that are this gateway's own address",
    call("c1", { urls: ["http://127.0.0.1/admin"] }, "core__onescrape"),
    null,
    "urls",
  ],
])("params %s are told to the model, and nothing is called or charged", async (_, made, args, words) => {
  stage.says({ calls: [args === null ? made : { ...made, args }] }, { text: "I cannot." });
  const { status, json } = await ask({ tools: [SEARCH, { type: "action", action: "core/onescrape" }] });
  expect(status).toBe(200);
  expect(json.choices[0]?.message.content).toBe("I cannot.");
  expect(lastResult()[0]).toContain(words);
  expect(lastResult()[0]?.length).toBeLessThan(3_000);
  expect(stage.searches()).toEqual([]);
  expect(json.usage.cost).toBe(0.00045);
});

it("max_tool_calls bounds all calls, max_calls those of one tool", async () => {
  stage.says({ calls: [call("c1", "a"), call("c2", "b"), call("c3", "c")] }, { text: "Two." });
  expect((await ask({ max_tool_calls: 2 })).json.usage.actions).toHaveLength(2);
  expect(lastResult()[2]).toContain("No more calls");
  stage.says({ calls: [call("c1", "a"), call("c2", "b")] }, { text: "One." });
  expect((await ask({ tools: [{ ...SEARCH, max_calls: 1 }] })).json.usage.actions).toHaveLength(1);
  expect(lastResult()[1]).toContain("1 times");
});

it("what does not fit the money is told to the model, which answers with what it has", async () => {
  stage.says({ calls: [call("c1", "a"), call("c2", "b"), call("c3", "c")] }, { text: "That is all." });
  const { status, json } = await ask({ tools: [{ ...SEARCH, max_cost_cents: 2 }] });
  expect([status, json.choices[0]?.message.content]).toEqual([200, "That is all."]);
  expect(json.usage.actions).toHaveLength(2);
  expect(lastResult()[2]).toContain("no money left");
  stage.says({ calls: [call("c1", "a"), call("c2", "b"), call("c3", "c")] }, { text: "That is all." });
  const small = await ask({ max_cost_cents: 4, max_tokens: 200 });
  expect(small.status).toBe(200);
  expect(small.json.usage.actions.length).toBeLessThan(3);
  expect(small.json.usage.cost).toBeLessThanOrEqual(0.04);
});

it("a balance that does for a part is enough, and is never overspent", async () => {
  const poor = await stage.account(3);
  stage.says({ calls: [call("c1", "a"), call("c2", "b"), call("c3", "c")] }, { text: "That is all." });
  const { status, json } = await ask({ max_tokens: 200 }, poor);
  expect(status).toBe(200);
  expect(json.usage.cost).toBeLessThanOrEqual(0.03);
  const { balance_cents, held_cents } = await stage.money(poor);
  expect(balance_cents).toBeGreaterThanOrEqual(0);
  expect(held_cents).toBe(0);
});

it("a model's route that dies after an action was paid: the call fails, nothing is charged and nothing stays held", async () => {
  const own = await stage.account(100);
  stage.says({ calls: [call("c1", "a")] }, { status: 400 });
  const { status } = await ask({}, own);
  expect(status).toBe(400);
  expect(await stage.money(own)).toEqual({ balance_cents: 100, held_cents: 0 });
  expect(await stage.charges(own)).toEqual([]);
});

it("the same again under its Idempotency-Key is the same answer, charged once", async () => {
  stage.says({ calls: [call("c1", "a")] }, { text: "Once." });
  const first = await ask({}, account, { "idempotency-key": "k1" });
  const again = await ask({}, account, { "idempotency-key": "k1" });
  expect(again.headers.get("idempotent-replayed")).toBe("true");
  expect(again.json.choices[0]?.message.content).toBe("Once.");
  expect(stage.searches()).toHaveLength(1);
  expect(first.status).toBe(200);
});

it.each<[Record<string, unknown>, string]>([
  [{ tools: [{ type: "action" }] }, "tools.0.action"],
  [{ tools: [WEATHER, { type: "action", action: "brave" }] }, "tools.1.action"],
  [{ tools: [{ ...SEARCH, max_calls: 0 }] }, "tools.0.max_calls"],
  [{ tools: [{ ...SEARCH, max_cost_cents: -1 }] }, "tools.0.max_cost_cents"],
  [{ tools: [{ ...SEARCH, nonsense: true }] }, "tools.0.nonsense"],
  [{ tools: [{ ...SEARCH, params: { nonsense: 1 } }] }, "tools.0.params.nonsense"],
  [{ tools: [{ ...SEARCH, params: [] }] }, "tools.0.params"],
  [{ tools: [{ type: "action", action: "brave/nothing" }] }, "tools.0.action"],
  [{ tools: [{ type: "action", action: "exa/search" }] }, "tools.0.action"],
  [{ tools: [{ type: "action", action: "core/onescrape_deep" }] }, "tools.0.action"],
  [{ tools: [{ type: "action", action: "brave/*", params: {} }] }, "tools.0.params"],
  [{ tools: [{ type: "action", action: "nobody/*" }] }, "tools.0.action"],
  [{ tools: [{ type: "action", find: false }] }, "tools.0.find"],
  [{ n: 2 }, "n"],
  [{ max_tool_calls: 0 }, "max_tool_calls"],
  [{ tools: [SEARCH, { type: "function", function: { name: "brave__search" } }] }, "tools.0"],
])("%j is refused by the field %s", async (body, param) => {
  stage.says({ text: "Never." });
  const { status, json } = await ask(body);
  expect(status).toBeGreaterThanOrEqual(400);
  expect(json.error?.param).toBe(param);
  expect(stage.rounds()).toEqual([]);
});

it("takes of a minute's tokens what all its rounds can use", async () => {
  const made = async (path: string, body: object) => {
    const headers = { authorization: `Bearer ${account.key}`, "content-type": "application/json" };
    const response = await fetch(`${stage.gateway.url}/api/v1${path}`, {
      method: "POST",
      headers,
      body: JSON.stringify(body),
    });
    return (await response.json()) as { readonly id: string; readonly api_key: string };
  };
  const { id: group } = await made("/groups", { name: "slow", tokens_per_minute: 20_000 });
  const { api_key: key } = await made("/agents", { group });
  stage.says({ text: "Hello." });
  const agent = { ...account, key };
  const plain = await ask({ tools: [WEATHER], max_tokens: 100 }, agent);
  expect(plain.status).toBe(200);
  const acting = await ask({ max_tokens: 100 }, agent);
  expect([acting.status, acting.json.error?.code]).toEqual([429, "rate_limited"]);
});
