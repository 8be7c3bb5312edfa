// Sixteen ways in which a provider fails, at the clocks that users get: what the caller sees, and how often we asked.
import { randomUUID } from "node:crypto";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { postingOf } from "../chat/own-sums.ts";
import { startTestGateway, type TestAccount, type TestGateway } from "../support/gateway.ts";
import { callMessages, type MessageSeen } from "../support/messages-call.ts";

/** 60 words, one token each: what the sandbox says unless told otherwise. */
const WORDS = 60;

interface Seen {
  readonly text: string;
  readonly finish: string | null;
  /** `status code` of an error told before content, `in-stream code` of one told after. */
  readonly error: string | null;
  readonly message: string;
  readonly usage: OpenAI.CompletionUsage | null;
  readonly model: string | null;
  readonly requestId: string | null;
  readonly ms: number;
}

interface Asked {
  readonly model: string;
  /** In ms after the first ask of the same request. */
  readonly afterMs: number;
}

let gateway: TestGateway;
let account: TestAccount;

beforeAll(async () => {
  gateway = await startTestGateway();
  account = await gateway.account({ creditCents: 100_000 });
});

afterAll(async () => {
  const findings = await gateway.doctor();
  await gateway.stop();
  expect(findings).toEqual([]);
});

type Noted = { -readonly [K in keyof Seen]: Seen[K] };

async function readChat(answer: AsyncIterable<OpenAI.ChatCompletionChunk>, seen: Noted) {
  for await (const chunk of answer) {
    seen.text += chunk.choices[0]?.delta.content ?? "";
    seen.finish = chunk.choices[0]?.finish_reason ?? seen.finish;
    seen.usage = chunk.usage ?? seen.usage;
    seen.model = chunk.model;
  }
}

async function askChat(models: readonly string[], stream: boolean, text: string, seen: Noted): Promise<void> {
  const body = {
    models,
    messages: [{ role: "user", content: text }],
    ...(stream ? { stream: true, stream_options: { include_usage: true } } : {}),
  };
  if (stream) {
    const answer = await account.client.chat.completions
      .create(body as unknown as OpenAI.ChatCompletionCreateParamsStreaming)
      .withResponse();
    seen.requestId = answer.request_id;
    return readChat(answer.data, seen);
  }
  const { data, request_id } = await account.client.chat.completions
    .create(body as unknown as OpenAI.ChatCompletionCreateParamsNonStreaming)
    .withResponse();
  seen.requestId = request_id;
  seen.text = data.choices[0]?.message.content ?? "";
  seen.finish = data.choices[0]?.finish_reason ?? null;
  seen.usage = data.usage ?? null;
  seen.model = data.model;
}

/** The end of an answer in the responses wire, in the chat wire's words. */
function noteResponse({ status, usage, model }: OpenAI.Responses.Response, seen: Noted): void {
  seen.finish = status === "completed" ? "stop" : null;
  seen.model = model;
  if (!usage) return;
  const { input_tokens: prompt_tokens, output_tokens: completion_tokens, total_tokens } = usage;
  seen.usage = { prompt_tokens, completion_tokens, total_tokens };
}

async function askResponses(models: readonly string[], stream: boolean, text: string, seen: Noted): Promise<void> {
  const body = { models, input: text, stream };
  if (!stream) {
    const { data, request_id } = await account.client.responses
      .create(body as OpenAI.Responses.ResponseCreateParamsNonStreaming)
      .withResponse();
    seen.requestId = request_id;
    seen.text = data.output_text;
    return noteResponse(data, seen);
  }
  const answer = await account.client.responses
    .create(body as OpenAI.Responses.ResponseCreateParamsStreaming)
    .withResponse();
  seen.requestId = answer.request_id;
  for await (const event of answer.data) {
    if (event.type === "response.output_text.delta") seen.text += event.delta;
    if (event.type === "response.completed" || event.type === "response.incomplete") noteResponse(event.response, seen);
  }
}

interface WireError {
  readonly code: string;
  readonly message: string;
}

function noteError(at: number | "in-stream", told: unknown, seen: Noted): void {
  const { code, message } = (told as { error: WireError }).error;
  seen.error = `${at} ${code}`;
  seen.message = message;
}

/** The end of a message, in the chat wire's words. */
function noteMessage({ message }: MessageSeen, seen: Noted): void {
  const { stop_reason: reason, usage } = message;
  if (reason === null) return;
  seen.finish = reason === "end_turn" ? "stop" : null;
  seen.model = String(message.model);
  const {
    input_tokens: fresh = 0,
    cache_read_input_tokens: read = 0,
    cache_creation_input_tokens: written = 0,
  } = usage;
  const counts = { prompt_tokens: fresh + read + written, completion_tokens: usage.output_tokens ?? 0 };
  seen.usage = { ...counts, total_tokens: counts.prompt_tokens + counts.completion_tokens };
}

async function askMessages(models: readonly string[], stream: boolean, text: string, seen: Noted): Promise<void> {
  const [model, ...others] = models;
  const behind = others.length === 0 ? {} : { models: others };
  const body = { model, ...behind, max_tokens: 1_000, messages: [{ role: "user", content: text }], stream };
  const answer = await callMessages(body, { url: gateway.url, key: account.key });
  seen.requestId = answer.headers.get("request-id");
  if (answer.status !== 200) return noteError(answer.status, answer.message, seen);
  seen.text = answer.text;
  if (answer.error !== null) return noteError("in-stream", answer.error, seen);
  noteMessage(answer, seen);
}

/** How each wire is asked, and the pace that makes its routes its own. */
const WIRES = {
  chat: { ask: askChat, pace: 900 },
  responses: { ask: askResponses, pace: 910 },
  messages: { ask: askMessages, pace: 920 },
} as const;
type Wire = keyof typeof WIRES;

async function callIn(
  wire: Wire,
  models: readonly string[],
  stream: boolean,
  text = `hello [[id: ${randomUUID()}]]`,
): Promise<Seen> {
  const startedMs = performance.now();
  const seen: Noted = {
    text: "",
    finish: null,
    error: null,
    message: "",
    usage: null,
    model: null,
    requestId: null,
    ms: 0,
  };
  try {
    await WIRES[wire].ask(models, stream, text, seen);
  } catch (error) {
    if (!(error instanceof OpenAI.APIError)) throw error;
    seen.requestId ??= error.requestID ?? null;
    seen.error = `${error.status ?? "in-stream"} ${error.code}`;
    seen.message = error.message;
  }
  return { ...seen, ms: performance.now() - startedMs };
}

/** The attempts of a request, by the sandbox's own count. */
async function asked({ requestId }: Seen): Promise<Asked[]> {
  const { requests } = await gateway.books();
  const own = requests.filter((row) => row.requestId === requestId);
  const firstMs = Math.min(...own.map(({ startedAtMs }) => Number(startedAtMs)));
  return own.map((row) => ({ model: `${row.adapter}/${row.model}`, afterMs: Number(row.startedAtMs) - firstMs }));
}

async function askedOf(seen: Seen, model: string): Promise<number[]> {
  return (await asked(seen)).filter((one) => one.model === model).map(({ afterMs }) => afterMs);
}

function words(text: string): number {
  return text.split(" ").filter(Boolean).length;
}

function expectWhole(seen: Seen, model: string): void {
  expect([seen.error, seen.model, words(seen.text), seen.finish]).toEqual([null, model, WORDS, "stop"]);
  expect(seen.usage?.completion_tokens).toBe(WORDS);
}

/** Never a truncated success: an error that says so, no normal finish, no usage, no charge. */
async function expectHonest(seen: Seen, deliveredWords: number): Promise<void> {
  expect(seen.error).toBe("in-stream upstream_error");
  expect([words(seen.text), seen.finish, seen.usage]).toEqual([deliveredWords, null, null]);
  expect(await postingOf(gateway, account, seen.requestId)).toBe(undefined);
}

const MODES = [
  ["streamed", true],
  ["whole", false],
] as const;

const VENDORS = ["sandbox", "sandbox-messages", "sandbox-gemini", "sandbox-responses", "sandbox-converse"];
const WAYS = VENDORS.flatMap((vendor) =>
  (["chat", "responses", "messages"] as const).map((wire) => [vendor, wire] as const),
);

describe.concurrent.each(WAYS)("%s, asked in the wire of %s", (vendor, wire) => {
  const { pace } = WIRES[wire];
  // The clocks are those of the lane, whichever wire is asked: the long ones are waited for where this wire has a lane of its own.
  const long = it.runIf(wire !== "messages" || vendor === "sandbox-messages");
  const call = (models: readonly string[], stream: boolean, text?: string) => callIn(wire, models, stream, text);
  /** A route without a pace that would tell, but not another wire's either. */
  const alone = (fault: string) => `${vendor}/${wire === "chat" ? fault : `${fault}-at-${10 * pace}`}`;
  const fallback = vendor === "sandbox" ? "sandbox-messages/ok" : "sandbox/ok";
  // Each scenario has routes of its own, so that the rest which one earns is no other's: a pace makes a new name.
  const routes = (fault: string, stream: boolean) =>
    [`${vendor}/${fault}-at-${stream ? pace : pace + 1}`, fallback] as const;

  describe.each(MODES)("%s", (_, stream) => {
    it("S01: a 429 with Retry-After 2 is waited out, not hammered", async () => {
      const [primary] = routes("429-once", stream);
      for (const models of [[primary], [primary, fallback]]) {
        const seen = await call(models, stream);
        expectWhole(seen, primary);
        const times = await askedOf(seen, primary);
        expect(times).toHaveLength(2);
        expect(times[1]).toBeGreaterThanOrEqual(1_800);
        expect(times.filter((ms) => ms < 1_500)).toHaveLength(1);
      }
    });

    it("S02: a lasting 429 is left for the fallback after few attempts", async () => {
      for (const fault of ["429", "429-after-2", "429-after-30"]) {
        const [primary] = routes(fault, stream);
        const seen = await call([primary, fallback], stream);
        expectWhole(seen, fallback);
        const times = await askedOf(seen, primary);
        expect(times.filter((ms) => ms < 3_000).length).toBeLessThanOrEqual(4);
        expect(times.length).toBeLessThanOrEqual(6);
        expect(times.length).toBeGreaterThanOrEqual(1);
      }
    });

    it("S02: a lasting 429 with nothing behind it ends in an error after few attempts", async () => {
      const [primary] = routes("429-after-1", stream);
      const seen = await call([primary], stream);
      expect(seen.error).toBe("429 upstream_error");
      const times = await askedOf(seen, primary);
      expect(times.filter((ms) => ms < 3_000).length).toBeLessThanOrEqual(4);
      expect(times.length).toBeLessThanOrEqual(6);
    });

    it("S03: a single 500 is asked again at once, and the caller sees nothing of it", async () => {
      const [primary] = routes("500-once", stream);
      const seen = await call([primary, fallback], stream);
      expectWhole(seen, primary);
      const [first = 0, second = 0, ...more] = await askedOf(seen, primary);
      expect(more).toEqual([]);
      expect(second - first).toBeGreaterThan(0);
      expect(second - first).toBeLessThan(3_000);
    });

    it("S04: a lasting 503 goes to the fallback", async () => {
      const [primary] = routes("503", stream);
      const seen = await call([primary, fallback], stream);
      expectWhole(seen, fallback);
      expect((await asked(seen)).length).toBeLessThanOrEqual(6);
      expect(await askedOf(seen, primary)).toHaveLength(1);
    });

    it("S05: a connection that is reset once is opened again", async () => {
      const [primary] = routes("reset-once", stream);
      for (const models of [[primary], [primary, fallback]]) {
        const seen = await call(models, stream);
        expectWhole(seen, primary);
        expect(await askedOf(seen, primary)).toHaveLength(2);
      }
    });

    it("S12: a prompt that is too long for one model is asked of another, once", async () => {
      const [primary] = routes("400-context", stream);
      const seen = await call([primary, fallback], stream);
      expectWhole(seen, fallback);
      expect((await asked(seen)).map(({ model }) => model)).toEqual([primary, fallback]);
    });

    it("S13: a refusal by policy is passed on and asked of nobody else", async () => {
      const [primary] = routes("400-policy", stream);
      const seen = await call([primary, fallback], stream);
      expect(seen.error).toBe("400 content_policy_violation");
      expect(seen.message).toMatch(/content policy|filtering policy|PROHIBITED_CONTENT/);
      expect((await asked(seen)).map(({ model }) => model)).toEqual([primary]);
    });

    it("S16: after a failover the answer's model and usage are the fallback's, and only it is charged", async () => {
      const [primary] = routes("529", stream);
      const text = `compare [[id: ${randomUUID()}]]`;
      const direct = await call([fallback], stream, text);
      const seen = await call([primary, fallback], stream, text);
      expectWhole(seen, fallback);
      expect(seen.usage).toEqual(direct.usage);
      const posting = await postingOf(gateway, account, seen.requestId);
      expect(posting?.model).toBe(fallback);
      const before = await postingOf(gateway, account, direct.requestId);
      expect(posting?.charged_nano_usd).toEqual(before?.charged_nano_usd);
    });
  });

  it("S06: a provider that never answers is asked once, and the fallback answers", async () => {
    const [primary] = routes("silent", true);
    const seen = await call([primary, fallback], true);
    expectWhole(seen, fallback);
    expect(await askedOf(seen, primary)).toHaveLength(1);
    expect(seen.ms).toBeLessThan(15_000);
  });

  long("S06: with nobody behind it the caller hears within 100 seconds", async () => {
    const primary = alone("silent");
    const seen = await call([primary], true);
    expect(seen.error).toBe("504 upstream_error");
    expect(await askedOf(seen, primary)).toHaveLength(1);
    expect(seen.ms).toBeLessThan(100_000);
  });

  long("S07: a first token after 20 seconds is not waited for while another can answer, else it is", async () => {
    const [primary] = routes("first-after-20", true);
    const [seen, waited] = await Promise.all([call([primary, fallback], true), call([alone("first-after-20")], true)]);
    expectWhole(seen, fallback);
    expect(seen.ms).toBeLessThan(15_000);
    expectWhole(waited, alone("first-after-20"));
  });

  it("S08: a stream cut in the middle ends in an honest error, and a whole answer comes from the fallback", async () => {
    const [primary] = routes("cut-after-40", true);
    await expectHonest(await call([primary, fallback], true), 40);
    const [clean] = routes("cut-clean-after-40", true);
    await expectHonest(await call([clean, fallback], true), 40);
    const [whole] = routes("cut-after-40", false);
    expectWhole(await call([whole, fallback], false), fallback);
  });

  long("S09: a stream that stalls is given up within 45 seconds, and the gateway goes on", async () => {
    const seen = await call([alone("stall-after-20"), fallback], true);
    await expectHonest(seen, 20);
    expect(seen.ms).toBeLessThan(45_000);
    expectWhole(await call([fallback], true), fallback);
  });

  it("S10: one broken event is skipped, counted, and the stream goes on", async () => {
    const seen = await call([alone("malformed")], true);
    expect([seen.error, words(seen.text), seen.finish]).toEqual([null, WORDS - 1, "stop"]);
    const record = await gateway.record(seen.requestId);
    expect([record.skipped_events, record.outcome]).toEqual([1, "success"]);
    expectWhole(await call([...routes("malformed", false)], false), fallback);
  });

  it("S11: a stream without its goodbye is finished within 8 seconds, with usage", async () => {
    for (const fault of ["no-done", "no-done-open-30"]) {
      const seen = await call([alone(fault)], true);
      expectWhole(seen, alone(fault));
      expect(seen.ms).toBeLessThan(8_000);
    }
  });

  it("S14: nothing is ever continued elsewhere, so no refusal of a prefill reaches the caller", async () => {
    const [primary] = routes("cut-after-40-at-50", true);
    const seen = await call([primary, alone("400-prefill")], true);
    await expectHonest(seen, 40);
    expect(seen.message).not.toMatch(/prefill/);
    expect((await asked(seen)).map(({ model }) => model)).toEqual([primary]);
  });

  long(
    "S15: an outage of a minute is served by the fallback, and the primary is back within 30 seconds of its end",
    async () => {
      const primary = alone("flap-60");
      // One conversation to the sandbox, and many to us: one that has moved stays where its prompt is cached.
      const id = randomUUID();
      const startedMs = performance.now();
      const served: { atMs: number; model: string | null }[] = [];
      for (let at = 0; at < 24; at++) {
        const waitMs = startedMs + at * 4_000 - performance.now();
        await new Promise((resolve) => setTimeout(resolve, Math.max(0, waitMs)));
        const atMs = performance.now() - startedMs;
        const seen = await call([primary, fallback], true, `flap ${at} [[id: ${id}]]`);
        expectWhole(seen, seen.model ?? "");
        served.push({ atMs, model: seen.model });
      }
      const during = served.filter(({ atMs }) => atMs < 59_000);
      expect(during.length).toBeGreaterThanOrEqual(14);
      expect(during.filter(({ model }) => model !== fallback)).toEqual([]);
      const back = served.filter(({ atMs }) => atMs >= 90_000);
      expect(back.length).toBeGreaterThan(0);
      expect(back.filter(({ model }) => model !== primary)).toEqual([]);
      const { requests } = await gateway.books();
      const [adapter, model] = primary.split("/");
      const own = requests.filter((row) => row.adapter === adapter && row.model === model);
      // Rested rather than asked every time.
      expect(own.filter(({ status }) => status === 503).length).toBeLessThanOrEqual(10);
    },
  );
});
