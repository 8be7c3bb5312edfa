// Every fault of the table, seen on the wire in the chat-completions dialect.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { STAND_INS } from "../../src/models/formats/stand-ins.ts";
import { createConnection } from "../../src/sandbox/connection.ts";
import { conductOf, FAULTS } from "../../src/sandbox/faults.ts";
import { startSandbox } from "../../src/sandbox/server.ts";
import { forFile } from "../support/for-file.ts";
import { eventData, type RawAnswer, rawCall, send, until } from "./raw-client.ts";

const sandbox = forFile(await startSandbox({ dialects: STAND_INS, host: "127.0.0.1", port: 0 }));

interface Options {
  readonly stream?: boolean;
  readonly text?: string;
  readonly more?: Readonly<Record<string, unknown>>;
}

function request(model: string, { stream = true, text = `${model} ${stream}`, more = {} }: Options = {}) {
  const asked = stream ? { stream: true, stream_options: { include_usage: true } } : {};
  const body = JSON.stringify({ model, messages: [{ role: "user", content: text }], ...asked, ...more });
  return { url: `${sandbox.url}/sandbox/chat/completions`, body, headers: { authorization: "Bearer any" } };
}

function call(model: string, options: Options = {}): Promise<RawAnswer> {
  return rawCall(request(model, options));
}

interface Chunk {
  readonly choices: readonly { readonly delta: { readonly content?: string }; readonly finish_reason: string | null }[];
  readonly usage?: { readonly completion_tokens: number } | null;
  readonly error?: { readonly type: string };
}

/** What a reader gets from a stream. */
function read(answer: RawAnswer) {
  const data = eventData(answer.body);
  const chunks: Chunk[] = [];
  let broken = 0;
  for (const one of data.filter((text) => text !== "[DONE]")) {
    try {
      chunks.push(JSON.parse(one) as Chunk);
    } catch {
      broken += 1;
    }
  }
  return {
    words: chunks.filter((chunk) => chunk.choices?.[0]?.delta.content).length,
    finishes: chunks.flatMap((chunk) => chunk.choices?.[0]?.finish_reason ?? []),
    usages: chunks.flatMap((chunk) => chunk.usage?.completion_tokens ?? []),
    done: data.includes("[DONE]"),
    error: chunks.find((chunk) => chunk.error)?.error ?? null,
    broken,
  };
}

const WHOLE = { words: 60, finishes: ["stop"], usages: [60], done: true, error: null, broken: 0 };

function expectRefusal(answer: RawAnswer, status: number, code: string | null, retryAfter?: string) {
  expect(answer.status).toBe(status);
  expect(answer.whole).toBe(true);
  expect(JSON.parse(answer.body)).toMatchObject({ error: { message: expect.any(String), code } });
  expect(answer.headers.get("retry-after")).toBe(retryAfter);
}

function expectWhole(answer: RawAnswer) {
  expect(answer.status).toBe(200);
  expect(answer.whole).toBe(true);
  expect(read(answer)).toEqual(WHOLE);
}

/** One test for each row of the table, under the row's own name. */
const SEEN: Readonly<Record<string, () => Promise<void>>> = {
  ok: async () => expectWhole(await call("ok")),

  "429-once": async () => {
    expectRefusal(await call("429-once"), 429, "rate_limit_exceeded", "2");
    expectWhole(await call("429-once"));
    expectRefusal(await call("429-once"), 429, "rate_limit_exceeded", "2");
  },
  "429-once-after-<n>": async () => {
    expectRefusal(await call("429-once-after-0"), 429, "rate_limit_exceeded", "0");
    expectWhole(await call("429-once-after-0"));
  },
  "429": async () => {
    for (let i = 0; i < 3; i++) expectRefusal(await call("429"), 429, "rate_limit_exceeded");
  },
  "429-after-<n>": async () => {
    for (let i = 0; i < 2; i++) expectRefusal(await call("429-after-5"), 429, "rate_limit_exceeded", "5");
  },
  "500-once": async () => {
    expectRefusal(await call("500-once"), 500, null);
    expectWhole(await call("500-once"));
  },
  "500": async () => expectRefusal(await call("500"), 500, null),
  "503": async () => expectRefusal(await call("503"), 503, "overloaded"),
  "529": async () => expectRefusal(await call("529"), 529, "overloaded"),
  "flap-<n>": async () => {
    expectRefusal(await call("flap-0.2"), 503, "overloaded");
    expectRefusal(await call("flap-0.2"), 503, "overloaded");
    const deadline = performance.now() + 2_000;
    let answer = await call("flap-0.2");
    while (answer.status === 503 && performance.now() < deadline) answer = await call("flap-0.2");
    expectWhole(answer);
    expectWhole(await call("flap-0.2"));
  },
  "401": async () => expectRefusal(await call("401"), 401, "invalid_api_key"),
  "402": async () => expectRefusal(await call("402"), 402, "insufficient_quota"),
  "404": async () => expectRefusal(await call("404"), 404, "model_not_found"),
  "400": async () => expectRefusal(await call("400"), 400, null),
  "400-context": async () => expectRefusal(await call("400-context"), 400, "context_length_exceeded"),
  "400-policy": async () => expectRefusal(await call("400-policy"), 400, "content_policy_violation"),
  "400-prefill": async () => {
    expectWhole(await call("400-prefill"));
    const messages = [
      { role: "user", content: "Go on" },
      { role: "assistant", content: "So" },
    ];
    expectRefusal(await call("400-prefill", { more: { messages } }), 400, null);
  },

  "reset-once": async () => {
    expect(await call("reset-once")).toMatchObject({ status: 0, body: "", reset: true });
    expectWhole(await call("reset-once"));
  },
  reset: async () => {
    for (let i = 0; i < 2; i++) expect(await call("reset")).toMatchObject({ status: 0, body: "", reset: true });
  },
  silent: async () => {
    let bytes = 0;
    const socket = send(request("silent"));
    socket.on("data", (chunk) => {
      bytes += chunk.length;
    });
    const row = () => sandbox.books().requests.findLast((one) => one.model === "silent");
    await until(() => row()?.ended === "open");
    // A complete answer to a later request shows that the silence is not slowness.
    expectWhole(await call("ok", { text: "after silence" }));
    expect(bytes).toBe(0);
    socket.destroy();
    await until(() => row()?.ended === "aborted");
  },
  "slow-headers-<n>": async () => {
    const answer = await call("slow-headers-0.15");
    expectWhole(answer);
    expect(answer.headMs).toBeGreaterThanOrEqual(140);
  },
  "first-after-<n>": async () => {
    const answer = await call("first-after-0.3");
    expectWhole(answer);
    expect(answer.contentMs).toBeGreaterThanOrEqual(150);
  },

  "cut-after-<n>": async () => {
    const answer = await call("cut-after-40");
    expect(answer).toMatchObject({ status: 200, whole: false });
    expect(read(answer)).toEqual({ ...WHOLE, words: 40, finishes: [], usages: [], done: false });
  },
  "cut-clean-after-<n>": async () => {
    const answer = await call("cut-clean-after-40");
    expect(answer).toMatchObject({ status: 200, whole: true, reset: false });
    expect(read(answer)).toEqual({ ...WHOLE, words: 40, finishes: [], usages: [], done: false });
  },
  "stall-after-<n>": async () => {
    const socket = send(request("stall-after-20"));
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk.toString();
    });
    const row = () => sandbox.books().requests.findLast((one) => one.model === "stall-after-20");
    await until(() => row()?.tokensOut === 20 && text.match(/"content":" /g)?.length === 19);
    expect(row()?.ended).toBe("open");
    socket.destroy();
    await until(() => row()?.ended === "aborted");
  },
  "stall-after-<n>-for-<m>": async () => {
    const answer = await call("stall-after-20-for-0.15");
    expect(answer).toMatchObject({ status: 200, whole: false });
    expect(answer.totalMs).toBeGreaterThanOrEqual(140);
    expect(read(answer)).toEqual({ ...WHOLE, words: 20, finishes: [], usages: [], done: false });
  },
  "error-after-<n>": async () => {
    const answer = await call("error-after-10");
    expect(answer).toMatchObject({ status: 200, whole: true });
    expect(read(answer)).toMatchObject({ words: 10, finishes: [], done: false, error: { type: "server_error" } });
  },
  "error-in-200": async () => {
    const streamed = await call("error-in-200");
    expect(streamed.status).toBe(200);
    expect(read(streamed)).toMatchObject({ words: 0, finishes: [], done: false, error: { type: "server_error" } });
    expectRefusal(await call("error-in-200", { stream: false }), 200, null);
  },
  html: async () => {
    const answer = await call("html");
    expect(answer).toMatchObject({ status: 200, whole: true });
    expect(answer.headers.get("content-type")).toContain("text/html");
    expect(answer.body).toMatch(/^<!doctype html>/);
  },
  empty: async () => {
    const answer = await call("empty");
    expect(read(answer)).toEqual({ ...WHOLE, words: 0, usages: [0] });
    const unary = JSON.parse((await call("empty", { stream: false })).body);
    expect(unary.choices[0].message.content).toBe("");
  },
  "huge-event": async () => {
    const answer = await call("huge-event");
    expect(read(answer)).toEqual({ ...WHOLE, words: 1, usages: [1] });
    expect(Math.max(...eventData(answer.body).map((data) => data.length))).toBeGreaterThan(2 * 1024 * 1024);
  },
  filtered: async () => {
    const answer = await call("filtered");
    expect(read(answer)).toEqual({ ...WHOLE, words: 30, finishes: ["content_filter"], usages: [30] });
  },
  malformed: async () => {
    const answer = await call("malformed");
    expect(read(answer)).toEqual({ ...WHOLE, words: 59, broken: 1 });
    const unary = await call("malformed", { stream: false });
    expect(unary).toMatchObject({ status: 200, whole: true });
    expect(() => JSON.parse(unary.body)).toThrow(SyntaxError);
  },
  "no-done": async () => {
    const answer = await call("no-done");
    expect(answer.whole).toBe(true);
    expect(read(answer)).toEqual({ ...WHOLE, done: false });
  },
  "no-done-open-<n>": async () => {
    const answer = await call("no-done-open-0.15");
    expect(answer.totalMs).toBeGreaterThanOrEqual(140);
    expect(read(answer)).toEqual({ ...WHOLE, done: false });
  },
  "no-usage": async () => {
    expect(read(await call("no-usage"))).toEqual({ ...WHOLE, usages: [] });
    expect(JSON.parse((await call("no-usage", { stream: false })).body)).not.toHaveProperty("usage");
  },
  "usage-every-chunk": async () => {
    const answer = await call("usage-every-chunk", { more: { stream_options: null } });
    const everySoFar = [0, ...Array.from({ length: 60 }, (_, at) => at + 1), 60];
    expect(read(answer)).toEqual({ ...WHOLE, usages: everySoFar });
  },
  "usage-on-finish": async () => {
    const answer = await call("usage-on-finish");
    expect(read(answer)).toEqual(WHOLE);
    expect(eventData(answer.body).at(-2)).toMatch(/"finish_reason":"stop".*"usage":\{/);
  },
  crlf: async () => {
    const answer = await call("crlf");
    expectWhole(answer);
    expect(answer.body.replaceAll("\r\n", "")).not.toContain("\n");
  },
  multiline: async () => {
    const answer = await call("multiline");
    expectWhole(answer);
    expect(answer.body).toMatch(/^data: \{\ndata: {2}"id"/);
  },
  comments: async () => {
    const answer = await call("comments");
    expectWhole(answer);
    expect(answer.body.match(/^: PROCESSING$/gm)?.length).toBe(eventData(answer.body).length);
  },
  "bytes-<n>": async () => {
    const single = await call("bytes-1");
    expectWhole(single);
    expect(new Set(single.chunkSizes)).toEqual(new Set([1]));
    const seven = await call("bytes-7");
    expectWhole(seven);
    expect(Math.max(...seven.chunkSizes)).toBe(7);
  },
};

describe("the sandbox's faults", () => {
  it("are all in the table of this test", () => {
    expect(Object.keys(SEEN).sort()).toEqual(FAULTS.map((fault) => fault.name).sort());
  });

  for (const fault of FAULTS) {
    it(`${fault.name}: ${fault.does}`, async () => {
      await SEEN[fault.name]?.();
    });
  }

  it("strike each conversation by itself", async () => {
    expect((await call("500-once", { text: "one" })).status).toBe(500);
    expect((await call("500-once", { text: "two" })).status).toBe(500);
    expect((await call("500-once", { text: "one" })).status).toBe(200);
    expect((await call("500-once", { text: "[[id: same]] three" })).status).toBe(500);
    expect((await call("500-once", { text: "[[id: same]] four" })).status).toBe(200);
  });

  it("break unary answers in mid-body", async () => {
    const cut = await call("cut-after-40", { stream: false });
    expect(cut).toMatchObject({ status: 200, whole: false });
    expect(cut.body).toMatch(/^\{"id":/);
    const clean = await call("cut-clean-after-40", { stream: false });
    expect(clean).toMatchObject({ status: 200, whole: true });
    expect(() => JSON.parse(clean.body)).toThrow(SyntaxError);
    const short = await call("cut-after-40", { stream: false, text: "[[words: 20]]" });
    expect(JSON.parse(short.body).usage.completion_tokens).toBe(20);
  });
});

it("a long answer in pieces is queued part by part", async () => {
  const text = Array.from({ length: 5_000 }, (_, at) => `word ${at} `).join("");
  let queued = 0;
  const server = createServer((request, response) => {
    void createConnection(request, response, { pieceBytes: 1, onClose: () => {} }).send(200, {}, text);
    queued = response.writableLength;
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const answer = await rawCall({ url: `http://127.0.0.1:${port}/`, body: "" });
  server.close();
  expect(answer).toMatchObject({ status: 200, whole: true, body: text });
  expect(new Set(answer.chunkSizes)).toEqual(new Set([1]));
  expect(queued).toBeLessThan(text.length);
});

describe("a model's name", () => {
  it("sets the pace", async () => {
    const answer = await call("ok-at-100", { text: "[[words: 11]]" });
    expect(read(answer)).toMatchObject({ words: 11, done: true });
    expect(answer.totalMs).toBeGreaterThanOrEqual(95);
    expect(answer.totalMs).toBeLessThan(5_000);
    expect(conductOf("cut-after-3-at-20")).toMatchObject({ stop: { afterTokens: 3 }, tokensPerSecond: 20 });
  });

  it("gives way to the pace in the prompt", async () => {
    const answer = await call("ok", { text: "[[words: 11]] [[pace: 100]]" });
    expect(answer.totalMs).toBeGreaterThanOrEqual(95);
  });

  it("that is no fault is a vendor's model, but unknown to the sandbox's own adapters", async () => {
    const { url, body, headers } = request("gpt-5.4-nano", { text: "[[words: 41]]" });
    const vendor = await rawCall({ url: url.replace("/sandbox/", "/openai/"), body, headers });
    expect(read(vendor)).toMatchObject({ words: 41, done: true });
    expect(vendor.totalMs).toBeGreaterThanOrEqual(95);
    expectRefusal(await call("cut-afer-40"), 404, "model_not_found");
  });
});
