// Passes on a stream in OpenAI's wire under our model name, parsing only the events that differ.

import { isRecord, type Json, listOf } from "../../../core/json.ts";
import { getOrMake, makeRoom } from "../../../core/maps.ts";
import { classify } from "../../../upstream/classify.ts";
import type { BytesOut, ChatContext, StreamReader } from "../../../upstream/format-kit/dialect.ts";
import { readError, statusInside } from "../../../upstream/format-kit/error-body.ts";
import { eventJson } from "../../../upstream/format-kit/event-json.ts";
import {
  type EventTemplate,
  filledTemplate,
  learnTemplate,
  matchesTemplate,
} from "../../../upstream/format-kit/event-template.ts";
import { type KnownEvent, learnEvent, recognized } from "../../../upstream/format-kit/known-event.ts";
import { EMPTY, nameThoughts, readUsage } from "./vendor-answer.ts";

const DONE = Buffer.from("[DONE]");

/** True if a delta has content for the caller: text, reasoning, a refusal, audio or a tool call; a role alone is none. */
export function bearsContent(delta: Readonly<Record<string, unknown>>): boolean {
  for (const key of Object.keys(delta)) {
    const value = delta[key];
    if (key === "role" || value === null || value === "" || value === undefined) continue;
    if (Array.isArray(value) && value.length === 0) continue;
    return true;
  }
  return false;
}

function textOf(delta: Readonly<Record<string, unknown>>): string {
  let text = "";
  for (const key of ["content", "refusal"]) if (typeof delta[key] === "string") text += delta[key];
  const thought = delta.reasoning ?? delta.reasoning_content;
  if (typeof thought === "string") text += thought;
  if (!Array.isArray(delta.tool_calls)) return text;
  for (const call of delta.tool_calls) {
    const named = isRecord(call) && isRecord(call.function) ? call.function : {};
    text += `${typeof named.name === "string" ? named.name : ""}${typeof named.arguments === "string" ? named.arguments : ""}`;
  }
  return text;
}

function survey(choices: readonly unknown[]) {
  let bearing = false;
  let finish: string | null = null;
  let text = "";
  const indices: (readonly [index: number, ended: boolean])[] = [];
  for (const choice of choices) {
    if (!isRecord(choice)) continue;
    // Some vendors put an empty finish reason in every chunk; it ends nothing.
    const ended = typeof choice.finish_reason === "string" && choice.finish_reason !== "" ? choice.finish_reason : null;
    finish = ended ?? finish;
    indices.push([indexOf(choice), ended !== null]);
    if (!isRecord(choice.delta)) continue;
    bearing ||= bearsContent(choice.delta);
    text += textOf(choice.delta);
  }
  return { bearing, finish, text, indices };
}

type Seen = ReturnType<typeof survey>;

/** The last event of each kind that a vendor's model sent: the first and the last events of most calls are like it. */
type Memory = Map<"preamble" | "content" | "finish", { readonly known: KnownEvent; readonly seen: Seen }>;
/** Callers name the models of a server that serves any. */
const MODELS_MAX = 256;
const memories = new WeakMap<ChatContext["spec"], Map<string, Memory>>();

function memoryOf({ spec, servedSlug }: ChatContext): Memory {
  const bySlug = getOrMake(memories, spec, () => new Map<string, Memory>());
  return getOrMake(bySlug, servedSlug, () => {
    makeRoom(bySlug, MODELS_MAX);
    return new Map();
  });
}

function eventOf(chunk: Json): Buffer {
  return Buffer.from(`data: ${JSON.stringify(chunk)}\n\n`);
}

function indexOf({ index }: Json): number {
  return typeof index === "number" ? index : 0;
}

/** The chunk without the finish reason of one of its choices. */
function withoutFinish(chunk: Json, index: number): Buffer {
  const choices = listOf(chunk.choices).map((choice) =>
    isRecord(choice) && indexOf(choice) === index ? { ...choice, finish_reason: null } : choice,
  );
  return eventOf({ ...chunk, choices });
}

/** The finish reason of one choice, without its content. */
function finishIn(chunk: Json, index: number): Buffer {
  const choices = listOf(chunk.choices).flatMap((choice) =>
    isRecord(choice) && indexOf(choice) === index ? [{ ...choice, delta: {} }] : [],
  );
  return eventOf({ ...chunk, choices });
}

class ChatCompletionsReader implements StreamReader {
  readonly #context: ChatContext;
  readonly #out: BytesOut;
  readonly #memory: Memory;
  #template: EventTemplate | null = null;
  /** Chunks with both content and a finish reason, by choice: held back, because more may follow. `end`: a later finish, which counts instead. */
  #held: Map<number, { readonly chunk: Json; end: Buffer | null }> | null = null;
  #bore = false;

  constructor(context: ChatContext, out: BytesOut) {
    this.#context = context;
    this.#memory = memoryOf(context);
    this.#out = out;
  }

  event(bytes: Buffer, start: number, end: number): boolean {
    const template = this.#template;
    if (template !== null && matchesTemplate(template, bytes, start, end)) {
      this.#fill(template, bytes, start, end);
      return true;
    }
    const came = bytes.subarray(start, end);
    if (came.length === DONE.length && came.equals(DONE)) {
      this.#out.end();
      return true;
    }
    return this.#isRepeated(came) || this.#parsed(came);
  }

  #fill(template: EventTemplate, bytes: Buffer, start: number, end: number): void {
    const from = start + template.head.length;
    const to = end - template.tail.length;
    this.#out.raw(filledTemplate(template, bytes, from, to), "content");
    this.#out.delivered(bytes, from, to);
  }

  /** Passes on an event that an earlier call had too. */
  #isRepeated(came: Buffer): boolean {
    const text = came.toString("latin1");
    for (const { known, seen } of this.#memory.values()) {
      const event = recognized(known, text, this.#context.completionId);
      if (event === null) continue;
      if (Buffer.isBuffer(event)) {
        this.#note(seen);
        this.#send(seen, event, null);
        return true;
      }
      if (!matchesTemplate(event, came, 0, came.length)) continue;
      this.#note(seen);
      this.#template = event;
      this.#fill(event, came, 0, came.length);
      return true;
    }
    return false;
  }

  #parsed(came: Buffer): boolean {
    const chunk = eventJson(came, 0, came.length);
    if (chunk === null) return false;
    if (chunk.error) {
      this.#out.fail(classify(statusInside(chunk), readError(chunk), null));
      return true;
    }
    const { usage, upstreamCostNano } = readUsage(chunk, this.#context);
    if (usage !== null) this.#out.usage(usage);
    if (upstreamCostNano !== null) this.#out.upstreamCost(upstreamCostNano);
    if (!Array.isArray(chunk.choices) || chunk.choices.length === 0) return true;
    this.#pass(chunk, chunk.choices, { came, isPlain: usage === null && upstreamCostNano === null });
    return true;
  }

  #pass(
    chunk: Record<string, unknown>,
    choices: readonly unknown[],
    { came, isPlain }: { readonly came: Buffer; readonly isPlain: boolean },
  ): void {
    const seen = survey(choices);
    const { bearing, finish } = seen;
    if (finish === "error") {
      this.#out.fail(classify(200, { words: ["error"], message: "the stream ended with an error" }, null));
      return;
    }
    const { usage: _usage, x_groq: _groq, obfuscation: _padding, ...sent } = chunk;
    sent.id = this.#context.completionId;
    sent.model = this.#context.servedSlug;
    for (const choice of choices) if (isRecord(choice) && isRecord(choice.delta)) nameThoughts(choice.delta);
    const event = eventOf(sent);
    this.#note(seen);
    this.#send(seen, event, sent);
    this.#out.deliveredText(seen.text);
    if (bearing && finish === null) this.#template = learnTemplate(came, event);
    const kind = finish !== null ? "finish" : bearing ? "content" : "preamble";
    if (!isPlain || (bearing && this.#template === null)) return;
    const known = learnEvent(came, event, bearing ? this.#template : null);
    if (known !== null) this.#memory.set(kind, { known, seen: { ...seen, text: "" } });
  }

  #note({ bearing, finish, indices }: Seen): void {
    this.#bore ||= bearing;
    if (finish === "stop" && this.#context.mayBeEmpty !== true) this.#out.empty(this.#bore ? null : EMPTY);
    if (bearing) this.#goOn(indices[0]?.[0] ?? 0);
    for (const [at, ended] of indices) this.#out.choice(at, ended);
  }

  /** Passes an event on, or holds it back as the end of its choice. */
  #send({ bearing, finish, indices }: Seen, event: Buffer, sent: Json | null): void {
    const [[index] = [0]] = indices;
    if (finish === null) this.#out.raw(event, bearing ? "content" : "preamble");
    else {
      this.#template = null;
      if (bearing && sent !== null) {
        this.#held ??= new Map();
        this.#held.set(index, { chunk: sent, end: null });
      }
      const held = bearing ? undefined : this.#held?.get(index);
      if (held !== undefined) held.end = event;
      this.#out.finish(index, event.length, () => {
        this.#held?.delete(index);
        return held === undefined ? event : Buffer.concat([withoutFinish(held.chunk, index), event]);
      });
    }
  }

  /** More content follows a finish reason: releases the content held with it, and holds the reason until the end. */
  #goOn(index: number): void {
    const held = this.#held?.get(index);
    if (held === undefined) return;
    const end = held.end ?? finishIn(held.chunk, index);
    this.#out.choice(index, false);
    this.#out.finish(index, end.length, () => end);
    this.#held?.delete(index);
    this.#out.raw(withoutFinish(held.chunk, index), "content");
  }
}

export function createChatCompletionsReader(context: ChatContext, out: BytesOut): StreamReader {
  return new ChatCompletionsReader(context, out);
}
