// A ladder whose most expensive candidate exceeds the free balance: those that fit serve, the hold covers the most expensive of them, and
// no account overspends.
import { describe, expect, it } from "vitest";
import { type CallOptions, callChat } from "../../support/chat-call.ts";
import { forFile } from "../../support/for-file.ts";
import { startTestGateway } from "../../support/gateway.ts";
import { postAs } from "../../support/keyed-fetch.ts";

/** 4,096 output tokens cost 0.2 cents at the first and 2 cents at the second. */
const CHEAP = "openai/gpt-5.4-nano";
const DEAR = "anthropic/claude-haiku-4.5";
const CENT = 10_000_000;

const gateway = forFile(await startTestGateway());
const rich = await gateway.account();

async function ask(key: string, body: object, headers: CallOptions["headers"] = {}) {
  const messages = [{ role: "user", content: "Hi [[words: 20]]" }];
  const seen = await callChat({ messages, ...body }, { url: gateway.url, key, headers });
  return { ...seen, record: await gateway.record(seen.requestId) };
}

async function agent(limits: object): Promise<string> {
  const response = await postAs(rich.key, `${gateway.url}/api/v1/agents`, { label: "poor", ...limits });
  return ((await response.json()) as { api_key: string }).api_key;
}

/** The tried models, in order. */
const tried = (record: Record<string, unknown>) =>
  ((record.attempts as string[] | undefined) ?? []).map((attempt) => attempt.split(" ")[1]);

describe("a list whose dearest model does not fit", () => {
  it("is served by those that fit: a ceiling, a balance, a cap or the caller's own bound", async () => {
    const poor = await gateway.account({ creditCents: 1 });
    const capped = await gateway.account({ inferenceCapCents: 1 });
    const limited = await agent({ ceiling_cents: 1, ceiling_period: "day" });
    for (const [what, key, body, headers] of [
      ["ceiling", limited, {}, {}],
      ["balance", poor.key, {}, {}],
      ["cap", capped.key, {}, {}],
      ["max_cost_cents", rich.key, { max_cost_cents: 1 }, {}],
      ["header", rich.key, {}, { "x-tollgate-max-cost-cents": "1" }],
    ] as const) {
      for (const wanted of [{ models: [DEAR, CHEAP] }, { model: "core/cheap" }]) {
        const { status, record } = await ask(key, { ...wanted, ...body }, headers);
        expect([what, wanted, status]).toEqual([what, wanted, 200]);
        expect(record.served).not.toBe(DEAR);
        expect(Number(record.held_nano_usd)).toBeGreaterThan(0);
        expect(Number(record.held_nano_usd)).toBeLessThanOrEqual(CENT);
      }
    }
  });

  it("is served in its own order where all of it fits", async () => {
    // A different conversation: one that had to go elsewhere stays there.
    const messages = [{ role: "user", content: "another" }];
    const { record } = await ask(rich.key, { models: [DEAR, CHEAP], messages });
    expect(record.served).toBe(DEAR);
    expect(Number(record.held_nano_usd)).toBeGreaterThan(2 * CENT);
  });

  it("never falls back on what does not fit", async () => {
    const body = { models: ["sandbox/503", DEAR], max_cost_cents: 1 };
    const { status, record } = await ask(rich.key, body);
    expect(status).toBe(502);
    expect(new Set(tried(record))).toEqual(new Set(["sandbox/503"]));
    const messages = [{ role: "user", content: "yet another" }];
    expect((await ask(rich.key, { models: body.models, messages })).record.served).toBe(DEAR);
  });

  it("is counted first, so that a long text alone leaves nobody out", async () => {
    const long = [{ role: "user", content: "word ".repeat(1_800) }];
    // Estimated by bytes, the prompt would cost two cents at the expensive model; counted as text, half of that.
    const { record } = await ask(rich.key, {
      models: [DEAR, CHEAP],
      messages: long,
      max_tokens: 16,
      max_cost_cents: 1,
    });
    expect(record.served).toBe(DEAR);
  });
});

describe("a list of which nothing fits", () => {
  it("is refused as ever, and what would do for one of it is said", async () => {
    const poor = await gateway.account({ creditCents: 1 });
    const body = { models: [DEAR, CHEAP], max_tokens: 16_384, n: 8 };
    const { status, error, record } = await ask(poor.key, body);
    expect([status, error?.code, Number(record.held_nano_usd)]).toEqual([402, "insufficient_balance", 0]);
    const affordable = Number(error?.metadata?.affordable_output_tokens);
    expect((await ask(poor.key, { ...body, max_tokens: affordable + 1 })).status).toBe(402);
    const within = await ask(poor.key, { ...body, max_tokens: affordable });
    expect([within.status, within.record.served]).toEqual([200, CHEAP]);
    const bounded = await ask(rich.key, { ...body, max_cost_cents: 1 });
    expect([bounded.status, bounded.error?.code]).toEqual([402, "max_cost_exceeded"]);
  });
});

describe("many at once", () => {
  it("spend no more than there is", async () => {
    const poor = await gateway.account({ creditCents: 3 });
    const body = { models: [DEAR, CHEAP] };
    const seen = await Promise.all(Array.from({ length: 60 }, () => ask(poor.key, body)));
    const served = seen.filter(({ status }) => status === 200).map(({ record }) => record.served);
    expect(new Set(served)).toEqual(new Set([DEAR, CHEAP]));
    for (const { status } of seen) expect([200, 402]).toContain(status);
    const account = (await gateway.admin("GET", `/admin/v1/accounts/${poor.accountId}`)).json;
    expect(account).toMatchObject({ held_cents: 0 });
    expect(Number(account.balance_cents)).toBeGreaterThanOrEqual(0);
    expect(await gateway.doctor()).toEqual([]);
  });
});
