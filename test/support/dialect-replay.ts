// Replays a recorded stream through a dialect's reader and records the output.
import { readFileSync } from "node:fs";
import { ChatCompletionStream } from "openai/lib/ChatCompletionStream";
import type { ChatCompletion } from "openai/resources/chat/completions";
import type { FinishReason, NeutralEvent, NeutralRequest } from "../../src/core/neutral.ts";
import type { AttemptFailure, TokenUsage } from "../../src/core/route.ts";
import { chatAnswers } from "../../src/models/formats/chat-completions/answers.ts";
import type { ChatBody } from "../../src/models/formats/chat-completions/fields.ts";
import { chatRequest } from "../../src/models/formats/chat-completions/request.ts";
import type { ChatContext, Dialect, EventOut, UnaryAnswer } from "../../src/upstream/format-kit/dialect.ts";
import { laneOf } from "../../src/upstream/lane.ts";

export type Delta = Readonly<Record<string, unknown>>;

/** Default values with `changes` applied. */
export function chatContext(changes: Partial<ChatContext> = {}): ChatContext {
  return {
    upstreamModel: "vendor-model-1",
    servedSlug: "maker/model-1",
    completionId: "chatcmpl-0123456789abcdef",
    createdS: 1_790_000_000,
    stream: false,
    outputTokensMax: 4096,
    spec: { dialect: "messages", models: {} },
    wire: {},
    ...changes,
  };
}

/** A request in OpenAI's chat wire, in neutral form. */
export function asked(body: Record<string, unknown>): NeutralRequest {
  return chatRequest(body as ChatBody).neutral();
}

/** A whole answer as a caller of OpenAI's chat wire gets it. */
export function answerOf(dialect: Dialect, json: unknown, context: ChatContext): UnaryAnswer {
  const { completionId, createdS, servedSlug } = context;
  const answers = chatAnswers({ id: completionId, createdS, model: servedSlug });
  const lane = laneOf(dialect, { asked: chatRequest({ messages: [] }), answers }, context);
  if (typeof lane === "string") throw new Error(lane);
  return lane.answer(json);
}

const CHUNKS = chatAnswers({ id: "", createdS: 0, model: "" }).encoder();

/** Records a reader's output in OpenAI's chat wire; as in the gateway, nothing counts after the last word. */
export class RecordedStream implements EventOut {
  readonly deltas: { index: number; delta: Delta }[] = [];
  readonly finishes: { index: number; reason: FinishReason; native: string }[] = [];
  readonly usages: TokenUsage[] = [];
  failure: AttemptFailure | null = null;
  /** Why the answer is empty; null: it is not. */
  emptiness: string | null = null;
  ended = false;

  event(event: NeutralEvent): void {
    if (this.failure !== null) return;
    if (event.kind === "finish") {
      this.finishes.push({ index: event.choice, reason: event.reason, native: event.native });
      return;
    }
    const { choices } = JSON.parse(CHUNKS.encode(event).toString().slice(6)) as { choices: { delta: Delta }[] };
    for (const { delta } of choices) this.deltas.push({ index: event.choice, delta });
  }
  usage(usage: TokenUsage): void {
    this.usages.push(usage);
  }
  empty(message: string): void {
    this.emptiness ??= message;
  }
  fail(failure: AttemptFailure): void {
    this.failure ??= failure;
  }
  end(): void {
    this.ended = true;
  }
  upstreamCost(): void {}

  /** All text under `key` of one choice's deltas. */
  text(key: string, index = 0): string {
    const own = this.deltas.filter((entry) => entry.index === index);
    return own.map(({ delta }) => (typeof delta[key] === "string" ? delta[key] : "")).join("");
  }

  /** All entries of the lists under `key`. */
  list(key: string): unknown[] {
    return this.deltas.flatMap(({ delta }) => (Array.isArray(delta[key]) ? (delta[key] as unknown[]) : []));
  }

  /** What the official client assembles from the chunks. */
  async completion(context: ChatContext): Promise<ChatCompletion> {
    const head = { id: context.completionId, object: "chat.completion.chunk", created: context.createdS };
    const choices = [
      ...this.deltas.map(({ index, delta }) => ({ index, delta, finish_reason: null })),
      ...this.finishes.map(({ index, reason }) => ({ index, delta: {}, finish_reason: reason })),
    ];
    const lines = choices.map(
      (choice) => `${JSON.stringify({ ...head, model: context.servedSlug, choices: [choice] })}\n`,
    );
    const body = new Response(lines.join("")).body;
    if (body === null) throw new Error("no body");
    return await ChatCompletionStream.fromReadableStream(body).finalChatCompletion();
  }
}

interface SseEvent {
  readonly name: string | null;
  readonly data: string;
}

export function eventsOf(sse: string): SseEvent[] {
  const blocks = sse.split(/\r?\n\r?\n/).filter((block) => block.trim() !== "");
  return blocks.map((block) => {
    const lines = block.split(/\r?\n/);
    const name = lines.find((line) => line.startsWith("event: "))?.slice(7) ?? null;
    const data = lines.filter((line) => line.startsWith("data: ")).map((line) => line.slice(6));
    return { name, data: data.join("\n") };
  });
}

/** Feeds events to a reader, each in the middle of a larger buffer, as the scanner does. Returns how many were skipped. */
export function feed(dialect: Dialect, context: ChatContext, events: readonly SseEvent[], out: EventOut): number {
  const reader = dialect.reader(context, out);
  let skipped = 0;
  for (const { name, data } of events) {
    const bytes = Buffer.from(`data: ${data}\n\n`);
    if (!reader.event(bytes, 6, bytes.length - 2, name)) skipped++;
    bytes.fill(0);
  }
  return skipped;
}

export function fixture(name: string): string {
  return readFileSync(new URL(`../fixtures/${name}`, import.meta.url), "utf8");
}

export function replay(dialect: Dialect, name: string, context = chatContext({ stream: true })): RecordedStream {
  const out = new RecordedStream();
  const skipped = feed(dialect, context, eventsOf(fixture(name)), out);
  if (skipped > 0) throw new Error(`${skipped} events of ${name} were not read`);
  return out;
}
