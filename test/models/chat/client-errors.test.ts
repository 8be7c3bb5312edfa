// How the official client handles failures: its error classes, what it retries, fallback lists, trace and keep-alives.
import OpenAI, { APIError } from "openai";
import { describe, expect, it } from "vitest";
import { forFile } from "../../support/for-file.ts";
import { startTestGateway, type TestAccount, withinAMinute } from "../../support/gateway.ts";
import { postAs } from "../../support/keyed-fetch.ts";
import { postingOf } from "./own-sums.ts";

type Params = OpenAI.ChatCompletionCreateParamsNonStreaming;

const gateway = forFile(
  await startTestGateway({
    FIRST_TOKEN_SECONDS: "0.5",
    LAST_FIRST_TOKEN_SECONDS: "2.4",
    CHUNK_GAP_SECONDS: "1",
    OPENAI_API_KEY: "sk-test",
    OPENAI_BASE_URL: "http://127.0.0.1:9/v1",
  }),
);
const account = await gateway.account({ creditCents: 10_000 });

const HELLO: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: "hello" }];

/** Fields that the client's types lack. */
function params(fields: Record<string, unknown>): Params {
  return { messages: HELLO, ...fields } as unknown as Params;
}

/** The number of requests the gateway has recorded for an account, or without one. */
function requests(accountId: string | undefined): number {
  return gateway.records().filter(({ account_id }) => account_id === accountId).length;
}

/** The error of a call by a client with default retries, and how often it tried. */
async function failure(body: Record<string, unknown>, from: TestAccount = account) {
  const before = requests(from.accountId);
  const error = await from.client
    .withOptions({ maxRetries: 2 })
    .chat.completions.create(params(body))
    .catch((thrown: unknown) => thrown);
  if (!(error instanceof APIError)) throw new Error(`no error of the client's: ${String(error)}`);
  await gateway.record(error.requestID ?? null);
  return { error, asked: requests(from.accountId) - before };
}

type Body = Record<string, unknown>;
type ErrorType = abstract new (...args: never[]) => APIError;

const REFUSED: readonly [what: string, Body, ErrorType, status: number, code: string, param?: string][] = [
  [
    "a field out of range",
    { model: "sandbox/ok", temperature: 9 },
    OpenAI.BadRequestError,
    400,
    "bad_request",
    "temperature",
  ],
  [
    "a message of a role that does not exist",
    { model: "sandbox/ok", messages: [{ role: "boss", content: "x" }] },
    OpenAI.BadRequestError,
    400,
    "bad_request",
    "messages.0.role",
  ],
  [
    "a field that changes the price",
    { model: "sandbox/ok", service_tier: "priority" },
    OpenAI.BadRequestError,
    400,
    "unsupported_field",
    "service_tier",
  ],
  [
    "a suffix that changes the price",
    { model: "openai/gpt-5.4-nano:thinking" },
    OpenAI.BadRequestError,
    400,
    "unsupported_field",
    "model",
  ],
  ["a model that nobody knows", { model: "nobody/knows-it" }, OpenAI.NotFoundError, 404, "model_not_found", "model"],
  ["a vendor's 400", { model: "sandbox/400" }, OpenAI.BadRequestError, 400, "upstream_rejected"],
  [
    "a prompt that is too long everywhere",
    { models: ["sandbox/400-context", "sandbox-messages/400-context"] },
    OpenAI.BadRequestError,
    400,
    "context_length_exceeded",
  ],
  [
    "a vendor's policy",
    { model: "sandbox-gemini/400-policy" },
    OpenAI.BadRequestError,
    400,
    "content_policy_violation",
  ],
  [
    "our own key refused by the vendor",
    { model: "sandbox/401" },
    OpenAI.InternalServerError,
    503,
    "upstream_not_configured",
  ],
  ["a vendor that is overloaded", { model: "sandbox/503" }, OpenAI.InternalServerError, 502, "upstream_error"],
  ["a vendor that limits us", { model: "sandbox/429-after-30" }, OpenAI.RateLimitError, 429, "upstream_error"],
];

describe("a call that cannot succeed", () => {
  it.each(REFUSED)("is asked once: %s", async (_what, body, type, status, code, param) => {
    const { error, asked } = await failure(body);
    expect(error).toBeInstanceOf(type);
    expect([error.status, error.code]).toEqual([status, code]);
    if (param !== undefined) expect(error.param).toBe(param);
    expect(error.message.length).toBeGreaterThan(10);
    expect(error.requestID).toMatch(/^req_/);
    expect(error.headers?.get("x-should-retry")).toBe("false");
    expect(asked).toBe(1);
    expect(await postingOf(gateway, account, error.requestID ?? null)).toBe(undefined);
  });

  it("with a key that does not exist is an authentication error, asked once", async () => {
    const client = account.client.withOptions({ apiKey: `tg_sk_test_${"x".repeat(43)}`, maxRetries: 2 });
    const before = requests(undefined);
    const error = await client.chat.completions.create(params({ model: "sandbox/ok" })).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(OpenAI.AuthenticationError);
    expect([error.status, error.code]).toEqual([401, "invalid_token"]);
    await gateway.record(error.requestID);
    expect(requests(undefined) - before).toBe(1);
  });

  it("without money is 402, says what would be possible, and is asked once", async () => {
    const poor = await gateway.account({ creditCents: 1 });
    const { error, asked } = await failure({ model: "sandbox/ok", max_tokens: 16_000 }, poor);
    expect([error.status, error.code, asked]).toEqual([402, "insufficient_balance", 1]);
    const { metadata } = error.error as { metadata: Record<string, number> };
    const affordable = metadata.affordable_output_tokens ?? 0;
    expect([metadata.balance_cents, metadata.held_cents]).toEqual([1, 0]);
    expect(affordable).toBeGreaterThan(1_000);
    const within = params({ model: "sandbox/ok", max_tokens: affordable });
    expect((await poor.client.chat.completions.create(within)).choices[0]?.finish_reason).toBe("stop");
  });

  it("above the day's inference cap is a rate limit error that is not retried", async () => {
    const capped = await gateway.account({ inferenceCapCents: 0 });
    const { error, asked } = await failure({ model: "sandbox/ok" }, capped);
    expect(error).toBeInstanceOf(OpenAI.RateLimitError);
    expect([error.code, asked]).toEqual(["inference_cap", 1]);
    expect(Number(error.headers?.get("retry-after"))).toBeGreaterThan(0);
  });

  it("of a frozen account is a permission error", async () => {
    const frozen = await gateway.account();
    await gateway.admin("PATCH", `/admin/v1/accounts/${frozen.accountId}`, { frozen: true });
    const { error, asked } = await failure({ model: "sandbox/ok" }, frozen);
    expect(error).toBeInstanceOf(OpenAI.PermissionDeniedError);
    expect([error.code, asked]).toEqual(["account_frozen", 1]);
  });

  it("of a live account never reaches the sandbox, and says when a vendor is not configured", async () => {
    const live = await gateway.account({ kind: "personal" });
    const sandboxed = await failure({ model: "sandbox/ok" }, live);
    expect([sandboxed.error.status, sandboxed.error.code, sandboxed.asked]).toEqual([404, "model_not_found", 1]);
    const missing = await failure({ model: "anthropic/claude-haiku-4.5" }, live);
    expect([missing.error.status, missing.error.code, missing.asked]).toEqual([503, "upstream_not_configured", 1]);
  });
});

describe("a call that can succeed later", () => {
  it("is told when to come back if the window is full", async () => {
    const error = await withinAMinute(async () => {
      const { chat } = (await gateway.account({ requestsPerMinute: 1 })).client;
      await chat.completions.create(params({ model: "sandbox/ok" }));
      return chat.completions.create(params({ model: "sandbox/ok" })).catch((thrown) => thrown);
    });
    expect(error).toBeInstanceOf(OpenAI.RateLimitError);
    expect([error.code, error.type]).toEqual(["rate_limited", "rate_limit_error"]);
    expect(error.headers.get("x-should-retry")).toBe("true");
    const seconds = Number(error.headers.get("retry-after"));
    expect(seconds >= 1 && seconds <= 60).toBe(true);
    expect(error.headers.get("ratelimit-remaining")).toBe("0");
  });

  it("is retried by the client until a place is free", async () => {
    const narrow = await gateway.account({ inFlight: 1 });
    const stream = await narrow.client.chat.completions.create({
      model: "sandbox/ok-at-50",
      messages: HELLO,
      stream: true,
    });
    const client = narrow.client.withOptions({ maxRetries: 3 });
    const waiting = client.chat.completions.create(params({ model: "sandbox/ok" }));
    for await (const _ of stream) void _;
    expect((await waiting).choices[0]?.finish_reason).toBe("stop");
    const statuses = gateway.records().flatMap((row) => (row.account_id === narrow.accountId ? [row.status] : []));
    expect(statuses.toSorted().slice(0, 3)).toEqual([200, 200, 429]);
  });

  it("is told so where only running calls hold the money", async () => {
    const poor = await gateway.account({ creditCents: 1 });
    const body = { max_tokens: 3_000, messages: HELLO };
    const stream = await poor.client.chat.completions.create({ ...body, model: "sandbox/ok-at-40", stream: true });
    const error = await poor.client.chat.completions
      .create({ ...body, model: "sandbox/ok" })
      .catch((thrown: unknown) => thrown);
    for await (const _ of stream) void _;
    expect(error).toMatchObject({ status: 402, code: "insufficient_balance" });
    const { headers, error: told } = error as APIError;
    expect([headers?.get("x-should-retry"), headers?.get("retry-after")]).toEqual(["true", "5"]);
    expect((told as { metadata: unknown }).metadata).toMatchObject({ temporary: true });
    await poor.client.chat.completions.create({ ...body, model: "sandbox/ok" });
  });
});

describe("a list of models", () => {
  it("is tried in order, and the answer tells what became of each", async () => {
    const { data, response, request_id } = await account.client.chat.completions
      .create(params({ model: "sandbox/503", models: ["sandbox-gemini/html", "sandbox-messages/ok"] }), {
        headers: { "x-tollgate-trace": "1" },
      })
      .withResponse();
    expect(data.model).toBe("sandbox-messages/ok");
    expect(response.headers.get("x-tollgate-model")).toBe("sandbox-messages/ok");
    expect(response.headers.get("x-tollgate-attempts")).toBe("3");
    const { tollgate } = data as unknown as { tollgate: { attempts: Record<string, unknown>[] } & object };
    expect(tollgate.attempts.map(({ model, class: kind, ok }) => [model, kind, ok])).toEqual([
      ["sandbox/503", "provider_overloaded", false],
      ["sandbox-gemini/html", "provider_malformed", false],
      ["sandbox-messages/ok", null, true],
    ]);
    const posting = await postingOf(gateway, account, request_id);
    expect(tollgate).toMatchObject({
      transaction_id: posting?.transaction_id,
      charged_nano_usd: String(posting?.charged_nano_usd),
    });
    expect(posting?.model).toBe("sandbox-messages/ok");
  });

  it("is told in the last chunk of a stream as well, with no usage unless it was asked for", async () => {
    const stream = await account.client.chat.completions.create(
      { ...params({ models: ["sandbox/500", "sandbox/ok"] }), stream: true },
      { headers: { "x-tollgate-trace": "1" } },
    );
    const traced: unknown[] = [];
    for await (const chunk of stream) {
      expect(chunk.usage ?? null).toBe(null);
      if ("tollgate" in chunk) traced.push(chunk.tollgate);
    }
    expect(traced).toHaveLength(1);
    const [{ attempts }] = traced as [{ attempts: { model: string }[] }];
    expect(attempts.map(({ model }) => model)).toEqual(["sandbox/500", "sandbox/500", "sandbox/ok"]);
  });

  it("with a name that nobody knows is refused, whatever the others are", async () => {
    const { error } = await failure({ models: ["sandbox/ok", "nobody/knows-it"] });
    expect([error.status, error.param]).toEqual([404, "models.1"]);
  });
});

describe("the bound on output", () => {
  it("is the smaller of both fields, and lowered to what is sold", async () => {
    const body = { model: "sandbox/ok", messages: [{ role: "user", content: "[[words: 20000]]" }] };
    const small = await account.client.chat.completions.create(
      params({ ...body, max_tokens: 30, max_completion_tokens: 20 }),
    );
    expect([small.usage?.completion_tokens, small.choices[0]?.finish_reason]).toEqual([20, "length"]);
    const { data, response } = await account.client.chat.completions
      .create(params({ ...body, max_completion_tokens: 100_000 }))
      .withResponse();
    expect([data.usage?.completion_tokens, data.choices[0]?.finish_reason]).toEqual([16_384, "length"]);
    expect(response.headers.get("x-tollgate-max-tokens")).toBe("16384");
    const unsaid = await account.client.chat.completions.create(params(body)).withResponse();
    expect(unsaid.data.usage?.completion_tokens).toBe(4_096);
    expect(unsaid.response.headers.get("x-tollgate-max-tokens")).toBe(null);
  });
});

describe.concurrent("keep-alives", () => {
  const KEEPING = { headers: { "x-tollgate-keepalive": "1" } };

  it("come as comments while the first token is awaited, and the client never sees them", async () => {
    const { data, response } = await account.client.chat.completions
      .create({ model: "sandbox/first-after-1.6", messages: HELLO, stream: true }, KEEPING)
      .withResponse();
    expect(response.headers.get("x-accel-buffering")).toBe("no");
    let count = 0;
    for await (const chunk of data) count += chunk.choices[0]?.delta.content ? 1 : 0;
    expect(count).toBe(60);
    const raw = await postAs(
      account.key,
      `${gateway.url}/api/llm/v1/chat/completions`,
      { model: "sandbox/first-after-1.6", messages: HELLO, stream: true },
      { ...KEEPING.headers },
    );
    const text = await raw.text();
    expect(text.startsWith(": keep-alive\n\ndata: ")).toBe(true);
    expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
    expect(text.split("data: ")[0]).toMatch(/^(: keep-alive\n\n){1,2}$/);
  });

  it("leave an error only the stream to be told in", async () => {
    const { data, request_id } = await account.client.chat.completions
      .create({ model: "sandbox/silent", messages: HELLO, stream: true }, KEEPING)
      .withResponse();
    const error = await (async () => {
      for await (const _ of data) void _;
    })().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(APIError);
    expect(error).toMatchObject({ status: undefined, code: "upstream_error" });
    const record = await gateway.record(request_id);
    expect([record.status, record.code, record.outcome]).toEqual([200, "upstream_error", "failed"]);
  });

  it("are not what a broken stream ends with, nor is a normal end", async () => {
    const seen = await postAs(
      account.key,
      `${gateway.url}/api/llm/v1/chat/completions`,
      { model: "sandbox/cut-after-5", messages: HELLO, stream: true },
      { ...KEEPING.headers },
    );
    const events = (await seen.text()).trimEnd().split("\n\n");
    const last = JSON.parse(events.at(-1)?.replace("data: ", "") ?? "");
    expect(last.error).toMatchObject({ code: "upstream_error", type: "upstream_error" });
    expect(last.choices).toEqual([{ index: 0, delta: { content: "" }, finish_reason: "error" }]);
    expect([last.object, last.model]).toEqual(["chat.completion.chunk", "sandbox/cut-after-5"]);
  });

  it("do not change how a refusal before the call is told", async () => {
    const error = await account.client.chat.completions
      .create({ model: "nobody/knows-it", messages: HELLO, stream: true }, KEEPING)
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(OpenAI.NotFoundError);
  });
});

it("a prompt that is too long is told in the words by which other clients know to take a longer model", async () => {
  const error = await account.client.chat.completions
    .create(params({ model: "sandbox/400-context" }))
    .catch((thrown: unknown) => thrown);
  expect(String(error).toLowerCase()).toContain("this model's maximum context length is");
});

it.each([
  "/v1beta/models/core/best:batchGenerateContent",
  "/v1/models/core/best:predict",
  "/api/llm/v1/models/x:tuneModel",
])("%s is told what is served instead, in the wire that has such paths", async (path) => {
  const response = await fetch(gateway.url + path, { method: "POST", body: "{}" });
  const { error } = (await response.json()) as { error: Record<string, unknown> };
  expect([response.status, error.status]).toEqual([404, "NOT_FOUND"]);
  expect(JSON.stringify(error.details)).toContain(":streamGenerateContent");
});

describe("an Idempotency-Key", () => {
  it("gives the same answer again without a charge, and no other answer", async () => {
    const options = { headers: { "idempotency-key": `"k-${crypto.randomUUID()}"` } };
    const first = await account.client.chat.completions.create(params({ model: "sandbox/ok" }), options);
    const second = await account.client.chat.completions
      .create(params({ model: "sandbox/ok" }), options)
      .withResponse();
    expect(second.data).toEqual(first);
    expect(second.response.headers.get("idempotent-replayed")).toBe("true");
    expect(await postingOf(gateway, account, second.request_id)).toBe(undefined);
    const other = account.client.chat.completions.create(params({ model: "sandbox/ok", seed: 1 }), options);
    await expect(other).rejects.toBeInstanceOf(OpenAI.UnprocessableEntityError);
    const fresh = { headers: { "idempotency-key": `"k-${crypto.randomUUID()}"` } };
    const streamed = account.client.chat.completions.create(
      { model: "sandbox/ok", messages: HELLO, stream: true },
      fresh,
    );
    await expect(streamed).rejects.toMatchObject({ status: 400, param: "Idempotency-Key" });
  });
});
