// Actions and hosted tools in each wire: its own items and events, with sources, from a model whose vendor lacks such tools.
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TestAccount } from "../../support/gateway.ts";
import { postAs } from "../../support/keyed-fetch.ts";
import { callMessages } from "../../support/messages-call.ts";
import { FOUND, MODEL, type Stage, startStage } from "./stage.ts";

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

const URL_FOUND = "https://example.com/tides";
const ANSWER = `At noon, says [Tides](${URL_FOUND}).`;
const asks = () =>
  stage.says({ text: "I look.", calls: [{ id: "c1", name: "web_search", args: { query: "tide" } }] }, { text: ANSWER });
const acts = () =>
  stage.says({ calls: [{ id: "c1", name: "brave__search", args: { q: "tide" } }] }, { text: "At noon." });

async function post(path: string, body: Record<string, unknown>, by = account): Promise<Response> {
  return postAs(by.key, `${stage.gateway.url}/api/llm/v1${path}`, { model: MODEL, ...body });
}

type Json = Record<string, unknown>;

/** The data of each event. */
function eventsIn(text: string): Json[] {
  const lines = text.split("\n").filter((line) => line.startsWith("data: ") && line !== "data: [DONE]");
  return lines.map((line) => JSON.parse(line.slice(6)) as Json);
}

describe("the responses wire", () => {
  const search = { tools: [{ type: "web_search" }], input: "When is the tide?" };

  it.each([false, true])(
    "a search is a web_search_call with the sources as annotations, streamed: %s",
    async (stream) => {
      asks();
      const response = await post("/responses", { ...search, stream });
      expect(response.status).toBe(200);
      const text = await response.text();
      const events = stream ? eventsIn(text) : [];
      const whole = (stream ? events.at(-1)?.response : JSON.parse(text)) as {
        output: Json[];
        usage: Json;
        status: string;
      };
      expect(whole.status).toBe("completed");
      expect(whole.output.map(({ type }) => type)).toEqual(["message", "web_search_call", "message"]);
      expect(whole.output[1]).toMatchObject({ status: "completed", action: { type: "search", query: "tide" } });
      const [part] = (whole.output[2]?.content ?? []) as { text: string; annotations: Json[] }[];
      expect(part?.text).toBe(ANSWER);
      const [cited] = part?.annotations ?? [];
      expect(cited).toMatchObject({ type: "url_citation", url: URL_FOUND, title: "Tides" });
      expect(ANSWER.slice(Number(cited?.start_index), Number(cited?.end_index))).toBe(URL_FOUND);
      expect(whole.usage.actions).toEqual([{ action: "brave/search", cents: 1, ok: true }]);
      if (!stream) return;
      expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, at) => at));
      const types = events.map(({ type }) => type);
      expect(types).toContain("response.web_search_call.searching");
      expect(types).toContain("response.output_text.annotation.added");
      const items = events.filter(({ type }) => type === "response.output_item.done").map(({ item }) => item);
      expect(items).toEqual(whole.output);
    },
  );

  it.each([false, true])("an action is an mcp_call, streamed: %s", async (stream) => {
    acts();
    const tools = [{ type: "action", action: "brave/search" }];
    const response = await post("/responses", { tools, input: "When?", stream });
    const text = await response.text();
    const whole = (stream ? eventsIn(text).at(-1)?.response : JSON.parse(text)) as { output: Json[] };
    expect(whole.output.map(({ type }) => type)).toEqual(["mcp_call", "message"]);
    expect(whole.output[0]).toMatchObject({ server_label: "tollgate", name: "brave__search", error: null });
    expect(String(whole.output[0]?.output)).toContain(URL_FOUND);
  });

  it("the items of an earlier turn may come back", async () => {
    acts();
    const tools = [{ type: "action", action: "brave/search" }];
    const first = (await (await post("/responses", { tools, input: "When?" })).json()) as { output: Json[] };
    stage.says({ text: "Again at noon." });
    const input = [{ role: "user", content: "When?" }, ...first.output, { role: "user", content: "Sure?" }];
    expect((await post("/responses", { tools, input })).status).toBe(200);
  });

  it("a forced search is one, and what wants no page of today is left out as ever", async () => {
    asks();
    const forced = await post("/responses", { ...search, tool_choice: { type: "web_search" } });
    expect(forced.status).toBe(200);
    expect(stage.rounds()[0]).toMatchObject({ tool_choice: { function: { name: "web_search" } } });
    expect(stage.rounds()[1]).not.toHaveProperty("tool_choice");
    stage.says({ text: "No." });
    const cached = await post("/responses", { ...search, tools: [{ type: "web_search", external_web_access: false }] });
    expect(cached.headers.get("x-tollgate-dropped")).toBe("tools.web_search");
  });

  it("OpenAI's SDK reads it", async () => {
    asks();
    const client = new OpenAI({ apiKey: account.key, baseURL: `${stage.gateway.url}/api/llm/v1` });
    const stream = client.responses.stream({ model: MODEL, input: "When?", tools: [{ type: "web_search" }] });
    const final = await stream.finalResponse();
    expect(final.output_text).toContain(ANSWER);
    expect(final.output.map(({ type }) => type)).toEqual(["message", "web_search_call", "message"]);
  });
});

describe("the messages wire", () => {
  const search = {
    max_tokens: 500,
    tools: [{ type: "web_search_20250305", name: "web_search", max_uses: 2 }],
    messages: [{ role: "user", content: "When is the tide?" }],
  };

  it("a search is a server_tool_use with its result, and the text has citations", async () => {
    asks();
    const whole = (await (await post("/messages", search)).json()) as { content: Json[]; stop_reason: string };
    expect(whole.content.map(({ type }) => type)).toEqual([
      "text",
      "server_tool_use",
      "web_search_tool_result",
      "text",
    ]);
    expect(whole.stop_reason).toBe("end_turn");
    expect(whole.content[1]).toMatchObject({ name: "web_search", input: { query: "tide" } });
    expect(whole.content[2]).toMatchObject({
      tool_use_id: whole.content[1]?.id,
      content: [{ type: "web_search_result", url: URL_FOUND, title: "Tides" }],
    });
    expect(whole.content[3]).toMatchObject({
      text: ANSWER,
      citations: [{ type: "web_search_result_location", url: URL_FOUND }],
    });
  });

  it("streamed, its blocks come one after another", async () => {
    asks();
    const { message, error } = await callMessages(
      { model: MODEL, ...search, stream: true },
      { url: stage.gateway.url, key: account.key },
    );
    expect(error).toBeNull();
    expect(message.content).toMatchObject([
      { type: "text", text: "I look." },
      { type: "server_tool_use", input: { query: "tide" } },
      { type: "web_search_tool_result", content: [{ url: URL_FOUND }] },
      { type: "text", text: ANSWER, citations: [{ url: URL_FOUND }] },
    ]);
    expect(message.usage.actions).toHaveLength(1);
  });

  it("an action is an mcp_tool_use, and may come back", async () => {
    acts();
    const tools = [{ type: "action", action: "brave/search" }];
    const first = (await (await post("/messages", { ...search, tools })).json()) as { content: Json[] };
    expect(first.content.map(({ type }) => type)).toEqual(["mcp_tool_use", "mcp_tool_result", "text"]);
    stage.says({ text: "Yes." });
    const messages = [
      ...search.messages,
      { role: "assistant", content: first.content },
      { role: "user", content: "Sure?" },
    ];
    expect((await post("/messages", { ...search, tools, messages })).status).toBe(200);
    expect((await post("/messages", { max_tokens: 10, messages })).status).toBe(200);
  });

  it("only the domains that are named are told", async () => {
    asks();
    await post("/messages", { ...search, tools: [{ ...search.tools[0], allowed_domains: ["tides.example"] }] });
    expect(stage.searches()[0]?.url).toContain("site%3Atides.example");
    expect(JSON.stringify(stage.rounds()[1])).not.toContain(URL_FOUND);
  });
});

describe("the chat wire", () => {
  const messages = [{ role: "user", content: "When?" }];

  it.each<[string, Record<string, unknown>]>([
    ["a plugin", { plugins: [{ id: "web" }] }],
    ["a word behind the model's name", { model: `${MODEL}:online` }],
  ])("a search is asked for by %s, and its sources are annotations", async (_, body) => {
    asks();
    const whole = (await (await post("/chat/completions", { messages, ...body })).json()) as {
      choices: { message: { content: string; annotations: { url_citation: Json }[] } }[];
    };
    const { message } = whole.choices[0] ?? {};
    expect(message?.content).toBe(`I look.\n\n${ANSWER}`);
    const cited = message?.annotations[0]?.url_citation;
    expect(cited).toMatchObject({ url: URL_FOUND, title: "Tides" });
    expect(message?.content.slice(Number(cited?.start_index), Number(cited?.end_index))).toBe(URL_FOUND);
  });

  it("streamed, what runs is told between the rounds", async () => {
    asks();
    const response = await post("/chat/completions", { messages, plugins: [{ id: "web" }], stream: true });
    const events = eventsIn(await response.text()) as { choices: { delta: Json }[]; tollgate?: { action: Json } }[];
    const told = events.flatMap(({ tollgate }) => (tollgate === undefined ? [] : [tollgate.action]));
    expect(told).toMatchObject([
      { action: "brave/search", params: { query: "tide" }, status: "running" },
      { action: "brave/search", status: "done", ok: true, cents: 1 },
    ]);
    expect(events.map(({ choices: [choice] }) => choice?.delta.content ?? "").join("")).toBe(`I look.\n\n${ANSWER}`);
    expect(events.flatMap(({ choices: [choice] }) => (choice?.delta.annotations as Json[]) ?? [])).toHaveLength(1);
  });

  it("other plugins are refused by their name", async () => {
    const refused = await post("/chat/completions", { messages, plugins: [{ id: "pdf" }] });
    expect([refused.status, ((await refused.json()) as { error: Json }).error.param]).toEqual([400, "plugins"]);
  });
});

describe("the generate-content wire", () => {
  const contents = [{ role: "user", parts: [{ text: "When?" }] }];
  const VERBS = ["generateContent", "streamGenerateContent?alt=sse", "streamGenerateContent"];

  async function ask(verb: string, body: Record<string, unknown>) {
    const response = await post(`beta/models/${MODEL}:${verb}`, { contents, ...body, model: undefined });
    const text = await response.text();
    expect([response.status, text.slice(0, 400)]).toEqual([200, expect.any(String)]);
    const read = verb.endsWith("sse") ? eventsIn(text.replaceAll("\r", "")) : [JSON.parse(text)].flat();
    const pieces = read as { candidates?: Json[]; usageMetadata?: Json; tollgate?: { action: Json } }[];
    const candidates = pieces.flatMap(({ candidates = [] }) => candidates);
    const parts = candidates.flatMap(({ content }) => (content as { parts: { text?: string }[] }).parts);
    const said = parts.map(({ text: one = "" }) => one).join("");
    return { pieces, said, parts, last: candidates.at(-1) ?? {}, usage: pieces.at(-1)?.usageMetadata ?? {} };
  }

  it.each(VERBS)("a search is grounded in its sources, by bytes: %s", async (verb) => {
    const answer = `Zwölf, says [Tides](${URL_FOUND}).`;
    stage.says(
      { text: "I look.", calls: [{ id: "c1", name: "web_search", args: { query: "tide" } }] },
      { text: answer },
    );
    const { said, parts, last, usage } = await ask(verb, { tools: [{ google_search: {} }] });
    const whole = `I look.\n\n${answer}`;
    expect(said).toBe(whole);
    expect(parts.some((part) => "functionCall" in part)).toBe(false);
    expect(last).toMatchObject({ finishReason: "STOP", index: 0 });
    const grounding = last.groundingMetadata as Record<string, Json[]>;
    expect(grounding.webSearchQueries).toEqual(["tide"]);
    expect(grounding.groundingChunks).toEqual([{ web: { uri: URL_FOUND, title: "Tides" } }]);
    const [support] = grounding.groundingSupports ?? [];
    const segment = (support?.segment ?? {}) as Record<string, number | string>;
    const { startIndex, endIndex, text } = segment;
    expect([text, support?.groundingChunkIndices]).toEqual([URL_FOUND, [0]]);
    expect(Buffer.from(whole).subarray(Number(startIndex), Number(endIndex)).toString()).toBe(URL_FOUND);
    expect(usage.actions).toEqual([{ action: "brave/search", cents: 1, ok: true }]);
  });

  it.each(VERBS)(
    "an action runs beside the caller's functions, and what runs is told in a stream: %s",
    async (verb) => {
      acts();
      const tools = [{ type: "action", action: "brave/search" }, { functionDeclarations: [{ name: "weather" }] }];
      const { pieces, said, last, usage } = await ask(verb, { tools });
      expect([said, last.finishReason, last.groundingMetadata]).toEqual(["At noon.", "STOP", undefined]);
      expect(usage.actions).toEqual([{ action: "brave/search", cents: 1, ok: true }]);
      const told = pieces.flatMap(({ tollgate }) => (tollgate === undefined ? [] : [tollgate.action]));
      const running = { action: "brave/search", params: { q: "tide" }, status: "running" };
      const done = { action: "brave/search", status: "done", ok: true, cents: 1 };
      expect(told).toMatchObject(verb.startsWith("stream") ? [running, done] : []);
    },
  );

  it.each(VERBS)(
    "a call of the caller's own ends it, and what actions brought is there when it comes back: %s",
    async (verb) => {
      const own = { id: "c2", name: "weather", args: { city: "Brest" } };
      stage.says({ calls: [{ id: "c1", name: "brave__search", args: { q: "tide" } }] }, { calls: [own] });
      const tools = [{ type: "action", action: "brave/search" }, { functionDeclarations: [{ name: "weather" }] }];
      const { parts } = await ask(verb, { tools });
      const call = parts.find((part) => "functionCall" in part);
      expect(call).toMatchObject({ functionCall: { name: "weather", args: { city: "Brest" } } });
      stage.says({ text: "Fine." });
      const result = { functionResponse: { id: "c2", name: "weather", response: { output: "fine" } } };
      const more = [...contents, { role: "model", parts: [call] }, { role: "user", parts: [result] }];
      expect((await ask(verb, { tools, contents: more })).said).toBe("Fine.");
      expect(JSON.stringify(stage.rounds()[0])).toContain("Twice a day");
    },
  );

  it("a page is read by urlContext, and what is at none of the domains is left out", async () => {
    stage.says({ text: "No." });
    await ask("generateContent", { tools: [{ googleSearch: { excludeDomains: ["example.com"] }, urlContext: {} }] });
    const names = [{ function: { name: "web_search" } }, { function: { name: "web_fetch" } }];
    expect(stage.rounds()[0]?.tools).toMatchObject(names);
    asks();
    await ask("generateContent", { tools: [{ googleSearch: { excludeDomains: ["example.com"] } }] });
    expect(JSON.stringify(stage.rounds()[1])).not.toContain(URL_FOUND);
  });
});

describe("the transaction lists the actions as the answer did, and each leg what it cost", () => {
  const tools = [{ type: "action", action: "brave/search" }];
  const google = (verb: string): [string, Record<string, unknown>] => [
    `beta/models/${MODEL}:${verb}`,
    { model: undefined, contents: [{ parts: [{ text: "When?" }] }], tools },
  ];
  const messages = [{ role: "user", content: "When?" }];
  it.each<[string, [string, Record<string, unknown>]]>([
    ["chat", ["/chat/completions", { messages, tools }]],
    [
      "chat, streamed",
      ["/chat/completions", { messages, tools, stream: true, stream_options: { include_usage: true } }],
    ],
    ["responses", ["/responses", { input: "When?", tools }]],
    ["responses, streamed", ["/responses", { input: "When?", tools, stream: true }]],
    ["messages", ["/messages", { messages, tools, max_tokens: 500 }]],
    ["messages, streamed", ["/messages", { messages, tools, max_tokens: 500, stream: true }]],
    ["generate-content", google("generateContent")],
    ["generate-content, streamed", google("streamGenerateContent?alt=sse")],
  ])("%s", async (_, [path, body]) => {
    stage.says(
      {
        calls: [
          { id: "c1", name: "brave__search", args: { q: "tide" } },
          { id: "c2", name: "brave__search", args: { q: "fails" } },
        ],
      },
      { text: "At noon." },
    );
    stage.finds((response, { url }) => {
      response.writeHead(url.includes("fails") ? 500 : 200, { "content-type": "application/json" });
      response.end(url.includes("fails") ? "{}" : JSON.stringify(FOUND));
    });
    const by = await stage.account();
    const text = await (await post(path, body, by)).text();
    const actions = [
      { action: "brave/search", cents: 1, ok: true },
      { action: "brave/search", cents: 0, ok: false },
    ];
    expect(text).toContain(JSON.stringify(actions));
    const [charge] = (await stage.charges(by)) as unknown as {
      transaction_id: string;
      actions: unknown;
      charged_nano_usd: number;
      legs: { charged_nano_usd?: number }[];
    }[];
    expect(charge?.actions).toEqual(actions);
    const sum = charge?.legs.reduce((all, { charged_nano_usd: nano = 0 }) => all + nano, 0);
    expect(sum).toBe(charge?.charged_nano_usd);
    const operator = await stage.gateway.admin("GET", `/admin/v1/transactions/${charge?.transaction_id}`);
    expect(operator.json.actions).toEqual(actions);
  });
});

describe("what is wrong with a hosted tool is told by its field", () => {
  const input = "When is the tide?";
  const messages = [{ role: "user", content: input }];
  const search = { type: "web_search_20250305", name: "web_search" };
  const GENERATE = `beta/models/${MODEL}:generateContent`;
  const contents = [{ parts: [{ text: input }] }];
  const searches = { contents, tools: [{ googleSearch: {} }] };
  it.each<[string, string, Record<string, unknown>]>([
    ["/chat/completions", "n", { messages, plugins: [{ id: "web" }], n: 4 }],
    ["/chat/completions", "max_tool_calls", { messages, plugins: [{ id: "web" }], max_tool_calls: -5 }],
    ["/responses", "max_tool_calls", { input, tools: [{ type: "web_search" }], max_tool_calls: -5 }],
    [GENERATE, "generationConfig.candidateCount", { ...searches, generationConfig: { candidateCount: 2 } }],
    [GENERATE, "max_tool_calls", { ...searches, max_tool_calls: 0 }],
    [
      GENERATE,
      "tools.1.googleSearchRetrieval",
      { contents, tools: [{ googleSearch: {} }, { googleSearchRetrieval: {} }] },
    ],
    [
      GENERATE,
      "tools.0.googleSearch.excludeDomains.0",
      { contents, tools: [{ googleSearch: { excludeDomains: ["https://a.example"] } }] },
    ],
    [GENERATE, "tools.0.action", { contents, tools: [{ type: "action", action: "nonsense" }] }],
    ["/responses", "tools.1", { input, tools: [{ type: "web_search" }, { type: "web_search" }] }],
    [
      "/responses",
      "tools.0.filters.allowed_domains.0",
      { input, tools: [{ type: "web_search", filters: { allowed_domains: ["https://tides.example/"] } }] },
    ],
    [
      "/responses",
      "tools.0.filters.blocked_domains",
      { input, tools: [{ type: "web_search", filters: { blocked_domains: "tides.example" } }] },
    ],
    ["/messages", "tools.0.max_uses", { messages, max_tokens: 100, tools: [{ ...search, max_uses: -1 }] }],
    ["/messages", "tools.1", { messages, max_tokens: 100, tools: [search, search] }],
    [
      "/messages",
      "tools.0.allowed_domains",
      { messages, max_tokens: 100, tools: [{ ...search, allowed_domains: Array(101).fill("tides.example") }] },
    ],
  ])("%s: %s", async (path, field, body) => {
    stage.says({ text: "Never." });
    const response = await post(path, body);
    expect(response.status).toBe(400);
    expect(await response.text()).toContain(`${field}: must `);
    expect(stage.rounds()).toEqual([]);
  });
});
