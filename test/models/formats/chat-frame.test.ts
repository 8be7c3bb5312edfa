// The last bytes of a stream name the model that answered, even where keep-alive headers went out before any model was tried.
import { expect, it } from "vitest";
import { GatewayError } from "../../../src/core/errors.ts";
import { nano } from "../../../src/core/money.ts";
import type { Leg } from "../../../src/core/route.ts";
import { ChatFrame, chatAnswers } from "../../../src/models/formats/chat-completions/answers.ts";

const frame = new ChatFrame({
  completionId: "chatcmpl-1",
  createdS: 1,
  stream: true,
  includeUsage: true,
  trace: false,
});

function attempt(model: string, failure: Leg["failure"]): Leg {
  return { provider: "acme", model, status: 200, failure, ms: 1, firstTokenMs: null, upstreamNano: nano(0) };
}

const attempts = [attempt("acme/first", "provider_timeout"), attempt("acme/second", null)];

function chunkOf(bytes: Uint8Array | string): Record<string, unknown> {
  const line = Buffer.from(bytes as Uint8Array)
    .toString("utf8")
    .split("\n\n")
    .find((one) => one.startsWith("data: {"));
  return JSON.parse((line ?? "").slice(6)) as Record<string, unknown>;
}

it("with the usage", () => {
  const usage = { inputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens: 1, reasoningTokens: 0 };
  const cost = { chargeNano: nano(3), upstreamNano: nano(3), usage, estimated: false, priceVersion: "1" };
  const charge = {
    transactionId: "tx_1",
    chargedNano: nano(3),
    chargedCents: 1,
    absorbedNano: nano(0),
    absorbReason: null,
    balanceNano: null,
  };
  const last = frame.last({ kind: "stream", tail: Buffer.alloc(0) }, cost, charge, attempts);
  expect(chunkOf(last)).toMatchObject({ id: "chatcmpl-1", model: "acme/second", usage: { cost: 3e-9 } });
});

it("with the error of a stream that broke", () => {
  const broken = frame.broken(new GatewayError("upstream_error", { detail: { detail: "cut" } }), attempts) ?? "";
  expect(chunkOf(broken)).toMatchObject({ model: "acme/second", error: { code: "upstream_error" } });
});

it("a whole call without arguments has an empty object, because clients parse them", () => {
  const blocks = [{ kind: "tool-call", id: "call_1", name: "f", arguments: "" }] as const;
  const answer = { choices: [{ index: 0, blocks, reason: "tool_calls", native: "tool_calls" }], usage: null } as const;
  const whole = chatAnswers({ id: "chatcmpl-1", createdS: 1, model: "m" }).whole(answer);
  expect(whole.choices).toMatchObject([{ message: { tool_calls: [{ function: { name: "f", arguments: "{}" } }] } }]);
});
