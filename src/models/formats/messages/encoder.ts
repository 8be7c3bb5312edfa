// Writes the events of one stream in the messages wire: one block open at a time, numbered without gaps.
import type { Json } from "../../../core/json.ts";
import type { ActionCall, EventEncoder, NeutralEvent, ReasoningBlock } from "../../../core/neutral.ts";
import { jsonText } from "../../../core/raw-json.ts";
import type { AnswerHead } from "../wire.ts";
import {
  actionResult,
  actionUse,
  CITED,
  citationOf,
  signatureOf,
  stopOf,
  type ThoughtsShown,
  UNSIGNED,
} from "./blocks.ts";
import { firstUsage } from "./usage.ts";
import { WholeJson } from "./whole-json.ts";

const NOTHING = Buffer.alloc(0);

/** The most that is kept of calls that a vendor writes side by side, in characters. */
const WAITING_MAX = 1024 * 1024;
const WAITING_PER_EVENT = 64;

/** Tells a client that the model is at work, where nothing of what it does may be shown. */
export const PING = 'event: ping\ndata: {"type":"ping"}\n\n';

/** The block that is being written. `opening` is what each of its deltas begins with. */
type OpenBlock =
  | { readonly kind: "text" | "thinking"; readonly opening: string }
  | { readonly kind: "call"; readonly opening: string; readonly at: number; readonly json: WholeJson };

const DELTAS = { text: '"text_delta","text"', thinking: '"thinking_delta","thinking"' } as const;
const EMPTY = {
  text: { type: "text", text: "" },
  thinking: { type: "thinking", thinking: "", signature: "" },
} as const;

/** What every delta of a block begins with; its text and two braces follow. */
function deltaOpening(index: number, delta: string): string {
  return `event: content_block_delta\ndata: {"type":"content_block_delta","index":${index},"delta":{"type":${delta}:`;
}

export function eventText(type: string, fields: Readonly<Record<string, unknown>>): string {
  return `event: ${type}\ndata: ${jsonText({ type, ...fields })}\n\n`;
}

export interface EncoderOptions {
  readonly shown: ThoughtsShown;
  readonly head: AnswerHead;
  /** Of the prompt, roughly. */
  readonly promptTokens: number;
  /** The strings at which the caller wants the answer to stop. */
  readonly stops: readonly string[];
}

/**
 * The last event is left open inside of its usage, which is known when the answer is charged: the frame goes on with the
 * counts. Throws where a vendor writes more calls side by side than can be kept.
 */
export class MessagesEncoder implements EventEncoder {
  readonly #options: EncoderOptions;
  #started = false;
  #finished = false;
  #index = -1;
  #open: OpenBlock | null = null;
  /** Events that can be written only once the call which is open is whole. */
  #waiting: NeutralEvent[] = [];
  #waitingChars = 0;
  #calls = false;
  #refused = false;
  #pinged = false;

  constructor(options: EncoderOptions) {
    this.#options = options;
  }

  encode(event: NeutralEvent): Buffer {
    // This wire has one answer, and nothing of it comes after its end.
    if (this.#finished || event.choice !== 0) return NOTHING;
    const text = this.#start() + this.#take(event);
    return text === "" ? NOTHING : Buffer.from(text);
  }

  #start(): string {
    if (this.#started) return "";
    this.#started = true;
    const { head, promptTokens } = this.#options;
    const message = { id: head.id, type: "message", role: "assistant", model: head.model, content: [] };
    const usage = firstUsage(promptTokens);
    return eventText("message_start", { message: { ...message, stop_reason: null, stop_sequence: null, usage } });
  }

  #take(event: NeutralEvent): string {
    if (event.kind === "finish") return this.#finish(event);
    if (!this.#mustWait(event)) return this.#write(event) + this.#goOn();
    this.#waiting.push(event);
    this.#waitingChars += WAITING_PER_EVENT + ("text" in event ? event.text.length : 0);
    if (this.#waitingChars > WAITING_MAX) throw new Error("the stream writes too many calls side by side");
    return "";
  }

  /** Whether a block would have to be opened while a call is only half written. */
  #mustWait(event: NeutralEvent): boolean {
    const open = this.#open;
    if (open?.kind !== "call") return false;
    if (event.kind === "tool-arguments" && event.at === open.at) return false;
    return this.#waiting.length > 0 || !open.json.isWhole;
  }

  /** Writes what has waited, as far as it can be written now. */
  #goOn(): string {
    if (this.#waiting.length === 0 || (this.#open?.kind === "call" && !this.#open.json.isWhole)) return "";
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#waitingChars = 0;
    return waiting.map((event) => this.#take(event)).join("");
  }

  #write(event: NeutralEvent): string {
    switch (event.kind) {
      case "text":
      case "refusal":
        this.#refused ||= event.kind === "refusal";
        return this.#say("text", event.text);
      case "reasoning":
        return this.#think(event.text);
      case "thought":
        return this.#sign(event.thought);
      case "tool-call":
        return this.#call(event);
      case "tool-arguments":
        return this.#arguments(event);
      case "citation":
        return event.format === CITED ? this.#cite(citationOf(event.json)) : "";
      case "action-begun":
        return this.#act(event.action);
      case "action-done":
        return this.#close() + this.#whole(actionResult(event.action));
      default:
        return "";
    }
  }

  #say(kind: "text" | "thinking", text: string): string {
    const before = this.#openBlock(kind);
    return `${before}${this.#open?.opening}${JSON.stringify(text)}}}\n\n`;
  }

  /** Hidden thoughts open their block all the same, so that the client knows that the model is at work. */
  #think(text: string): string {
    switch (this.#options.shown) {
      case "all":
        return this.#say("thinking", text);
      case "sealed":
        return this.#openBlock("thinking");
      case "none":
        return this.#ping();
    }
  }

  #ping(): string {
    if (this.#pinged) return "";
    this.#pinged = true;
    return PING;
  }

  #cite(citation: Json): string {
    if (this.#open?.kind !== "text") return "";
    const delta = { type: "citations_delta", citation };
    return eventText("content_block_delta", { index: this.#index, delta });
  }

  /** A call that the gateway makes, in one piece: its input is whole before it runs. */
  #act(action: ActionCall): string {
    const before = this.#close();
    const { input, ...use } = actionUse(action);
    const index = ++this.#index;
    const begun = eventText("content_block_start", { index, content_block: { ...use, input: {} } });
    const delta = { type: "input_json_delta", partial_json: jsonText(input) };
    return before + begun + eventText("content_block_delta", { index, delta }) + this.#stop();
  }

  /** A block that comes in one event. */
  #whole(content_block: Json): string {
    const index = ++this.#index;
    return eventText("content_block_start", { index, content_block }) + this.#stop();
  }

  /** Nothing where a block of the kind is open. */
  #openBlock(kind: "text" | "thinking"): string {
    if (this.#open?.kind === kind) return "";
    const before = this.#close();
    const index = ++this.#index;
    this.#open = { kind, opening: deltaOpening(index, DELTAS[kind]) };
    return before + eventText("content_block_start", { index, content_block: EMPTY[kind] });
  }

  /** A thought is over. Its text has been told in pieces, or it has none that may be told. */
  #sign(thought: ReasoningBlock): string {
    if (this.#options.shown === "none") return "";
    if (this.#open?.kind === "thinking") return this.#closeThought(signatureOf(thought));
    if (thought.text !== "" || thought.sealed === null)
      return this.#think(thought.text) + this.#closeThought(signatureOf(thought));
    const before = this.#close();
    const index = ++this.#index;
    const content_block = { type: "redacted_thinking", data: thought.sealed };
    return `${before}${eventText("content_block_start", { index, content_block })}${this.#stop()}`;
  }

  #closeThought(signature: string): string {
    this.#open = null;
    const delta = { type: "signature_delta", signature };
    return eventText("content_block_delta", { index: this.#index, delta }) + this.#stop();
  }

  #call({ at, id, name, arguments: text }: Extract<NeutralEvent, { kind: "tool-call" }>): string {
    this.#calls = true;
    const before = this.#close();
    const index = ++this.#index;
    const content_block = { type: "tool_use", id, name, input: {} };
    this.#open = {
      kind: "call",
      opening: deltaOpening(index, '"input_json_delta","partial_json"'),
      at,
      json: new WholeJson(),
    };
    const begun = before + eventText("content_block_start", { index, content_block });
    return text === "" ? begun : begun + this.#fragment(this.#open, text);
  }

  /** Arguments of a call that is not open have come too late: it was whole. */
  #arguments({ at, text }: Extract<NeutralEvent, { kind: "tool-arguments" }>): string {
    const open = this.#open;
    return open?.kind === "call" && open.at === at && text !== "" ? this.#fragment(open, text) : "";
  }

  #fragment(call: OpenBlock & { kind: "call" }, text: string): string {
    call.json.add(text);
    return `${call.opening}${JSON.stringify(text)}}}\n\n`;
  }

  #close(): string {
    const open = this.#open;
    if (open === null) return "";
    if (open.kind === "thinking") return this.#closeThought(UNSIGNED);
    this.#open = null;
    return this.#stop();
  }

  #stop(): string {
    return `event: content_block_stop\ndata: {"type":"content_block_stop","index":${this.#index}}\n\n`;
  }

  /** Whatever still waits is written now, whole or not: more will not come. */
  #finish(event: Extract<NeutralEvent, { kind: "finish" }>): string {
    const waiting = this.#waiting;
    this.#waiting = [];
    const rest = inOrder(waiting, this.#open).map((one) => this.#write(one));
    const delta = stopOf(event, { calls: this.#calls, refused: this.#refused, stops: this.#options.stops });
    this.#finished = true;
    const opening = `event: message_delta\ndata: {"type":"message_delta","delta":${JSON.stringify(delta)},"usage":{`;
    return rest.join("") + this.#close() + opening;
  }
}

function callOf(event: NeutralEvent): number | null {
  return event.kind === "tool-call" || event.kind === "tool-arguments" ? event.at : null;
}

/** The events with those of each call behind one another, as far as they were mixed. */
function inOrder(events: readonly NeutralEvent[], open: OpenBlock | null): readonly NeutralEvent[] {
  const places = new Map<number, number>(open?.kind === "call" ? [[open.at, -1]] : []);
  for (const [place, event] of events.entries()) {
    const call = callOf(event);
    if (call !== null && !places.has(call)) places.set(call, place);
  }
  const placeOf = (event: NeutralEvent, place: number) => places.get(callOf(event) ?? -1) ?? place;
  return events
    .map((event, place) => ({ event, place: placeOf(event, place) }))
    .sort((a, b) => a.place - b.place)
    .map(({ event }) => event);
}
