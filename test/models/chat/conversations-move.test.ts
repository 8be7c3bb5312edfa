// A conversation with tools continues when a tier moves it from one vendor to another, for every pair.

import OpenAI from "openai";
import type { ChatCompletionMessageParam, ChatCompletionTool } from "openai/resources/chat/completions";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { STAND_INS } from "../../../src/models/formats/stand-ins.ts";
import { type Sandbox, startSandbox } from "../../../src/sandbox/server.ts";
import { startTestGateway, type TestAccount, type TestGateway } from "../../support/gateway.ts";
import { STRICT_CLOUDS } from "../../support/strict-clouds.ts";
import { STRICT, type StrictVendors, startStrictVendors } from "../../support/strict-vendors.ts";

/** One model of each vendor that differs from others in what it accepts. */
const MODELS = {
  openai: "openai/gpt-5.2",
  anthropic: "anthropic/claude-haiku-4.5",
  gemini: "google/gemini-3-flash-preview",
  mistral: "mistralai/mistral-large-2512",
  deepseek: "deepseek/deepseek-v4-flash",
  xai: "x-ai/grok-4.3",
  // With tools the gateway uses the newer of its maker's two wires.
  "openai-responses": "openai/gpt-5.4-mini",
  bedrock: "amazon/nova-2-lite-v1",
  cohere: "cohere/command-a",
} as const;
type Vendor = keyof typeof MODELS;
const VENDORS = Object.keys(MODELS) as Vendor[];
/** The provider that serves a row's model. */
const providerOf = (vendor: Vendor): string => (vendor === "openai-responses" ? "openai" : vendor);

let sandbox: Sandbox;
let vendors: StrictVendors;
let gateway: TestGateway;
let account: TestAccount;
let client: OpenAI;

beforeAll(async () => {
  sandbox = await startSandbox({ dialects: STAND_INS, host: "127.0.0.1", port: 0 });
  vendors = await startStrictVendors(sandbox.url);
  const settings = [...VENDORS.map(providerOf), "groq", "cerebras", "together"].flatMap((vendor) => {
    const name = vendor.toUpperCase().replace("-", "_");
    return [
      [`${name}_API_KEY`, "sk-test"],
      [`${name}_BASE_URL`, `${vendors.url}/${vendor}`],
    ];
  });
  gateway = await startTestGateway({
    ...Object.fromEntries(settings),
    BEDROCK_REGION: "us-east-1",
    AWS_BEARER_TOKEN_BEDROCK: "token",
  });
  account = await gateway.account({ kind: "personal", creditCents: 100_000 });
  client = new OpenAI({ apiKey: account.key, baseURL: `${gateway.url}/api/llm/v1`, maxRetries: 0 });
});
afterAll(async () => {
  expect(await gateway.doctor()).toEqual([]);
  await gateway.stop();
  await vendors.close();
  await sandbox.close();
});
beforeEach(() => {
  vendors.down.clear();
  vendors.refusals.length = 0;
});

const TOOLS: ChatCompletionTool[] = [
  {
    type: "function",
    function: { name: "weather", parameters: { type: "object", properties: { city: { type: "string" } } } },
  },
];
const ASKED: ChatCompletionMessageParam[] = [
  { role: "developer", content: "Be brief." },
  { role: "user", content: "What now? [[pace: 100000]]" },
];

/** The turn's message, as the official client stores it for the next turn. */
async function turn(models: readonly string[], messages: ChatCompletionMessageParam[], stream: boolean, more = {}) {
  const [model = ""] = models;
  const asked = { model, models, messages, tools: TOOLS, reasoning_effort: "low" as const, seed: 7, ...more };
  if (!stream) {
    const answer = await client.chat.completions.create(asked);
    return { model: answer.model, message: answer.choices[0]?.message };
  }
  const answer = await client.chat.completions.stream({ ...asked, stream: true }).finalChatCompletion();
  return { model: answer.model, message: answer.choices[0]?.message };
}

describe.each([
  ["whole", false],
  ["streamed", true],
] as const)("%s", (_, stream) => {
  it.each(VENDORS)("from %s, which is down then, to each of the others", async (from) => {
    const only = { provider: { only: [providerOf(from)] } };
    const { message } = await turn([MODELS[from]], ASKED, stream, only);
    const [called] = message?.tool_calls ?? [];
    if (message === undefined || called === undefined) throw new Error("no tool was called");
    vendors.down.add(providerOf(from));
    const history = [...ASKED, message, { role: "tool" as const, tool_call_id: called.id, content: "sunny" }];
    const others = VENDORS.filter((to) => providerOf(to) !== providerOf(from) && MODELS[to] !== MODELS[from]);
    const served = await Promise.all(
      others.map(async (to) => {
        // Other vendors of the list also sell some of the models.
        const both = { provider: { only: [providerOf(from), providerOf(to)] } };
        const second = await turn([MODELS[from], MODELS[to]], history, stream, both);
        return [to, second.model, /\w/.test(second.message?.content ?? "")];
      }),
    );
    expect(vendors.refusals).toEqual([]);
    expect(served).toEqual(others.map((to) => [to, MODELS[to], true]));
  });
});

it("each of the vendors refuses what another's clients send", () => {
  const call = { id: "call_0123456789abcdef", type: "function", function: { name: "f", arguments: "{}" } };
  const said = {
    role: "assistant",
    content: null,
    tool_calls: [call],
    refusal: null,
    reasoning: "Hm.",
    reasoning_details: [],
  };
  const raw = {
    model: "m",
    messages: [{ role: "developer", content: "x" }, said, { role: "tool", tool_call_id: call.id, content: "x" }],
    reasoning: { effort: "low" },
    presence_penalty: 0.5,
    cache_control: { type: "ephemeral" },
  };
  const address = new URL("http://x/chat/completions");
  const own = Object.entries(STRICT).filter(([vendor]) => !Object.hasOwn(STRICT_CLOUDS, vendor));
  for (const [vendor, check] of own) expect([vendor, check(raw, address)]).not.toEqual([vendor, null]);
});

it.each([
  [
    "bedrock",
    "/model/amazon.nova-pro-v1%3A0/converse",
    /tools\/0: extraneous key \[cachePoint\]/,
    {
      messages: [{ role: "user", content: [{ text: "x" }] }],
      toolConfig: { tools: [{ toolSpec: {} }, { cachePoint: { type: "default" } }] },
    },
  ],
  [
    "bedrock",
    "/model/amazon.nova-pro-v1%3A0/converse",
    /failed to satisfy constraint/,
    {
      messages: [
        { role: "user", content: [{ text: "x" }] },
        { role: "assistant", content: [{ toolUse: { toolUseId: "x".repeat(65), name: "f", input: {} } }] },
      ],
      toolConfig: { tools: [{ toolSpec: {} }] },
    },
  ],
  [
    "bedrock",
    "/model/amazon.nova-pro-v1%3A0/converse",
    /is blank/,
    { messages: [{ role: "user", content: [{ text: "x" }, { text: " " }] }] },
  ],
  [
    "bedrock",
    "/model/openai.gpt-oss-20b-1%3A0/converse",
    /did not allow prompt caching/,
    { messages: [{ role: "user", content: [{ text: "x" }, { cachePoint: { type: "default" } }] }] },
  ],
  [
    "vertex",
    "/models/gemini-3.5-flash:generateContent",
    /Unknown name "id"/,
    { contents: [{ role: "model", parts: [{ functionCall: { id: "c1", name: "f", args: {} } }] }] },
  ],
  [
    "gemini",
    "/models/gemini-3.5-flash:generateContent",
    /Penalty is not enabled/,
    { contents: [], generationConfig: { frequencyPenalty: 0.5 } },
  ],
  [
    "bedrock-anthropic",
    "/model/x/invoke",
    /URL sources are not supported/,
    {
      anthropic_version: "bedrock-2023-05-31",
      messages: [{ role: "user", content: [{ type: "image", source: { type: "url", url: "https://a.example/b" } }] }],
    },
  ],
  [
    "vertex-anthropic",
    "/models/x:rawPredict",
    /cache_control: Extra inputs/,
    { anthropic_version: "vertex-2023-10-16", messages: [], cache_control: { type: "ephemeral" } },
  ],
  [
    "azure-openai-dated",
    "/deployments/old-41/chat/completions?api-version=2024-10-21",
    /'developer' is not one of/,
    { messages: [{ role: "developer", content: "x" }] },
  ],
  [
    "azure-openai-dated",
    "/deployments/old-41/chat/completions?api-version=2020-01-01",
    /Resource not found/,
    { messages: [] },
  ],
  ["cohere", "/chat/completions", /'strict'/, { messages: [], tools: [{ function: { name: "f", strict: true } }] }],
  [
    "perplexity",
    "/agent",
    /is no message/,
    { input: [{ role: "user", content: [{ type: "input_text", text: "x" }] }] },
  ],
])("%s at %s refuses what was sent to it before: %s", (vendor, path, reason, body) => {
  const refusal = STRICT_CLOUDS[vendor]?.(body, new URL(`http://x${path}`));
  expect(JSON.stringify(refusal?.body).replaceAll('\\"', '"')).toMatch(reason);
});

it("what the vendor that answered was not sent is named, beside what nobody is sent", async () => {
  const named = async (model: string) => {
    const { response } = await client.chat.completions
      .create({ model, messages: [{ role: "user", content: "Hi" }], reasoning_effort: "low", ...ODD } as never)
      .withResponse();
    return response.headers.get("x-tollgate-dropped")?.split(/, ?/).sort();
  };
  const ODD = { store: false, top_k: 5, seed: 7, foo: 1, provider: { allow_fallbacks: true } };
  expect(await named("mistralai/mistral-large-2512")).toEqual(["foo", "reasoning_effort", "store", "top_k"]);
  expect(await named("deepseek/deepseek-v4-flash")).toEqual(["foo", "store"]);
  expect(vendors.refusals).toEqual([]);
});

describe("what one vendor has no word for is said in its own way", () => {
  it.each([
    ["mistral", "mistralai/mistral-large-2512"],
    ["deepseek", "deepseek/deepseek-v4-flash"],
    ["openai", "openai/gpt-5.1"],
    ["groq", "openai/gpt-oss-20b"],
    ["openai", "openai/gpt-5.2"],
  ])("%s: %s", async (_, model) => {
    const more = {
      tools: undefined,
      reasoning: { effort: "xhigh" },
      cache_control: { type: "ephemeral" },
      thinking: { type: "enabled" },
      top_k: 5,
      response_format: { type: "json_schema", json_schema: { name: "a", schema: { type: "object" } } },
    };
    const parts = [{ type: "text", text: "Hi", cache_control: { type: "ephemeral" } }];
    const { message } = await turn(
      [model],
      [{ role: "user", content: parts } as ChatCompletionMessageParam],
      false,
      more,
    );
    expect(vendors.refusals).toEqual([]);
    expect(JSON.parse(message?.content ?? "")).toBeTypeOf("object");
  });
});

it("what one vendor refuses is asked of one other, and of no third", async () => {
  const messages = ASKED.slice(1);
  const odd = { logit_bias: { 5: 1 } };
  const { model } = await turn([MODELS.mistral, MODELS.openai], messages, false, { ...odd, tools: undefined });
  expect(model).toBe(MODELS.openai);
  expect(vendors.refusals.map(({ vendor }) => vendor)).toEqual(["mistral"]);
  vendors.refusals.length = 0;
  const alone = client.chat.completions.create({ model: MODELS.mistral, messages, ...odd });
  await expect(alone).rejects.toMatchObject({ status: 422, code: "upstream_rejected" });
  expect(vendors.refusals).toHaveLength(1);
});

describe("thoughts that come among the parts of the content", () => {
  const parts = (text: string) => [
    { type: "thinking", thinking: [{ type: "text", text: "Hm." }] },
    { type: "text", text },
  ];

  it.each([true, false])("are told as reasoning, and the content as a string (streamed: %s)", async (stream) => {
    const usage = { prompt_tokens: 5, completion_tokens: 4 };
    const chunk = (delta: object, finish_reason: string | null, more: object = {}) =>
      `data: ${JSON.stringify({ id: "x", choices: [{ index: 0, delta, finish_reason }], ...more })}\n\n`;
    const whole = {
      choices: [{ index: 0, message: { role: "assistant", content: parts("Yes.") }, finish_reason: "stop" }],
    };
    vendors.answersNext(
      stream
        ? chunk({ role: "assistant", content: "" }, null) +
            chunk({ content: parts("Ye").slice(0, 1) }, null) +
            chunk({ content: "Ye" }, null) +
            chunk({ content: [{ type: "text", text: "s." }] }, null) +
            chunk({ content: "" }, "stop", { usage }) +
            "data: [DONE]\n\n"
        : JSON.stringify({ ...whole, usage }),
    );
    const { message } = await turn([MODELS.mistral], ASKED.slice(1), stream, { tools: undefined });
    expect(message).toMatchObject({ role: "assistant", content: "Yes." });
    if (!stream) expect(message).toMatchObject({ reasoning: "Hm." });
  });
});
