// Calls to a sandbox whose vendors fail, in every wire, for failover tests: what the caller sees, and how often we called.
import { randomUUID } from "node:crypto";
import OpenAI from "openai";
import { expect } from "vitest";
import { postingOf } from "../models/chat/own-sums.ts";
import { startTestGateway, type TestAccount, type TestGateway } from "./gateway.ts";
import { callMessages, type MessageSeen } from "./messages-call.ts";

/** 60 words of one token each: the sandbox's default answer. */
export const WORDS = 60;

/** A gateway with the sandbox behind it, and a caller. */
export interface Stage {
  readonly gateway: TestGateway;
  readonly account: TestAccount;
}

interface Ask {
  readonly models: readonly string[];
  readonly stream: boolean;
  readonly text: string;
}

/** Without a text, a unique one. */
type Asking = Omit<Ask, "text"> & { readonly text?: string | undefined };

export interface Seen {
  readonly text: string;
  readonly finish: string | null;
  /** `status code` for an error before content, `in-stream code` for one after it. */
  readonly error: string | null;
  readonly message: string;
  readonly usage: OpenAI.CompletionUsage | null;
  readonly model: string | null;
  readonly requestId: string | null;
  readonly ms: number;
}

interface Asked {
  readonly model: string;
  /** In ms after the first attempt of the same request. */
  readonly afterMs: number;
}

type Noted = { -readonly [K in keyof Seen]: Seen[K] };

async function readChat(answer: AsyncIterable<OpenAI.ChatCompletionChunk>, seen: Noted) {
  for await (const chunk of answer) {
    seen.text += chunk.choices[0]?.delta.content ?? "";
    seen.finish = chunk.choices[0]?.finish_reason ?? seen.finish;
    seen.usage = chunk.usage ?? seen.usage;
    seen.model = chunk.model;
  }
}

async function askChat({ account }: Stage, { models, stream, text }: Ask, seen: Noted): Promise<void> {
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

/** Translates the end of an answer in the responses wire to the chat wire. */
function noteResponse({ status, usage, model }: OpenAI.Responses.Response, seen: Noted): void {
  seen.finish = status === "completed" ? "stop" : null;
  seen.model = model;
  if (!usage) return;
  const { input_tokens: prompt_tokens, output_tokens: completion_tokens, total_tokens } = usage;
  seen.usage = { prompt_tokens, completion_tokens, total_tokens };
}

async function askResponses({ account }: Stage, { models, stream, text }: Ask, seen: Noted): Promise<void> {
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

/** Translates the end of a message to the chat wire. */
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

async function askMessages({ gateway, account }: Stage, { models, stream, text }: Ask, seen: Noted): Promise<void> {
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

/** A request in each wire, and the pace that makes its routes separate. */
export const WIRES = {
  chat: { ask: askChat, pace: 900 },
  responses: { ask: askResponses, pace: 910 },
  messages: { ask: askMessages, pace: 920 },
} as const;
export type Wire = keyof typeof WIRES;

/** One call, and what its caller saw. */
export async function callIn(stage: Stage, wire: Wire, { models, stream, text }: Asking): Promise<Seen> {
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
    await WIRES[wire].ask(stage, { models, stream, text: text ?? `hello [[id: ${randomUUID()}]]` }, seen);
  } catch (error) {
    if (!(error instanceof OpenAI.APIError)) throw error;
    seen.requestId ??= error.requestID ?? null;
    seen.error = `${error.status ?? "in-stream"} ${error.code}`;
    seen.message = error.message;
  }
  return { ...seen, ms: performance.now() - startedMs };
}

/** The attempts of a request, by the sandbox's own count. */
export async function asked({ gateway }: Stage, { requestId }: Seen): Promise<Asked[]> {
  const { requests } = await gateway.books();
  const own = requests.filter((row) => row.requestId === requestId);
  const firstMs = Math.min(...own.map(({ startedAtMs }) => Number(startedAtMs)));
  return own.map((row) => ({ model: `${row.adapter}/${row.model}`, afterMs: Number(row.startedAtMs) - firstMs }));
}

export async function askedOf(stage: Stage, seen: Seen, model: string): Promise<number[]> {
  return (await asked(stage, seen)).filter((one) => one.model === model).map(({ afterMs }) => afterMs);
}

export function words(text: string): number {
  return text.split(" ").filter(Boolean).length;
}

export function expectWhole(seen: Seen, model: string): void {
  expect([seen.error, seen.model, words(seen.text), seen.finish]).toEqual([null, model, WORDS, "stop"]);
  expect(seen.usage?.completion_tokens).toBe(WORDS);
}

/** Never a truncated success: an explicit error, no normal finish, no usage, no charge. */
export async function expectHonest({ gateway, account }: Stage, seen: Seen, deliveredWords: number): Promise<void> {
  expect(seen.error).toBe("in-stream upstream_error");
  expect([words(seen.text), seen.finish, seen.usage]).toEqual([deliveredWords, null, null]);
  expect(await postingOf(gateway, account, seen.requestId)).toBe(undefined);
}

/** Opens a file's stage. */
export async function openStage(): Promise<Stage> {
  const gateway = await startTestGateway();
  return { gateway, account: await gateway.account({ creditCents: 100_000 }) };
}

/** Checks that the books of all calls add up. */
export async function closeStage({ gateway }: Stage): Promise<void> {
  const findings = await gateway.doctor();
  await gateway.stop();
  expect(findings).toEqual([]);
}

const VENDORS = ["sandbox", "sandbox-messages", "sandbox-gemini", "sandbox-responses", "sandbox-converse"];
/** Every vendor dialect with every caller's wire. */
export const WAYS = VENDORS.flatMap((vendor) =>
  (["chat", "responses", "messages"] as const).map((wire) => [vendor, wire] as const),
);

/** The names of one combination's routes. */
export function routesOf(vendor: string, wire: Wire) {
  const { pace } = WIRES[wire];
  const fallback = vendor === "sandbox" ? "sandbox-messages/ok" : "sandbox/ok";
  return {
    fallback,
    /** A route without a noticeable pace, yet separate from the other wires' routes. */
    alone: (fault: string) => `${vendor}/${wire === "chat" ? fault : `${fault}-at-${10 * pace}`}`,
    /** Each scenario has its own routes, so that one's rest does not affect another's: a pace makes a new name. */
    routes: (fault: string, stream: boolean) =>
      [`${vendor}/${fault}-at-${stream ? pace : pace + 1}`, fallback] as const,
    /** The timeouts are the lane's for every wire: only where a wire has its own lane does it wait for the long ones. */
    waitsLong: wire !== "messages" || vendor === "sandbox-messages",
  };
}
