// One attempt at the limits of what can be sent: failures reach the sink as values, never as exceptions.

import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import type { Dispatcher } from "undici";
import { expect, it } from "vitest";
import { bearer } from "../../src/catalog/adapter.ts";
import type { Adapter, Offer } from "../../src/catalog/catalog.ts";
import { systemClock } from "../../src/core/clock.ts";
import type { Attempt, AttemptFailure } from "../../src/core/route.ts";
import { chatAnswers } from "../../src/models/formats/chat-completions/answers.ts";
import { chatRequest } from "../../src/models/formats/chat-completions/request.ts";
import { DIALECTS } from "../../src/models/formats/vendor-dialects.ts";
import { openChatAttempt } from "../../src/upstream/chat-attempt.ts";
import type { Lane } from "../../src/upstream/lane.ts";
import type { ModelCandidate } from "../../src/upstream/model-candidate.ts";
import { createUpstream, type Upstream } from "../../src/upstream/upstream.ts";
import { malformed } from "../../src/upstream/vendor-failure.ts";
import { eventually } from "../support/gateway.ts";
import { startVendor } from "../support/vendor-server.ts";

function offerOf(adapter: Partial<Adapter>): Offer {
  const price = {
    input: 1,
    output: 1,
    cacheRead: 1,
    cacheWrite: 1,
    thousandth: 0,
    steps: [],
    since: "2026-01-01",
    version: "v",
  } as never;
  return {
    adapter: {
      id: "vendor",
      spec: { name: "Vendor", docs: "", origin: "", auth: bearer },
      origin: "http://127.0.0.1:1/v1",
      origins: {},
      keys: ["key"],
      configured: true,
      ...adapter,
    } as Adapter,
    upstreamModel: "m",
    spec: { contextTokens: 1, prices: [] },
    weight: 1,
    cost: price,
    healthKey: "vendor:m",
    chat: { dialect: "chat-completions", models: {} },
    wire: {},
  };
}

function chatCandidate(upstream: Upstream, adapter: Partial<Adapter>): ModelCandidate {
  const route = upstream.chatCandidate(offerOf(adapter), {
    asked: chatRequest({ messages: [{ role: "user", content: "hi" }] }),
    answers: chatAnswers({ id: "c", createdS: 0, model: "vendor/m" }),
    requestId: "req_1",
    completionId: "c",
    createdS: 0,
    stream: true,
    servedSlug: "vendor/m",
    contextTokens: 1,
    outputTokensMax: 1,
    clocks: { firstTokenMsMax: 1_000, lastFirstTokenMsMax: 1_000, gapMsMax: 1_000 },
  });
  if (typeof route === "string") throw new Error(route);
  return route;
}

async function failureOf(adapter: Partial<Adapter>): Promise<AttemptFailure> {
  const upstream = createUpstream(systemClock, { dialects: DIALECTS });
  const route = chatCandidate(upstream, adapter);
  try {
    return await new Promise((resolve, reject) => {
      const sink = { content: reject, done: reject, failed: resolve };
      route.open(sink, 1_000);
    });
  } finally {
    await upstream.close();
  }
}

/** A port that was free a moment ago. */
async function unusedPort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

it("a port where nobody listens is a failed connection", async () => {
  const failure = await failureOf({ origin: `http://127.0.0.1:${await unusedPort()}/v1` });
  expect(failure.kind).toBe("provider_connection_failed");
});

it("a key that cannot be a header is a failure, not an exception", async () => {
  expect((await failureOf({ keys: ["bad\nkey"] })).kind).toMatch(/^(gateway_internal|provider_connection_failed)$/);
});

it("a request is accepted once it has been written whole, until it is refused or for ever", async () => {
  const vendor = await startVendor();
  const upstream = createUpstream(systemClock, { dialects: DIALECTS });
  const route = chatCandidate(upstream, { origin: vendor.url });
  const refused = Promise.withResolvers<AttemptFailure>();
  const sink = { content() {}, done() {}, failed: refused.resolve };
  try {
    let refuse = () => {};
    vendor.answers((response) => {
      refuse = () => void response.writeHead(429).end("{}");
    });
    const attempt = route.open(sink, 5_000) as Attempt;
    expect(attempt.accepted()).toBe(false);
    await eventually(() => (vendor.asked.length === 1 ? true : undefined), "the vendor to be asked");
    expect(attempt.accepted()).toBe(true);
    refuse();
    await refused.promise;
    expect(attempt.accepted()).toBe(false);

    const stopped = route.open(sink, 5_000) as Attempt;
    await eventually(() => (vendor.asked.length === 2 ? true : undefined), "the vendor to be asked again");
    stopped.abort();
    expect(stopped.accepted()).toBe(true);
  } finally {
    await upstream.close();
    await vendor.close();
  }
});

it.each([
  ["at once has taken nothing", 0, false],
  ["after a while may have worked for it", 6_000, true],
])("a vendor that closes the connection without a word %s", async (_, afterMs, taken) => {
  const vendor = await startVendor();
  let passedMs = 0;
  const upstream = createUpstream(
    { ...systemClock, elapsedMs: () => systemClock.elapsedMs() + passedMs },
    { dialects: DIALECTS },
  );
  const failed = Promise.withResolvers<AttemptFailure>();
  try {
    vendor.answers((response) => {
      passedMs = afterMs;
      response.socket?.destroy();
    });
    const route = chatCandidate(upstream, { origin: vendor.url });
    const attempt = route.open({ content() {}, done() {}, failed: failed.resolve }, 60_000) as Attempt;
    expect((await failed.promise).kind).toBe("provider_connection_failed");
    expect(attempt.accepted()).toBe(taken);
  } finally {
    await upstream.close();
    await vendor.close();
  }
});

it("an exception at the last words of a stream that was cut is a failure, not an exception", () => {
  const failures: string[] = [];
  const lane: Lane = {
    request: () => ({ path: "/", body: {} }),
    answer: () => malformed(""),
    error: () => ({ words: [], message: "" }),
    reader: (out) => ({
      event(bytes, start, end) {
        if (bytes.toString("utf8", start, end) !== "good") throw new Error("cannot be read");
        out.choice(0, true);
        out.raw(Buffer.from("x"), "content");
        return true;
      },
    }),
  };
  const controller = { aborted: false, paused: false, reason: null, pause() {}, resume() {}, abort() {} };
  let cut = () => {};
  const dispatcher: Pick<Dispatcher, "dispatch"> = {
    dispatch(_, handler) {
      handler.onRequestStart?.(controller, {});
      handler.onResponseStart?.(controller, 200, { "content-type": "text/event-stream" });
      cut = () => {
        handler.onResponseData?.(controller, Buffer.from("data: good\n\ndata: bad"));
        handler.onResponseError?.(controller, new Error("reset"));
      };
      return true;
    },
  };
  const times = { firstTokenMsMax: 1_000, gapMsMax: 1_000 };
  const options = {
    lane,
    stream: true,
    dispatcher,
    clock: systemClock,
    onFailure: (failure: AttemptFailure) => failure,
  };
  const sink = { content() {}, done() {}, failed: ({ kind }: AttemptFailure) => failures.push(kind) };
  openChatAttempt({ ...options, ...times }, { origin: "http://127.0.0.1", path: "/", headers: {}, body: "{}" }, sink);
  cut();
  expect(failures).toEqual(["provider_malformed"]);
});
