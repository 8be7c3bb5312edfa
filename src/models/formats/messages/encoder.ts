// Encodes one stream in the messages format: one open block at a time, numbered without gaps.
import { type Json, listOf } from "../../../core/json.ts";
import type { ActionCall, EventEncoder, NeutralEvent, ReasoningBlock } from "../../../core/neutral.ts";
import { jsonText } from "../../../core/raw-json.ts";
import { WholeJson } from "../../../core/whole-json.ts";
import type { AnswerHead } from "../wire.ts";
import {
  actionResult,
  actionUse,
  CITED,
  citationOf,
  inputOf,
  signatureOf,
  stopOf,
  type ThoughtsShown,
  UNSIGNED,
} from "./blocks.ts";

const NOTHING = Buffer.alloc(0);

/** The most characters to queue while a vendor sends calls in parallel. */
const QUEUED_CHARS_MAX = 1024 * 1024;
const QUEUED_CHARS_PER_EVENT = 64;

/** Shows that the model is at work while its output is hidden. */
export const PING = 'event: ping\ndata: {"type":"ping"}\n\n';

/** The open block. `opening` is the start of each of its deltas. */
type OpenBlock =
  | { readonly kind: "text" | "thinking"; readonly opening: string }
  | { readonly kind: "call"; readonly opening: string; readonly at: number; readonly json: WholeJson };

const DELTAS = { text: '"text_delta","text"', thinking: '"thinking_delta","thinking"' } as const;
const EMPTY = {
  text: { type: "text", text: "" },
  thinking: { type: "thinking", thinking: "", signature: "" },
} as const;

/** The start of every delta of a block; its text and two braces follow. */
function deltaOpening(index: number, delta: string): string {
  return `event: content_block_delta\ndata: {"type":"content_block_delta","index":${index},"delta":{"type":${delta}:`;
}

export function eventText(type: string, fields: Readonly<Record<string, unknown>>): string {
  return `event: ${type}\ndata: ${jsonText({ type, ...fields })}\n\n`;
}

export interface EncoderOptions {
  readonly shown: ThoughtsShown;
  readonly head: AnswerHead;
  /** An estimate for the first event. */
  readonly promptTokens: number;
  readonly stops: readonly string[];
}

/** Leaves the last event open inside its usage for the charge. Throws if a vendor sends more parallel calls than can be queued. */
export class MessagesEncoder implements EventEncoder {
  readonly #options: EncoderOptions;
  #started = false;
  #finished = false;
  #index = -1;
  #open: OpenBlock | null = null;
  /** Events to write after the open call. */
  #queued: NeutralEvent[] = [];
  #queuedChars = 0;
  #calls = false;
  #refused = false;
  #pinged = false;
  /** The blocks of a whole answer; null for a stream. */
  #content: Json[] | null = null;
  #end: Json = { stop_reason: null, stop_sequence: null };

  constructor(options: EncoderOptions) {
    this.#options = options;
  }

  /** The message that these events make. */
  whole(events: readonly NeutralEvent[]): Json {
    const content: Json[] = [];
    this.#content = content;
    for (const event of events.filter(({ choice }) => choice === 0)) {
      if (event.kind === "finish") this.#finish(event);
      else this.#write(event);
    }
    const { id, model } = this.#options.head;
    return { id, type: "message", role: "assistant", model, content, ...this.#end };
  }

  encode(event: NeutralEvent): Buffer {
    // The format has a single answer, and nothing may follow its end.
    if (this.#finished || event.choice !== 0) return NOTHING;
    const text = this.#start() + this.#accept(event);
    return text === "" ? NOTHING : Buffer.from(text);
  }

  #start(): string {
    if (this.#started) return "";
    this.#started = true;
    const { head, promptTokens } = this.#options;
    const message = { id: head.id, type: "message", role: "assistant", model: head.model, content: [] };
    // Vendors report usage at the end, so the first event has an estimate of the prompt.
    const usage = {
      input_tokens: promptTokens,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      output_tokens: 1,
    };
    return eventText("message_start", { message: { ...message, stop_reason: null, stop_sequence: null, usage } });
  }

  #accept(event: NeutralEvent): string {
    if (event.kind === "finish") return this.#finish(event);
    if (!this.#mustQueue(event)) return this.#write(event) + this.#flush();
    this.#queued.push(event);
    this.#queuedChars += QUEUED_CHARS_PER_EVENT + ("text" in event ? event.text.length : 0);
    if (this.#queuedChars > QUEUED_CHARS_MAX) throw new Error("the stream writes too many calls side by side");
    return "";
  }

  /** True if the event would open a block while a call is incomplete. */
  #mustQueue(event: NeutralEvent): boolean {
    const open = this.#open;
    if (open?.kind !== "call") return false;
    if (event.kind === "tool-arguments" && event.at === open.at) return false;
    return this.#queued.length > 0 || !open.json.isWhole;
  }

  /** Writes queued events, as far as possible. */
  #flush(): string {
    if (this.#queued.length === 0 || (this.#open?.kind === "call" && !this.#open.json.isWhole)) return "";
    const waiting = this.#queued;
    this.#queued = [];
    this.#queuedChars = 0;
    return waiting.map((event) => this.#accept(event)).join("");
  }

  #write(event: NeutralEvent): string {
    switch (event.kind) {
      case "text":
      case "refusal":
        this.#refused ||= event.kind === "refusal";
        return this.#writeDelta("text", event.text);
      case "reasoning":
        return this.#writeThought(event.text);
      case "thought":
        return this.#endThought(event.thought);
      case "tool-call":
        return this.#startCall(event);
      case "tool-arguments":
        return this.#writeArguments(event);
      case "citation":
        return event.format === CITED ? this.#writeCitation(citationOf(event.json)) : "";
      case "action-begun":
        return this.#writeAction(event.action);
      case "action-done":
        return this.#startBlock(actionResult(event.action)) + this.#stop();
      default:
        return "";
    }
  }

  #writeDelta(kind: "text" | "thinking", text: string): string {
    const before = this.#openBlock(kind);
    const block = this.#content?.at(-1);
    if (block !== undefined) block[kind] = `${block[kind]}${text}`;
    return `${before}${this.#open?.opening}${JSON.stringify(text)}}}\n\n`;
  }

  /** Hidden thoughts open a block too, to show that the model is at work. */
  #writeThought(text: string): string {
    switch (this.#options.shown) {
      case "all":
        return this.#writeDelta("thinking", text);
      case "sealed":
        return this.#openBlock("thinking");
      case "none":
        return this.#writePing();
    }
  }

  #writePing(): string {
    if (this.#pinged) return "";
    this.#pinged = true;
    return PING;
  }

  #writeCitation(citation: Json): string {
    if (this.#open?.kind !== "text") return "";
    const block = this.#content?.at(-1);
    if (block !== undefined) block.citations = [...listOf(block.citations), citation];
    const delta = { type: "citations_delta", citation };
    return eventText("content_block_delta", { index: this.#index, delta });
  }

  /** A gateway call, in one piece: its input is complete before it runs. */
  #writeAction(action: ActionCall): string {
    const use = actionUse(action);
    const begun = this.#startBlock(use, { ...use, input: {} });
    const delta = { type: "input_json_delta", partial_json: jsonText(use.input) };
    return begun + eventText("content_block_delta", { index: this.#index, delta }) + this.#stop();
  }

  /** Closes the open block, and starts the next one. `begun`: the block without what its deltas add. */
  #startBlock(block: Json, begun = block): string {
    const before = this.#close();
    const index = ++this.#index;
    this.#content?.push({ ...block });
    return before + eventText("content_block_start", { index, content_block: begun });
  }

  /** Does nothing if a block of this kind is open. */
  #openBlock(kind: "text" | "thinking"): string {
    if (this.#open?.kind === kind) return "";
    const begun = this.#startBlock(EMPTY[kind]);
    this.#open = { kind, opening: deltaOpening(this.#index, DELTAS[kind]) };
    return begun;
  }

  /** Ends a thought. Its text was streamed, or is hidden. */
  #endThought(thought: ReasoningBlock): string {
    if (this.#options.shown === "none") return "";
    if (this.#open?.kind === "thinking") return this.#closeThought(signatureOf(thought));
    if (thought.text !== "" || thought.sealed === null)
      return this.#writeThought(thought.text) + this.#closeThought(signatureOf(thought));
    return this.#startBlock({ type: "redacted_thinking", data: thought.sealed }) + this.#stop();
  }

  #closeThought(signature: string): string {
    this.#open = null;
    const block = this.#content?.at(-1);
    if (block !== undefined) block.signature = signature;
    const delta = { type: "signature_delta", signature };
    return eventText("content_block_delta", { index: this.#index, delta }) + this.#stop();
  }

  #startCall({ at, id, name, arguments: text }: Extract<NeutralEvent, { kind: "tool-call" }>): string {
    this.#calls = true;
    const use = { type: "tool_use", id, name, input: {} };
    const begun = this.#startBlock(this.#content === null ? use : { ...use, input: inputOf(text) }, use);
    const opening = deltaOpening(this.#index, '"input_json_delta","partial_json"');
    this.#open = { kind: "call", opening, at, json: new WholeJson() };
    return text === "" ? begun : begun + this.#writeFragment(this.#open, text);
  }

  /** Ignores arguments for a call that is not open: it was already complete. */
  #writeArguments({ at, text }: Extract<NeutralEvent, { kind: "tool-arguments" }>): string {
    const open = this.#open;
    return open?.kind === "call" && open.at === at && text !== "" ? this.#writeFragment(open, text) : "";
  }

  #writeFragment(call: OpenBlock & { kind: "call" }, text: string): string {
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

  /** Writes all queued events, complete or not: no more will come. */
  #finish(event: Extract<NeutralEvent, { kind: "finish" }>): string {
    const waiting = this.#queued;
    this.#queued = [];
    const rest = inOrder(waiting, this.#open).map((queued) => this.#write(queued));
    const delta = stopOf(event, { calls: this.#calls, refused: this.#refused, stops: this.#options.stops });
    this.#finished = true;
    this.#end = delta;
    const opening = `event: message_delta\ndata: {"type":"message_delta","delta":${JSON.stringify(delta)},"usage":{`;
    return rest.join("") + this.#close() + opening;
  }
}

function callOf(event: NeutralEvent): number | null {
  return event.kind === "tool-call" || event.kind === "tool-arguments" ? event.at : null;
}

/** Sorts the events so that each call's events are consecutive. */
function inOrder(events: readonly NeutralEvent[], open: OpenBlock | null): readonly NeutralEvent[] {
  const ranks = new Map<number, number>(open?.kind === "call" ? [[open.at, -1]] : []);
  const ranked = events.map((event, at) => {
    const call = callOf(event);
    if (call === null) return { event, rank: at };
    if (!ranks.has(call)) ranks.set(call, at);
    return { event, rank: ranks.get(call) ?? at };
  });
  return ranked.sort((a, b) => a.rank - b.rank).map(({ event }) => event);
}
