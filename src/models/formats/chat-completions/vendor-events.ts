// Parses a stream in OpenAI's wire into neutral events, for callers of another wire.

import { isRecord, type Json, listOf, stringOf, wordOf } from "../../../core/json.ts";
import type { NeutralEvent } from "../../../core/neutral.ts";
import { classify } from "../../../upstream/classify.ts";
import type { AnswerReader, ChatContext, EventOut } from "../../../upstream/format-kit/dialect.ts";
import { readError, statusInside } from "../../../upstream/format-kit/error-body.ts";
import { eventJson } from "../../../upstream/format-kit/event-json.ts";
import {
  type EventShape,
  learnShape,
  matchesTemplate,
  textWithin,
} from "../../../upstream/format-kit/event-template.ts";
import { pieceOf, ToolCalls } from "../../../upstream/format-kit/tool-calls.ts";
import { GivenIds } from "../../../upstream/format-kit/tool-ids.ts";
import { malformed } from "../../../upstream/vendor-failure.ts";
import { contentText, EMPTY, finishOf, imageUrl, readUsage, reasoningText, sealOf } from "./vendor-answer.ts";

const DONE = "[DONE]";
/** The most characters of a thought to buffer until its signature arrives. */
const THOUGHT_MAX = 1024 * 1024;
/** Stop learning event shapes after this many in a row that did not match the next event. */
const LEARNED_MAX = 16;

/** An event with nothing but a piece of text. */
type Delta = Extract<NeutralEvent, { kind: "text" | "reasoning" | "tool-arguments" }>;

function isDelta(event: NeutralEvent | null): event is Delta {
  return event?.kind === "text" || event?.kind === "reasoning" || event?.kind === "tool-arguments";
}

interface Choice {
  readonly calls: ToolCalls;
  /** The text of a thought that has no signature yet. */
  thought: string;
  thoughts: number;
  images: number;
}

class ChatCompletionsEvents implements AnswerReader {
  readonly #context: ChatContext;
  readonly #out: EventOut;
  readonly #choices = new Map<number, Choice>();
  readonly #ids: GivenIds;
  #bore = false;
  /** The bytes around the text in events of `#delta`'s kind: nearly all events match, and skip JSON parsing. */
  #shape: EventShape | null = null;
  #delta: Delta | null = null;
  #learned = 0;
  /** The number of neutral events from the current one, and the last of them. */
  #told = 0;
  #last: NeutralEvent | null = null;
  /** Events that look like the current one belong to the same call; always true for an event without calls. */
  #isSameCall = true;

  constructor(context: ChatContext, out: EventOut) {
    this.#context = context;
    this.#out = out;
    this.#ids = new GivenIds(context);
  }

  event(bytes: Buffer, start: number, end: number): boolean {
    const shape = this.#shape;
    if (shape !== null && this.#delta !== null && matchesTemplate(shape, bytes, start, end)) {
      this.#learned = 0;
      this.#out.event({ ...this.#delta, text: textWithin(shape, bytes, start, end) });
      return true;
    }
    this.#told = 0;
    this.#isSameCall = true;
    const isRead = this.#parsed(bytes, start, end);
    if (this.#told === 1 && this.#isSameCall && isDelta(this.#last))
      this.#learn(bytes.subarray(start, end), this.#last);
    return isRead;
  }

  /** Learns the shape of a plain text event, because the following ones usually match it. */
  #learn(came: Buffer, delta: Delta): void {
    if (this.#learned >= LEARNED_MAX) return;
    this.#learned += 1;
    const shape = learnShape(came);
    const isItsText = shape !== null && textWithin(shape, came, 0, came.length) === delta.text;
    this.#shape = isItsText ? shape : null;
    this.#delta = delta;
  }

  #tell(event: NeutralEvent): void {
    this.#told += 1;
    this.#last = event;
    this.#out.event(event);
  }

  #parsed(bytes: Buffer, start: number, end: number): boolean {
    if (bytes.toString("utf8", start, end) === DONE) {
      this.#out.end();
      return true;
    }
    const chunk = eventJson(bytes, start, end);
    if (chunk === null) return false;
    if (chunk.error) this.#out.fail(classify(statusInside(chunk), readError(chunk), null));
    else this.#read(chunk);
    return true;
  }

  /** The message of each choice is its only delta. */
  whole(json: unknown): void {
    const choices = isRecord(json) ? listOf(json.choices).filter(isRecord) : [];
    this.#count(json);
    if (isRecord(json) && json.error) return this.#out.fail(classify(statusInside(json), readError(json), null));
    if (choices.length === 0) return this.#out.fail(malformed("the answer has no choices"));
    for (const [at, told] of choices.entries()) {
      const index = typeof told.index === "number" ? told.index : at;
      const choice = this.#choice(index);
      const message = isRecord(told.message) ? told.message : {};
      const calls = listOf(message.tool_calls).filter(isRecord);
      this.#give(index, choice, { ...message, tool_calls: calls.map((call, place) => ({ ...call, index: place })) });
      const reason = wordOf(told.finish_reason);
      this.#finish(index, choice, reason, stringOf(told.native_finish_reason) ?? reason);
    }
    this.#out.end();
  }

  #count(json: unknown): void {
    const { usage, upstreamCostNano } = readUsage(json, this.#context);
    if (usage !== null) this.#out.usage(usage);
    if (upstreamCostNano !== null) this.#out.upstreamCost(upstreamCostNano);
  }

  #read(chunk: Json): void {
    this.#count(chunk);
    for (const choice of Array.isArray(chunk.choices) ? chunk.choices : []) {
      if (isRecord(choice)) this.#readChoice(typeof choice.index === "number" ? choice.index : 0, choice);
    }
  }

  #readChoice(index: number, told: Json): void {
    const choice = this.#choice(index);
    if (isRecord(told.delta)) this.#give(index, choice, told.delta);
    const reason = wordOf(told.finish_reason);
    if (reason !== "") this.#finish(index, choice, reason, stringOf(told.native_finish_reason) ?? reason);
  }

  #choice(index: number): Choice {
    const known = this.#choices.get(index);
    if (known !== undefined) return known;
    const calls = new ToolCalls(this.#context, index, this.#ids, this.#out);
    const choice = { calls, thought: "", thoughts: 0, images: 0 };
    this.#choices.set(index, choice);
    this.#tell({ kind: "begin", choice: index });
    return choice;
  }

  #give(index: number, choice: Choice, delta: Json): void {
    this.#say(index, "reasoning", reasoningText(delta));
    // Before the text: a signed thought replaces the plain one that it repeats.
    for (const detail of listOf(delta.reasoning_details)) this.#think(index, choice, detail);
    this.#say(index, "text", contentText(delta));
    this.#say(index, "refusal", stringOf(delta.refusal) ?? "");
    for (const image of listOf(delta.images)) {
      const url = imageUrl(image);
      if (url === null) continue;
      this.#bore = true;
      this.#tell({ kind: "image", choice: index, at: choice.images++, url });
    }
    for (const call of listOf(delta.tool_calls).filter(isRecord)) {
      this.#bore = true;
      // Some vendors give every call the same index, so a known shape may belong to the call before.
      this.#shape = null;
      for (const told of choice.calls.read(pieceOf(call))) this.#tell(told);
      this.#isSameCall &&= choice.calls.isIdentified;
    }
  }

  #say(choice: number, kind: "text" | "reasoning" | "refusal", text: string): void {
    if (text === "") return;
    this.#bore = true;
    this.#tell({ kind, choice, text });
  }

  /** A thought arrives in fragments, of which the last is signed. */
  #think(index: number, choice: Choice, detail: unknown): void {
    const seal = sealOf(detail, this.#context);
    if (seal !== null) {
      const thought = seal.sealed === null ? { ...seal, text: choice.thought + seal.text } : seal;
      if (seal.sealed === null) choice.thought = "";
      this.#tell({ kind: "thought", choice: index, at: choice.thoughts++, thought });
    } else if (isRecord(detail) && detail.type === "reasoning.text") {
      choice.thought += stringOf(detail.text) ?? "";
      if (choice.thought.length > THOUGHT_MAX) this.#out.fail(malformed("the stream leaves too much open"));
    }
  }

  #finish(index: number, choice: Choice, reason: string, native: string): void {
    this.#shape = null;
    if (reason === "error") {
      this.#out.fail(classify(200, { words: ["error"], message: "the stream ended with an error" }, null));
    } else {
      if (reason === "stop" && !this.#bore && this.#context.mayBeEmpty !== true) this.#out.empty(EMPTY);
      for (const told of choice.calls.settleAll()) this.#tell(told);
      this.#tell({ kind: "finish", choice: index, reason: choice.calls.reason(finishOf(reason)), native });
    }
  }
}

export function chatCompletionsEvents(context: ChatContext, out: EventOut): AnswerReader {
  return new ChatCompletionsEvents(context, out);
}
