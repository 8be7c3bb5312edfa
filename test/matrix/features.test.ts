// Every feature of a chat request with every chat adapter, whole and streamed: served without a vendor error, or refused by us with the
// reason.

import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI from "openai";
import type { ChatCompletionMessageParam } from "openai/resources/chat/completions";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { STAND_INS } from "../../src/models/formats/stand-ins.ts";
import { type Sandbox, startSandbox } from "../../src/sandbox/server.ts";
import { startTestGateway, type TestGateway } from "../support/gateway.ts";
import { removeFolder } from "../support/remove-folder.ts";
import { DEPLOYMENTS } from "../support/strict-clouds.ts";
import { type StrictVendors, startStrictVendors } from "../support/strict-vendors.ts";
import { startVendor, type VendorServer } from "../support/vendor-server.ts";

/** One model of each vendor, with vision where there is one; OpenAI's in both of its wires. */
const MODELS = {
  openai: "openai/gpt-5.2",
  "openai-tools-elsewhere": "openai/gpt-5.4-mini",
  "openai-thinking": "openai/gpt-5.5",
  anthropic: "anthropic/claude-haiku-4.5",
  "anthropic-newer": "anthropic/claude-opus-5",
  gemini: "google/gemini-3.6-flash",
  mistral: "mistralai/mistral-large-2512",
  "mistral-thinking": "mistralai/mistral-small-2603",
  deepseek: "deepseek/deepseek-v4-flash",
  xai: "x-ai/grok-4.3",
  groq: "openai/gpt-oss-20b",
  cerebras: "qwen/qwen3.8-27b",
  together: "z-ai/glm-4.6",
  fireworks: "minimax/minimax-m3",
  openrouter: "cohere/command-a",
  moonshot: "moonshotai/kimi-k2.7-code-highspeed",
  bedrock: "amazon/nova-2-lite-v1",
  "bedrock-open": "openai/gpt-oss-20b",
  "bedrock-anthropic": "anthropic/claude-haiku-4.5",
  vertex: "google/gemini-3.5-flash",
  "vertex-anthropic": "anthropic/claude-opus-4.8",
  "azure-openai": "openai/gpt-5.4-mini",
  "azure-openai-dated": "openai/gpt-4.1",
  cohere: "cohere/command-a",
  perplexity: "perplexity/sonar",
} as const;
type Row = keyof typeof MODELS;
const ROWS = Object.keys(MODELS) as Row[];
/** Rows with a vendor's second model. */
const SECONDS: Readonly<Record<string, string>> = {
  "openai-tools-elsewhere": "openai",
  "openai-thinking": "openai",
  "mistral-thinking": "mistral",
  "anthropic-newer": "anthropic",
  "bedrock-open": "bedrock",
};
const vendorOf = (row: Row): string => SECONDS[row] ?? row;
const nameOf = (vendor: string): string => vendor.toUpperCase().replaceAll("-", "_");

const tool = (name: string, more: object = {}) => ({
  type: "function",
  function: {
    name,
    description: "Looks it up.",
    parameters: { type: "object", properties: { city: { type: "string" } } },
    ...more,
  },
});

/** The request for each feature, by the feature's name. */
const FEATURES = JSON.parse(readFileSync(new URL("features.json", import.meta.url), "utf8")) as Record<string, object>;

const CLAUDES: readonly Row[] = ["anthropic", "anthropic-newer", "bedrock-anthropic", "vertex-anthropic"];

/** What we refuse before any vendor call, because its meaning would be lost, with words of the reason. */
const UNFIT: readonly (readonly [feature: RegExp, rows: readonly Row[], reason: RegExp])[] = [
  // The gateway fetches the link, and the test has no outside network.
  [/^an image by its link/, ["bedrock", "bedrock-anthropic", "vertex-anthropic"], /a link in the request/],
  [
    /^an image/,
    [
      ...["deepseek", "groq", "cerebras", "together", "fireworks", "openrouter", "moonshot"],
      ...["bedrock-open", "cohere", "perplexity"],
    ] as Row[],
    /does not take content of kind/,
  ],
  // Only Claude can make its signature, and this one is made up.
  [/^the history of Claude/, CLAUDES, /Invalid `signature`/],
  // Its wire closes every object: one with free keys could only be empty.
  [/^an open schema/, [...CLAUDES, "bedrock-open"], /none of the allowed providers can serve this/],
  [
    /^several answers/,
    [...CLAUDES, "bedrock", "bedrock-open", "cohere", "perplexity", "groq"],
    /(none of the allowed providers can serve|cannot be asked for) this/,
  ],
  // It searches, and calls no other tools.
  [
    /tools?\b|^results of parallel calls|^the history of/,
    ["perplexity"],
    /cannot be asked for this: tools are none of its own/,
  ],
  [
    /^a PDF/,
    [
      ...[
        "mistral",
        "mistral-thinking",
        "deepseek",
        "xai",
        "groq",
        "cerebras",
        "together",
        "fireworks",
        "openrouter",
        "moonshot",
      ],
      ...["bedrock-open", "cohere", "perplexity"],
    ] as Row[],
    /does not take content of kind/,
  ],
];

function refusalOf(feature: string, row: Row): RegExp | null {
  return UNFIT.find(([pattern, rows]) => pattern.test(feature) && rows.includes(row))?.[2] ?? null;
}

let sandbox: Sandbox;
let vendors: StrictVendors;
/** Serves the searches of acting models. */
let searches: VendorServer;
let gateway: TestGateway;
let client: OpenAI;
let folder: string;
/** The path prefix of a vendor's address. */
const BELOW: Readonly<Record<string, string>> = {
  vertex: "/v1/projects/project-1/locations/global/publishers/google",
  "vertex-anthropic": "/v1/projects/project-1/locations/global/publishers/anthropic",
  "azure-openai": "/openai/v1",
  "azure-openai-dated": "/openai",
};

beforeAll(async () => {
  sandbox = await startSandbox({ dialects: STAND_INS, host: "127.0.0.1", port: 0 });
  vendors = await startStrictVendors(sandbox.url);
  const settings = [...new Set(ROWS.map(vendorOf))].flatMap((vendor) => [
    [`${nameOf(vendor)}_API_KEY`, "sk-test"],
    [`${nameOf(vendor)}_BASE_URL`, `${vendors.url}/${vendor}${BELOW[vendor] ?? ""}`],
  ]);
  folder = mkdtempSync(join(tmpdir(), "matrix-"));
  const keyFile = join(folder, "key.json");
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const pem = privateKey.export({ type: "pkcs8", format: "pem" });
  const who = { client_email: "svc@project.example", private_key_id: "k1", token_uri: `${vendors.url}/token` };
  writeFileSync(keyFile, JSON.stringify({ ...who, private_key: pem }));
  searches = await startVendor();
  const results = [{ title: "Tides", url: "https://example.com/tides", description: "Twice a day." }];
  searches.answers({ body: { web: { results } } });
  gateway = await startTestGateway({
    ...Object.fromEntries(settings),
    BRAVE_API_KEY: "sk-test",
    BRAVE_BASE_URL: searches.url,
    GOOGLE_APPLICATION_CREDENTIALS: keyFile,
    VERTEX_PROJECT: "project-1",
    BEDROCK_REGION: "us-east-1",
    AWS_BEARER_TOKEN_BEDROCK: "token",
    AZURE_OPENAI_DEPLOYMENTS: `gpt-5.4-mini=${DEPLOYMENTS["azure-openai"][0]}`,
    AZURE_OPENAI_DATED_DEPLOYMENTS: `gpt-4.1=${DEPLOYMENTS["azure-openai-dated"][0]}`,
    AZURE_OPENAI_API_VERSION: "2024-10-21",
  });
  const account = await gateway.account({
    kind: "personal",
    creditCents: 1_000_000,
    inferenceCapCents: 1_000_000,
    requestsPerMinute: 100_000,
  });
  client = new OpenAI({ apiKey: account.key, baseURL: `${gateway.url}/api/llm/v1`, maxRetries: 0 });
});
afterAll(async () => {
  expect(await gateway.doctor()).toEqual([]);
  await gateway.stop();
  await vendors.close();
  await searches.close();
  await sandbox.close();
  removeFolder(folder);
});
beforeEach(() => {
  vendors.refusals.length = 0;
  vendors.taken.length = 0;
});

type Asked = { model: string; messages: ChatCompletionMessageParam[] };

/** Makes the sandbox answer at once. */
const AT_ONCE = " [[pace: 100000]]";

function hurried(messages: readonly ChatCompletionMessageParam[]): ChatCompletionMessageParam[] {
  return messages.map((message) => {
    if (message.role !== "user") return message;
    if (typeof message.content === "string") return { ...message, content: message.content + AT_ONCE };
    const [first, ...more] = message.content;
    if (first?.type !== "text") return message;
    return { ...message, content: [{ ...first, text: first.text + AT_ONCE }, ...more] };
  });
}

async function ask(row: Row, more: object, stream: boolean): Promise<string> {
  const asked = {
    model: MODELS[row],
    max_tokens: 2_000,
    messages: [{ role: "user", content: "Hi" }],
    provider: { only: [vendorOf(row)] },
    ...more,
  } as unknown as Asked;
  asked.messages = hurried(asked.messages);
  try {
    const answer = stream
      ? await client.chat.completions.stream({ ...asked, stream: true }).finalChatCompletion()
      : await client.chat.completions.create(asked);
    const [choice] = answer.choices;
    const said = choice?.message.content || choice?.message.tool_calls?.length || choice?.message.refusal;
    return answer.model === MODELS[row] && said ? "served" : `no answer of ${answer.model}`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

describe.each(ROWS)("%s", (row) => {
  it.each(Object.entries(FEATURES))("%s", async (feature, more) => {
    const reason = refusalOf(feature, row);
    for (const stream of [false, true]) {
      const outcome = await ask(row, more, stream);
      if (reason === null) expect(outcome).toBe("served");
      else expect(outcome).toMatch(reason);
    }
    expect(vendors.refusals).toEqual([]);
  });
});

const ACTS = {
  tools: [{ type: "action", action: "brave/search" }, tool("weather")],
  messages: [{ role: "user", content: 'When is high tide? [[call: brave__search {"q": "tide"}]]' }],
};

describe.each(ROWS)("the rounds of a model that acts, over %s", (row) => {
  it.each([false, true])("streamed: %s", async (stream) => {
    searches.asked.length = 0;
    const reason = refusalOf("tools", row);
    const outcome = await ask(row, ACTS, stream);
    expect(vendors.refusals).toEqual([]);
    if (reason !== null) return expect(outcome).toMatch(reason);
    expect(outcome).toBe("served");
    expect(searches.asked).toHaveLength(1);
    expect(vendors.taken.map((taken) => JSON.stringify(taken).includes("example.com/tides"))).toEqual([false, true]);
  });
});

/** The same in the other wires, whose requests reach most vendors translated. */
const ELSEWHERE: Readonly<Record<string, readonly [path: string, body: object]>> = {
  "hints of the responses wire": [
    "responses",
    { prompt_cache_key: "k1", safety_identifier: "s1", user: "u1", text: { verbosity: "low" }, metadata: { a: "b" } },
  ],
  "sampling with reasoning in the responses wire": [
    "responses",
    { temperature: 0.3, top_p: 0.9, reasoning: { effort: "high" } },
  ],
  "sampling in the responses wire": ["responses", { temperature: 0.3, top_p: 0.9 }],
  "no reasoning in the responses wire": ["responses", { reasoning: { effort: "none" } }],
  "hints of the messages wire": [
    "messages",
    { top_k: 40, metadata: { user_id: "u1" }, cache_control: { type: "ephemeral" } },
  ],
  "sampling in the messages wire": ["messages", { temperature: 0.3 }],
  "no reasoning in the messages wire": ["messages", { thinking: { type: "disabled" } }],
};

async function post(row: Row, path: string, more: object) {
  const said = `Hi${AT_ONCE}`;
  const asked =
    path === "responses" ? { input: said } : { max_tokens: 2_000, messages: [{ role: "user", content: said }] };
  const response = await fetch(`${gateway.url}/v1/${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${client.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model: MODELS[row], provider: { only: [vendorOf(row)] }, ...asked, ...more }),
  });
  return {
    status: response.status,
    text: await response.text(),
    unsent: response.headers.get("x-tollgate-dropped") ?? "",
  };
}

describe.each(ROWS)("%s in other wires", (row) => {
  it.each(Object.entries(ELSEWHERE))("%s", async (_, [path, more]) => {
    for (const stream of [false, true]) {
      const { status, text } = await post(row, path, { ...more, stream });
      expect([status, text]).toEqual([200, expect.any(String)]);
    }
    expect(vendors.refusals).toEqual([]);
  });
});

/** How vendors are told not to think, or to think as little as possible. */
const OFF = /"thinking":\{"type":"disabled"\}|"(reasoning_)?effort":"(none|low)"|"reasoning":\{"enabled":false\}/;
/** Models that think, at a cost, unless told not to, or that always think. */
const THINKERS: readonly Row[] = [
  ...(["openai", "openai-thinking", "openai-tools-elsewhere", "azure-openai", "anthropic-newer", "deepseek"] as const),
  ...(["mistral-thinking", "xai", "groq", "together", "fireworks", "moonshot"] as const),
];

describe.each(THINKERS)("a wish not to think reaches %s, or is named as one that does not", (row) => {
  it.each([
    ["chat/completions", { reasoning_effort: "none" }],
    ["chat/completions", { reasoning: { enabled: false } }],
    ["chat/completions", { thinking: { type: "disabled" } }],
    ["responses", { reasoning: { effort: "none" } }],
    ["messages", { thinking: { type: "disabled" } }],
  ])("%s %j", async (path, more) => {
    const { status, unsent } = await post(row, path, more);
    expect(status).toBe(200);
    const [field = ""] = Object.keys(more);
    expect(OFF.test(JSON.stringify(vendors.taken.at(-1))) || unsent.split(",").includes(field)).toBe(true);
  });
});
