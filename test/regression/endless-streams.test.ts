// One stream of a hostile vendor took the gateway down: it buffered events without bound, before content and after it.
import { pipeline, Readable } from "node:stream";
import { describe, expect, test } from "vitest";
import { bearer } from "../../src/catalog/adapter.ts";
import type { Adapter, Offer } from "../../src/catalog/catalog.ts";
import { systemClock } from "../../src/core/clock.ts";
import type { AttemptFailure } from "../../src/core/route.ts";
import { chatAnswers } from "../../src/models/formats/chat-completions/answers.ts";
import { chatRequest } from "../../src/models/formats/chat-completions/request.ts";
import { DIALECTS } from "../../src/models/formats/vendor-dialects.ts";
import { createUpstream } from "../../src/upstream/upstream.ts";
import { forFile } from "../support/for-file.ts";
import { startVendor } from "../support/vendor-server.ts";

/** Far more than is ever buffered, and little enough to send in a moment. */
const SENT_BYTES_MAX = 64 * 1024 * 1024;
const FIRST_MS_MAX = 20_000;

const vendor = forFile(await startVendor());
const upstream = forFile(createUpstream(systemClock, { dialects: DIALECTS }));

function offerOf(dialect: Offer["chat"]["dialect"]): Offer {
  const auth = bearer;
  const adapter = {
    id: "vendor",
    spec: { name: "Vendor", docs: "", origin: "", auth },
    origin: vendor.url,
    origins: {},
    keys: ["key"],
    configured: true,
  } as unknown as Adapter;
  return {
    adapter,
    upstreamModel: "m",
    spec: { contextTokens: 1, prices: [] },
    weight: 1,
    cost: {} as never,
    healthKey: "vendor:m",
    chat: { dialect, models: {} },
    wire: {},
  };
}

interface Seen {
  readonly end: "done" | AttemptFailure["kind"];
  readonly message: string;
  readonly contentBytes: number;
  readonly ms: number;
}

/** What one attempt passes to its sink. */
function attempt(dialect: Offer["chat"]["dialect"], firstMs = FIRST_MS_MAX): Promise<Seen> {
  const route = upstream.chatCandidate(offerOf(dialect), {
    asked: chatRequest({ messages: [{ role: "user", content: "hi" }] }),
    answers: chatAnswers({ id: "c", createdS: 0, model: "vendor/m" }),
    requestId: "req_1",
    completionId: "c",
    createdS: 0,
    stream: true,
    servedSlug: "vendor/m",
    contextTokens: 1,
    outputTokensMax: 1,
    clocks: { firstTokenMsMax: firstMs, lastFirstTokenMsMax: firstMs, gapMsMax: 60_000 },
  });
  if (typeof route === "string") throw new Error(route);
  const startedMs = performance.now();
  let contentBytes = 0;
  return new Promise((resolve) => {
    const end = (kind: Seen["end"], message = "") =>
      resolve({ end: kind, message, contentBytes, ms: performance.now() - startedMs });
    const sink = {
      content: (bytes: Uint8Array) => {
        contentBytes += bytes.length;
      },
      done: () => end("done"),
      failed: ({ kind, message }: AttemptFailure) => end(kind, message),
    };
    route.open(sink, firstMs);
  });
}

/** Sends `first` and then events, as fast as the reader takes them or one in `everyMs`. Counts the bytes sent before the reader left. */
function endless(first: string, event: (at: number) => string, everyMs = 0) {
  const sent = { bytes: 0 };
  async function* pieces() {
    yield first;
    for (let at = 0; sent.bytes < SENT_BYTES_MAX; ) {
      let piece = "";
      do piece += event(at++);
      while (everyMs === 0 && piece.length < 64 * 1024);
      sent.bytes += piece.length;
      yield piece;
      await new Promise((resolve) => setTimeout(resolve, everyMs));
    }
  }
  vendor.answers((response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    pipeline(Readable.from(pieces()), response, () => {});
  });
  return sent;
}

const data = (json: unknown) => `data: ${JSON.stringify(json)}\n\n`;
const named = (type: string, json: object) => `event: ${type}\n${data({ type, ...json })}`;
const chunk = (delta: object, finish_reason: string | null = null, index = 0) =>
  data({ id: "x", object: "chat.completion.chunk", choices: [{ index, delta, finish_reason }] });

const HELLO = chunk({ content: "Hello" });
const THINKING = named("content_block_start", { index: 0, content_block: { type: "thinking", thinking: "" } });

describe("what is held back is bounded, and more of it is a broken answer:", () => {
  test.each<[string, Offer["chat"]["dialect"], string, (at: number) => string]>([
    ["roles before content", "chat-completions", "", () => chunk({ role: "assistant", content: "" })],
    ["finishes after content", "chat-completions", HELLO, () => chunk({}, "stop")],
    ["finishes without content", "chat-completions", "", () => chunk({}, "length")],
    ["ever new choices", "chat-completions", HELLO, (at) => chunk({ content: "x" }, null, at)],
    [
      "ever new candidates",
      "generate-content",
      "",
      (at) => data({ candidates: [{ index: at, content: { parts: [{ text: "x" }] } }] }),
    ],
    [
      "a signature without end",
      "messages",
      THINKING,
      () => named("content_block_delta", { index: 0, delta: { type: "signature_delta", signature: "s".repeat(1000) } }),
    ],
    [
      "a thought without end",
      "messages",
      THINKING,
      () => named("content_block_delta", { index: 0, delta: { type: "thinking_delta", thinking: "t".repeat(1000) } }),
    ],
    [
      "blocks that are never closed",
      "messages",
      "",
      (at) => named("content_block_start", { index: at, content_block: { type: "text", text: "" } }),
    ],
    [
      "sealed thoughts before content",
      "messages",
      "",
      (at) =>
        named("content_block_start", {
          index: at,
          content_block: { type: "redacted_thinking", data: "d".repeat(1000) },
        }),
    ],
  ])("%s", async (_, dialect, first, event) => {
    const sent = endless(first, event);
    const { end, ms } = await attempt(dialect);
    expect(end).toBe("provider_malformed");
    expect(sent.bytes).toBeLessThan(SENT_BYTES_MAX / 2);
    expect(ms).toBeLessThan(FIRST_MS_MAX);
  });
});

describe("what says nothing does not keep a stream going", () => {
  const nothings = [
    ": ping\n\n",
    "data: {not json\n\n",
    data({ choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 } }),
  ];
  const nothing = (at: number) => nothings[at % nothings.length] ?? "";

  test("before content, beyond the first token's clock", async () => {
    endless("", nothing, 20);
    const { end, message } = await attempt("chat-completions", 500);
    expect([end, message]).toEqual(["provider_timeout", "no content came in time"]);
  });

  test("after the finish, beyond the goodbye's clock", async () => {
    endless(HELLO + chunk({}, "stop"), nothing, 20);
    const { end, ms } = await attempt("chat-completions");
    expect(end).toBe("done");
    expect(ms).toBeLessThan(30_000);
  });
});

test("a stream of nothing but usage after content grows no memory", async () => {
  const sent = endless(HELLO, (at) => data({ choices: [], usage: { prompt_tokens: 1, completion_tokens: at + 1 } }));
  const before = process.memoryUsage().arrayBuffers;
  let highest = before;
  const watch = setInterval(() => {
    highest = Math.max(highest, process.memoryUsage().arrayBuffers);
  }, 10);
  const { end, contentBytes } = await attempt("chat-completions");
  clearInterval(watch);
  expect(end).toBe("provider_cut");
  expect(contentBytes).toBeLessThan(1_000);
  expect(sent.bytes).toBeGreaterThanOrEqual(SENT_BYTES_MAX);
  expect(highest - before).toBeLessThan(SENT_BYTES_MAX / 2);
});
