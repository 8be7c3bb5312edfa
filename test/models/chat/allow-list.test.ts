// Which fields of a body reach a vendor, which reach a custom server, and what the caller learns about the rest.
import { beforeEach, describe, expect, it } from "vitest";
import { forFile } from "../../support/for-file.ts";
import { startTestGateway } from "../../support/gateway.ts";
import { postAs } from "../../support/keyed-fetch.ts";
import { startRecordingVendor } from "./recording-vendor.ts";

const vendor = forFile(await startRecordingVendor());
const gateway = forFile(
  await startTestGateway({
    OPENAI_API_KEY: "sk-test",
    OPENAI_BASE_URL: `${vendor.url}/openai/v1`,
    ANTHROPIC_API_KEY: "sk-test",
    ANTHROPIC_BASE_URL: `${vendor.url}/anthropic/v1`,
    VLLM_BASE_URL: `${vendor.url}/vllm/v1`,
  }),
);
const account = await gateway.account({ kind: "personal", creditCents: 1_000 });

beforeEach(() => vendor.forget());

const USER = { role: "user", content: "hello" };

async function post(path: string, body: unknown, headers: Record<string, string> = {}) {
  const response = await postAs(account.key, `${gateway.url}/api/llm/v1${path}`, body, headers);
  const json = (await response.json()) as {
    error?: { code: string; param: string | null; metadata?: { needed_cents?: number } };
  };
  const dropped = response.headers.get("x-tollgate-dropped");
  const neededCents = json.error?.metadata?.needed_cents;
  return { status: response.status, code: json.error?.code, param: json.error?.param, dropped, neededCents };
}

function ask(fields: Record<string, unknown>, headers: Record<string, string> = {}) {
  return post("/chat/completions", { model: "openai/gpt-5.2", messages: [USER], ...fields }, headers);
}

/** The received body without the gateway's own fields. */
function arrived(): Record<string, unknown> {
  const { model: _model, max_completion_tokens: _most, max_tokens: _mostToo, ...body } = vendor.arrivals[0]?.body ?? {};
  return body;
}

const NEUTRAL = {
  temperature: 0.5,
  top_p: 0.9,
  frequency_penalty: 0.1,
  presence_penalty: 0.1,
  seed: 7,
  stop: ["END"],
  logit_bias: { 50256: -100 },
  reasoning_effort: "low",
  verbosity: "low",
  user: "u",
  metadata: { purpose: "test" },
  safety_identifier: "s",
  prompt_cache_key: "k",
  parallel_tool_calls: false,
  response_format: { type: "json_schema", json_schema: { name: "a", strict: true, schema: { type: "object" } } },
  tools: [
    {
      type: "function",
      function: {
        name: "f",
        description: "d",
        parameters: { type: "object", properties: {}, any: { thing: [1] } },
        strict: true,
      },
    },
  ],
  tool_choice: { type: "function", function: { name: "f" } },
};

const CONVERSATION = [
  { role: "developer", content: "be brief", name: "ops" },
  {
    role: "user",
    content: [
      { type: "text", text: "see", cache_control: { type: "ephemeral" } },
      { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=", detail: "low" } },
    ],
  },
  {
    role: "assistant",
    content: "well",
    refusal: null,
    reasoning_content: "hm",
    tool_calls: [{ id: "c1", type: "function", function: { name: "f", arguments: "{}" } }],
  },
  { role: "tool", tool_call_id: "c1", content: "rain" },
  USER,
];

/** The same as this vendor accepts it: no foreign thoughts, and no cache marks. */
const TAKEN = CONVERSATION.map((message) => {
  if (message.role === "user" && Array.isArray(message.content)) {
    return { ...message, content: [{ type: "text", text: "see" }, message.content[1]] };
  }
  const { reasoning_content: _thought, ...taken } = message as { reasoning_content?: string };
  return taken;
});

describe("a vendor is sent", () => {
  it("every field that changes no price, as it came", async () => {
    const { status, dropped } = await ask({ ...NEUTRAL, messages: CONVERSATION });
    expect([status, dropped]).toEqual([200, "metadata,temperature,top_p,presence_penalty,frequency_penalty"]);
    const { metadata: _withStoredAnswersOnly, ...others } = NEUTRAL;
    // A thinking model accepts no sampling parameters.
    const { temperature: _, top_p: __, presence_penalty: ___, frequency_penalty: ____, ...taken } = others;
    expect(arrived()).toEqual({ ...taken, messages: TAKEN });
  });

  it("nothing else, and the caller is told", async () => {
    const { status, dropped } = await ask({
      store: true,
      best_of: 4,
      deferred: true,
      foo: null,
      messages: [
        { ...USER, pinned: true, audio: { id: "a" } },
        { ...USER, pinned: true },
      ],
      tools: [{ type: "function", function: { name: "f", run: "x" }, defer_loading: true }],
      reasoning: { effort: "low", budget: 1 },
    });
    expect(status).toBe(200);
    expect(dropped?.split(",").sort()).toEqual(
      [
        "best_of",
        "deferred",
        "messages.audio",
        "messages.pinned",
        "reasoning.budget",
        "store",
        "tools.defer_loading",
        "tools.function.run",
      ].sort(),
    );
    expect(arrived()).toEqual({
      messages: [USER, USER],
      tools: [{ type: "function", function: { name: "f" } }],
      reasoning_effort: "low",
    });
  });

  it("names that fit a header, and not too many", async () => {
    const odd = { "a\r\nx-evil: 1": 1, ключ: 1, "": 1, [`long${"g".repeat(500)}`]: 1 };
    const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`field_${at}`, at]));
    const { status, dropped } = await ask({ ...odd, ...many });
    expect(status).toBe(200);
    const names = dropped?.split(",") ?? [];
    expect(names).toHaveLength(21);
    expect(names.pop()).toMatch(/^\+\d+ more$/);
    expect(names.slice(0, 2)).toEqual(["a??x-evil??1", "????"]);
    expect(Math.max(...names.map((name) => name.length))).toBe(200);
  });

  it("nothing of an embeddings request that it does not know", async () => {
    const body = { model: "openai/text-embedding-3-small", input: ["a", "b"], dimensions: 8, truncate: "END" };
    const { status, dropped } = await post("/embeddings", body);
    expect([status, dropped]).toEqual([200, "truncate"]);
    expect(vendor.arrivals[0]?.body).toEqual({ model: "text-embedding-3-small", input: ["a", "b"], dimensions: 8 });
  });
});

describe("a server of the operator's own", () => {
  it("is sent everything", async () => {
    const fields = { chat_template_kwargs: { enable_thinking: false }, messages: [{ ...USER, pinned: true }] };
    const { status, dropped } = await ask({ ...fields, model: "vllm/any", max_cost_cents: 100 });
    expect([status, dropped]).toEqual([200, null]);
    expect(arrived()).toEqual(fields);
    vendor.forget();
    const embeddings = await post("/embeddings", { model: "vllm/any", input: "a", truncate: "END", max_cost_cents: 1 });
    expect([embeddings.status, embeddings.dropped]).toEqual([200, null]);
    expect(vendor.arrivals[0]?.body).toEqual({ model: "any", input: "a", truncate: "END" });
  });

  it("beside a vendor: the vendor is not, and the header says so", async () => {
    vendor.refuse("sk-test", 503);
    const { status, dropped } = await ask({ models: ["openai/gpt-5.2", "vllm/any"], guided_choice: ["a"] });
    expect([status, dropped]).toEqual([200, "guided_choice"]);
    expect(vendor.arrivals.map(({ body }) => body.guided_choice)).toEqual([undefined, ["a"]]);
  });
});

describe("max_cost_cents", () => {
  const DEAR = { model: "anthropic/claude-opus-5", max_tokens: 16_000 };

  it.each<[what: string, fields: Record<string, unknown>, headers: Record<string, string>]>([
    ["in the body", { max_cost_cents: 1 }, {}],
    ["in a header", {}, { "x-tollgate-max-cost-cents": "1" }],
    ["in both, the smaller", { max_cost_cents: 100 }, { "x-tollgate-max-cost-cents": "1" }],
  ])("%s refuses what can cost more, before anything is asked", async (_, fields, headers) => {
    const seen = await ask({ ...DEAR, ...fields }, headers);
    expect([seen.status, seen.code, seen.param]).toEqual([402, "max_cost_exceeded", "max_cost_cents"]);
    expect(vendor.arrivals).toEqual([]);
  });

  it("lets pass what fits, and is not sent on", async () => {
    const { status, dropped } = await ask({ max_cost_cents: 50 }, { "x-tollgate-max-cost-cents": "60" });
    expect([status, dropped]).toEqual([200, null]);
    expect(arrived()).toEqual({ messages: [USER] });
    expect(Object.keys(vendor.arrivals[0]?.headers ?? {})).not.toContain("x-tollgate-max-cost-cents");
  });

  it("that is too low says how many would do", async () => {
    const { neededCents = 0 } = await ask({ ...DEAR, max_cost_cents: 1 });
    expect(neededCents).toBeGreaterThan(1);
    expect((await ask({ ...DEAR, max_cost_cents: neededCents - 1 })).status).toBe(402);
    expect((await ask({ ...DEAR, max_cost_cents: neededCents })).status).toBe(200);
  });

  it.each([-1, 1.5, "1", 900_000_001, [1]])("of %j is refused", async (max_cost_cents) => {
    const seen = await ask({ max_cost_cents });
    expect([seen.status, seen.param]).toEqual([400, "max_cost_cents"]);
  });

  it.each(["-1", "1.5", "one", "1e3", "9000000000"])("of %j in the header is refused", async (cents) => {
    const seen = await ask({}, { "x-tollgate-max-cost-cents": cents });
    expect([seen.status, seen.param]).toEqual([400, "x-tollgate-max-cost-cents"]);
  });

  it("bounds embeddings too", async () => {
    const body = { model: "openai/text-embedding-3-large", input: "a".repeat(200_000) };
    const seen = await post("/embeddings", { ...body, max_cost_cents: 1 });
    expect([seen.status, seen.code]).toEqual([402, "max_cost_exceeded"]);
    expect((await post("/embeddings", body, { "x-tollgate-max-cost-cents": "1" })).status).toBe(402);
    expect((await post("/embeddings", { ...body, max_cost_cents: 5 })).status).toBe(200);
  });
});
