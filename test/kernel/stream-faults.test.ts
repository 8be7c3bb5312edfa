// Every fault of the sandbox, streamed: what the client sees, what the ledger shows, what the record says.

import { randomUUID } from "node:crypto";
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { forFile } from "../support/for-file.ts";
import { startTestGateway } from "../support/gateway.ts";
import { getAs } from "../support/keyed-fetch.ts";

/** 60 words of one token each: the sandbox's default answer. */
const WORDS = 60;

interface Seen {
  readonly text: string;
  readonly finish: string | null;
  /** `status code` for an error before content, `in-stream code` for one after it. */
  readonly error: string | null;
  readonly usage: OpenAI.CompletionUsage | null;
  readonly ms: number;
  readonly requestId: string | null;
  readonly model: string | null;
}

const gateway = forFile(
  await startTestGateway({
    FIRST_TOKEN_SECONDS: "1",
    // Far longer than a busy machine needs, and shorter than the silent faults take.
    LAST_FIRST_TOKEN_SECONDS: "4",
    // The vendor runs in this process too, and writes bodies byte by byte: on a busy machine it may be silent for a second.
    CHUNK_GAP_SECONDS: "4",
  }),
);
const account = await gateway.account();

async function stream(models: readonly string[], text: string): Promise<Seen> {
  const startedMs = performance.now();
  const seen = { text: "", finish: null as string | null, error: null as string | null };
  let usage: OpenAI.CompletionUsage | null = null;
  let model: string | null = null;
  let requestId: string | null = null;
  try {
    const body = {
      models,
      messages: [{ role: "user", content: text }],
      stream: true,
      stream_options: { include_usage: true },
    };
    const answer = await account.client.chat.completions
      .create(body as unknown as OpenAI.ChatCompletionCreateParamsStreaming)
      .withResponse();
    requestId = answer.request_id;
    for await (const chunk of answer.data) {
      seen.text += chunk.choices[0]?.delta.content ?? "";
      seen.finish = chunk.choices[0]?.finish_reason ?? seen.finish;
      usage = chunk.usage ?? usage;
      model = chunk.model;
    }
  } catch (error) {
    if (!(error instanceof OpenAI.APIError)) throw error;
    requestId ??= error.requestID ?? null;
    seen.error = `${error.status ?? "in-stream"} ${error.code}`;
  }
  return { ...seen, usage, model, requestId, ms: performance.now() - startedMs };
}

async function chargeOf(requestId: string | null): Promise<Record<string, unknown> | undefined> {
  const response = await getAs(account.key, `${gateway.url}/api/v1/transactions?limit=1000`);
  const { transactions } = (await response.json()) as { transactions: Record<string, unknown>[] };
  return transactions.find(({ request_id }) => request_id === requestId);
}

interface Expected {
  readonly fault: string;
  readonly words?: number;
  readonly finish?: string;
  readonly error?: string;
  readonly outcome: string;
  /** The kinds of the attempts, `ok` for a good one. */
  readonly attempts: readonly string[];
  readonly charged: boolean;
  readonly skipped?: number;
  readonly estimated?: boolean;
}

const whole = { words: WORDS, finish: "stop", outcome: "success", charged: true } as const;
const refused = { words: 0, outcome: "failed", charged: false } as const;
const broken = { outcome: "broken", charged: false } as const;

const ALONE: readonly Expected[] = [
  { fault: "ok", ...whole, attempts: ["ok"] },
  { fault: "500-once", ...whole, attempts: ["provider_server_error", "ok"] },
  { fault: "reset-once", ...whole, attempts: ["provider_connection_failed", "ok"] },
  { fault: "429-once-after-0.2", ...whole, attempts: ["provider_rate_limited", "ok"] },
  { fault: "503", ...refused, error: "502 upstream_error", attempts: ["provider_overloaded"] },
  { fault: "529", ...refused, error: "502 upstream_error", attempts: ["provider_overloaded"] },
  { fault: "401", ...refused, error: "503 upstream_not_configured", attempts: ["provider_auth_failed"] },
  { fault: "402", ...refused, error: "503 upstream_not_configured", attempts: ["provider_billing"] },
  { fault: "404", ...refused, error: "503 upstream_not_configured", attempts: ["provider_model_missing"] },
  { fault: "400", ...refused, error: "400 upstream_rejected", attempts: ["caller_invalid"] },
  { fault: "400-context", ...refused, error: "400 context_length_exceeded", attempts: ["caller_context_length"] },
  { fault: "400-policy", ...refused, error: "400 content_policy_violation", attempts: ["policy_content"] },
  { fault: "silent", ...refused, error: "504 upstream_error", attempts: ["provider_timeout"] },
  { fault: "first-after-5", ...refused, error: "504 upstream_error", attempts: ["provider_timeout"] },
  { fault: "slow-headers-5", ...refused, error: "504 upstream_error", attempts: ["provider_timeout"] },
  { fault: "html", ...refused, error: "502 upstream_error", attempts: ["provider_malformed"] },
  { fault: "error-in-200", ...refused, error: "502 upstream_error", attempts: Array(3).fill("provider_server_error") },
  { fault: "500", ...refused, error: "502 upstream_error", attempts: Array(3).fill("provider_server_error") },
  { fault: "cut-after-40", ...broken, words: 40, error: "in-stream upstream_error", attempts: ["provider_cut"] },
  { fault: "cut-clean-after-40", ...broken, words: 40, error: "in-stream upstream_error", attempts: ["provider_cut"] },
  { fault: "stall-after-20", ...broken, words: 20, error: "in-stream upstream_error", attempts: ["provider_timeout"] },
  {
    fault: "error-after-10",
    ...broken,
    words: 10,
    error: "in-stream upstream_error",
    attempts: ["provider_server_error"],
  },
  { fault: "malformed", ...whole, words: WORDS - 1, attempts: ["ok"], skipped: 1 },
  { fault: "no-done", ...whole, attempts: ["ok"] },
  { fault: "no-usage", ...whole, attempts: ["ok"], estimated: true },
  { fault: "usage-every-chunk", ...whole, attempts: ["ok"] },
  { fault: "usage-on-finish", ...whole, attempts: ["ok"] },
  { fault: "crlf", ...whole, attempts: ["ok"] },
  { fault: "multiline", ...whole, attempts: ["ok"] },
  { fault: "bytes-1", ...whole, attempts: ["ok"] },
  { fault: "bytes-7", ...whole, attempts: ["ok"] },
  { fault: "comments", ...whole, attempts: ["ok"] },
  { fault: "empty", ...whole, words: 0, attempts: ["provider_empty"] },
  { fault: "filtered", ...whole, words: WORDS / 2, finish: "content_filter", attempts: ["ok"] },
];

function words(text: string): number {
  return text.split(" ").filter(Boolean).length;
}

describe.each(["sandbox", "sandbox-messages", "sandbox-gemini", "sandbox-responses", "sandbox-converse"])(
  "a stream from %s",
  (vendor) => {
    it.concurrent.each(ALONE)("with $fault ends as $outcome", async (expected) => {
      const seen = await stream([`${vendor}/${expected.fault}`], `hello [[id: ${randomUUID()}]]`);
      expect(seen.error).toBe(expected.error ?? null);
      if (expected.words !== undefined) expect(words(seen.text)).toBe(expected.words);
      if (expected.finish !== undefined) expect(seen.finish).toBe(expected.finish);
      const record = await gateway.record(seen.requestId);
      expect(record.outcome).toBe(expected.outcome);
      expect((record.attempts as string[]).map((attempt) => attempt.split(" ")[3])).toEqual(expected.attempts);
      expect(record.skipped_events ?? 0).toBe(expected.skipped ?? 0);
      expect(record.estimated ?? false).toBe(expected.estimated ?? false);
      const charge = await chargeOf(seen.requestId);
      expect(charge !== undefined && Number(charge.charged_nano_usd) > 0).toBe(expected.charged);
      if (expected.charged) expect(seen.usage).toMatchObject({ cost: Number(charge?.charged_nano_usd) / 1e9 });
    });
  },
);

describe("a stream with a second route", () => {
  const TAKEN_OVER = [
    "429",
    "500",
    "503",
    "401",
    "402",
    "404",
    "reset",
    "silent",
    "first-after-5",
    "html",
    "error-in-200",
  ];

  it.concurrent.each(TAKEN_OVER)(
    "goes on there after %s, unseen, and is charged as the model that answered",
    async (fault) => {
      const seen = await stream([`sandbox/${fault}`, "sandbox-messages/ok"], `hello [[id: ${randomUUID()}]]`);
      expect([seen.error, words(seen.text), seen.finish, seen.model]).toEqual([
        null,
        WORDS,
        "stop",
        "sandbox-messages/ok",
      ]);
      const charge = await chargeOf(seen.requestId);
      expect(charge?.model).toBe("sandbox-messages/ok");
      // The slowest of them would have answered after five seconds, and been the model that is charged.
      expect(seen.ms).toBeLessThan(15_000);
    },
  );

  it("tries a longer context after a prompt that was too long, and keeps a policy's refusal", async () => {
    const long = await stream(["sandbox/400-context", "sandbox-gemini/ok"], `hello [[id: ${randomUUID()}]]`);
    expect([long.error, words(long.text)]).toEqual([null, WORDS]);
    const policy = await stream(["sandbox/400-policy", "sandbox-gemini/ok"], `hello [[id: ${randomUUID()}]]`);
    expect(policy.error).toBe("400 content_policy_violation");
  });

  it("does not take over once content went out", async () => {
    const seen = await stream(["sandbox/cut-after-40", "sandbox/400-prefill"], `hello [[id: ${randomUUID()}]]`);
    expect([seen.error, words(seen.text)]).toEqual(["in-stream upstream_error", 40]);
  });

  it("never tries more often than the plan allows", async () => {
    const models = [...[1, 2, 3, 4, 5, 6, 7].map((n) => `sandbox/flap-${1_000 + n}`), "sandbox/ok"];
    const seen = await stream(models, `hello [[id: ${randomUUID()}]]`);
    expect(seen.error).toBe("502 upstream_error");
    const record = await gateway.record(seen.requestId);
    expect((record.attempts as string[]).length).toBe(6);
  });
});

describe.concurrent("large and odd streams", () => {
  it("carries one event of two megabytes", async () => {
    const seen = await stream(["sandbox/huge-event"], `hello [[id: ${randomUUID()}]]`);
    expect(seen.error).toBe(null);
    expect(seen.text.length).toBeGreaterThanOrEqual(2 * 1024 * 1024);
  });

  it("does not wait for a goodbye that never comes", async () => {
    const seen = await stream(["sandbox/no-done-open-20"], `hello [[id: ${randomUUID()}]]`);
    expect([seen.error, words(seen.text), seen.finish]).toEqual([null, WORDS, "stop"]);
    expect(seen.ms).toBeLessThan(15_000);
  });
});

it("after all of it the books agree", async () => {
  expect(await gateway.doctor()).toEqual([]);
});
