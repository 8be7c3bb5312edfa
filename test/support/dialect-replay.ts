// Replays a recorded stream through a dialect's reader and keeps what came out.
import { readFileSync } from "node:fs";
import { ChatCompletionStream } from "openai/lib/ChatCompletionStream";
import type { ChatCompletion } from "openai/resources/chat/completions";
import type { AttemptFailure, TokenUsage } from "../../src/plan.ts";
import type { ChatContext, ChatStreamOut, Dialect, FinishReason } from "../../src/upstream/dialects/dialect.ts";

export type Delta = Readonly<Record<string, unknown>>;

/** A context with `changes` laid over plain values. */
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

/** Keeps what a reader says; as in the gateway, nothing counts after the last word. */
export class RecordedStream implements ChatStreamOut {
  readonly deltas: { index: number; delta: Delta }[] = [];
  readonly finishes: { index: number; reason: FinishReason; native: string }[] = [];
  readonly usages: TokenUsage[] = [];
  failure: AttemptFailure | null = null;
  ended = false;

  delta(index: number, delta: Delta): void {
    if (this.failure === null) this.deltas.push({ index, delta });
  }
  finish(index: number, reason: FinishReason, native: string): void {
    if (this.failure === null) this.finishes.push({ index, reason, native });
  }
  usage(usage: TokenUsage): void {
    this.usages.push(usage);
  }
  fail(failure: AttemptFailure): void {
    this.failure ??= failure;
  }
  end(): void {
    this.ended = true;
  }
  upstreamCost(): void {}
  choice(): void {}
  raw(): void {
    throw new Error("a translating reader has no finished events");
  }
  delivered(): void {
    throw new Error("a translating reader delivers deltas only");
  }

  /** All text under `key` of one choice's deltas. */
  text(key: string, index = 0): string {
    const own = this.deltas.filter((entry) => entry.index === index);
    return own.map(({ delta }) => (typeof delta[key] === "string" ? delta[key] : "")).join("");
  }

  /** All entries of the lists under `key`. */
  list(key: string): unknown[] {
    return this.deltas.flatMap(({ delta }) => (Array.isArray(delta[key]) ? (delta[key] as unknown[]) : []));
  }

  /** What the official client makes of the chunks. */
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
export function feed(dialect: Dialect, context: ChatContext, events: readonly SseEvent[], out: ChatStreamOut): number {
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
