// Encodes neutral events in the responses format: opens, fills and closes one item at a time.
import type { Json } from "../../../core/json.ts";
import type { ActionBlock, ActionCall, EventEncoder, FinishReason, NeutralEvent } from "../../../core/neutral.ts";
import type { AnswerHead } from "../wire.ts";
import {
  actionItem,
  annotationOf,
  CITED,
  callItem,
  customInput,
  endOf,
  type ItemParts,
  type ItemStatus,
  imageItem,
  messageItem,
  type OpenAction,
  type OpenCall,
  type OpenMessage,
  type OpenThought,
  prefixOf,
  reasoningItem,
  textPart,
  type WaitingCall,
  wholeArguments,
} from "./items.ts";
import { responseObject } from "./response-object.ts";

const NOTHING = Buffer.alloc(0);

/** The progress of an answer; the error events of a broken one continue it. */
export interface Progress {
  /** The number of the next event. */
  sequence: number;
  /** Finished items. */
  readonly output: Json[];
}

/** An event as a single string, because some clients lose events that arrive in two pieces. */
export function eventText(type: string, progress: Progress, more: string): string {
  return `event: ${type}\ndata: {"type":"${type}","sequence_number":${progress.sequence++}${more}}\n\n`;
}

export class ResponsesEncoder implements EventEncoder {
  readonly #head: AnswerHead;
  readonly #echo: Json;
  readonly #parts: ItemParts;
  readonly #progress: Progress;
  readonly #nowS: () => number;
  #begun = false;
  #open: OpenMessage | OpenThought | OpenCall | OpenAction | null = null;
  /** Actions that started while another ran, and those that ended before their turn. */
  #actions: ActionCall[] = [];
  readonly #ended = new Map<string, ActionBlock>();
  /** The start of every delta of the open item. */
  #deltaHead = "";
  #waiting: WaitingCall[] = [];
  /** Ended calls that had no arguments; some vendors' readers add empty ones at the end of the answer. */
  readonly #bare = new Set<number>();
  /** Seals of thoughts that arrived while another item was open. */
  #seals: string[] = [];
  #out = "";
  #isWhole = false;
  #response: Json = {};

  constructor(
    head: AnswerHead,
    { echo, parts, progress, nowS }: { echo: Json; parts: ItemParts; progress: Progress; nowS: () => number },
  ) {
    this.#head = head;
    this.#echo = echo;
    this.#parts = parts;
    this.#progress = progress;
    this.#nowS = nowS;
  }

  /** The response object after the last of these events, which are not written. */
  whole(events: readonly NeutralEvent[]): Json {
    this.#isWhole = true;
    for (const event of events) if (event.choice === 0) this.#handle(event);
    return this.#response;
  }

  encode(event: NeutralEvent): Buffer {
    if (event.choice !== 0) return NOTHING;
    this.#handle(event);
    if (this.#out === "") return NOTHING;
    const bytes = Buffer.from(this.#out);
    this.#out = "";
    return bytes;
  }

  #handle(event: NeutralEvent): void {
    switch (event.kind) {
      case "begin":
        return this.#begin();
      case "text":
      case "refusal":
        return this.#writeText(event.kind, event.text);
      case "reasoning":
        if (this.#parts.shows) this.#writeThought(event.text);
        return;
      case "thought":
        if (this.#parts.seals && event.thought.sealed !== null) this.#seal(event.thought.sealed);
        return;
      case "tool-call":
        return this.#startCall(event);
      case "tool-arguments":
        return this.#writeArguments(event.at, event.text);
      case "image":
        this.#closeAll();
        return this.#writeItem(imageItem(this.#id("ig"), event.url));
      case "finish":
        return this.#finish(event.reason);
      case "action-begun":
        return this.#startAction(event.action);
      case "action-done":
        return this.#endAction(event.action);
      case "citation":
        if (event.format === CITED) this.#writeCitation(annotationOf(event.json));
        return;
      case "native":
        return;
    }
  }

  /** `more`: further fields, each after a comma. */
  #emit(type: string, more: string): void {
    if (!this.#isWhole) this.#out += eventText(type, this.#progress, more);
  }

  #id(prefix: string): string {
    return `${prefix}_${this.#parts.idTail}_${this.#progress.output.length}`;
  }

  #position(): number {
    return this.#progress.output.length;
  }

  #begin(): void {
    if (this.#begun) return;
    this.#begun = true;
    // Built once for both events: instructions and tools can be long.
    if (this.#isWhole) return;
    const state = { status: "in_progress", output: [], completedS: null } as const;
    const response = `,"response":${JSON.stringify(responseObject(this.#head, this.#echo, state))}`;
    this.#emit("response.created", response);
    this.#emit("response.in_progress", response);
  }

  #itemAdded(item: Json): void {
    this.#emit("response.output_item.added", `,"output_index":${this.#position()},"item":${JSON.stringify(item)}`);
  }

  #itemDone(item: Json): void {
    this.#emit("response.output_item.done", `,"output_index":${this.#position()},"item":${JSON.stringify(item)}`);
    this.#progress.output.push(item);
    this.#open = null;
  }

  #writeItem(item: Json): void {
    this.#itemAdded({ ...item, status: "in_progress" });
    this.#itemDone(item);
  }

  #writeText(part: "text" | "refusal", text: string): void {
    if (this.#open?.kind !== "message") {
      this.#closeAll();
      const id = this.#id("msg");
      this.#itemAdded(messageItem(id, "in_progress", []));
      this.#open = { kind: "message", id, content: [], part, text: "", annotations: [] };
      this.#openPart(this.#open);
    } else if (this.#open.part !== part) {
      this.#closePart(this.#open);
      this.#open.part = part;
      this.#openPart(this.#open);
    }
    this.#open.text += text;
    this.#emitDelta(text, part === "text" ? ',"logprobs":[]' : "");
  }

  #openPart(message: OpenMessage): void {
    const at = `,"item_id":"${message.id}","output_index":${this.#position()},"content_index":${message.content.length}`;
    this.#emit("response.content_part.added", `${at},"part":${JSON.stringify(textPart(message.part, ""))}`);
    this.#setDelta(message.part === "text" ? "response.output_text.delta" : "response.refusal.delta", at);
  }

  #closePart(message: OpenMessage): void {
    const { id, part, text, content } = message;
    const at = `,"item_id":"${id}","output_index":${this.#position()},"content_index":${content.length}`;
    const quoted = JSON.stringify(text);
    if (part === "text") this.#emit("response.output_text.done", `${at},"text":${quoted},"logprobs":[]`);
    else this.#emit("response.refusal.done", `${at},"refusal":${quoted}`);
    const whole = textPart(part, text, message.annotations);
    this.#emit("response.content_part.done", `${at},"part":${JSON.stringify(whole)}`);
    content.push(whole);
    message.text = "";
    message.annotations = [];
  }

  #writeCitation(annotation: Json): void {
    const open = this.#open;
    if (open?.kind !== "message" || open.part !== "text") return;
    const { id, content, annotations } = open;
    const at = `,"item_id":"${id}","output_index":${this.#position()},"content_index":${content.length}`;
    const fields = `,"annotation_index":${annotations.length},"annotation":${JSON.stringify(annotation)}`;
    this.#emit("response.output_text.annotation.added", at + fields);
    annotations.push(annotation);
  }

  /** Only one action is open at a time; others wait. */
  #startAction(action: ActionCall): void {
    if (this.#open?.kind === "action") {
      this.#actions.push(action);
      return;
    }
    this.#closeAll();
    this.#openAction(action);
  }

  #openAction(action: ActionCall): void {
    const id = this.#id(prefixOf(action));
    this.#itemAdded(actionItem(id, "in_progress", action, null));
    this.#open = { kind: "action", id, action };
    const at = `,"item_id":"${id}","output_index":${this.#position()}`;
    const type = action.hosted === null ? "mcp_call" : "web_search_call";
    this.#emit(`response.${type}.in_progress`, at);
    if (action.hosted !== null) return this.#emit("response.web_search_call.searching", at);
    const text = JSON.stringify(action.arguments);
    this.#emit("response.mcp_call_arguments.delta", `${at},"delta":${text}`);
    this.#emit("response.mcp_call_arguments.done", `${at},"arguments":${text}`);
  }

  #endAction(done: ActionBlock): void {
    this.#ended.set(done.id, done);
    for (;;) {
      const open = this.#open;
      if (open?.kind !== "action") return;
      const ended = this.#ended.get(open.action.id);
      if (ended === undefined) return;
      const type = ended.hosted === null ? "mcp_call" : "web_search_call";
      const word = ended.ok || ended.hosted !== null ? "completed" : "failed";
      this.#emit(`response.${type}.${word}`, `,"item_id":"${open.id}","output_index":${this.#position()}`);
      this.#itemDone(actionItem(open.id, "completed", ended, ended));
      const next = this.#actions.shift();
      if (next !== undefined) this.#openAction(next);
    }
  }

  #setDelta(type: string, at: string): void {
    this.#deltaHead = `${at},"delta":`;
    this.#deltaType = type;
  }
  #deltaType = "";

  #emitDelta(text: string, more: string): void {
    this.#emit(this.#deltaType, `${this.#deltaHead}${JSON.stringify(text)}${more}`);
  }

  #writeThought(text: string): void {
    if (this.#open?.kind !== "thought") {
      this.#closeAll();
      const id = this.#id("rs");
      this.#itemAdded(reasoningItem(id, "in_progress", [], null));
      const at = `,"item_id":"${id}","output_index":${this.#position()},"summary_index":0`;
      this.#emit("response.reasoning_summary_part.added", `${at},"part":{"type":"summary_text","text":""}`);
      this.#setDelta("response.reasoning_summary_text.delta", at);
      this.#open = { kind: "thought", id, text: "" };
    }
    this.#open.text += text;
    this.#emitDelta(text, "");
  }

  #closeThought({ id, text }: OpenThought, status: ItemStatus, sealed: string | null): void {
    const at = `,"item_id":"${id}","output_index":${this.#position()},"summary_index":0`;
    const part = { type: "summary_text", text };
    this.#emit("response.reasoning_summary_text.done", `${at},"text":${JSON.stringify(text)}`);
    this.#emit("response.reasoning_summary_part.done", `${at},"part":${JSON.stringify(part)}`);
    this.#itemDone(reasoningItem(id, status, [part], sealed));
  }

  #seal(sealed: string): void {
    if (this.#open?.kind === "thought") this.#closeThought(this.#open, "completed", sealed);
    else if (this.#open === null) this.#writeItem(reasoningItem(this.#id("rs"), "completed", [], sealed));
    else this.#seals.push(sealed);
  }

  #startCall({ at, id, name, arguments: text }: Extract<NeutralEvent, { kind: "tool-call" }>): void {
    const called = this.#parts.tools.called(name);
    const call = { at, callId: id, called, text };
    if (this.#open?.kind === "call") {
      this.#waiting.push(call);
      return;
    }
    this.#closeAll();
    this.#openCall(call);
  }

  #openCall(call: WaitingCall): void {
    const { called, callId, text } = call;
    const id = this.#id(called.custom ? "ctc" : "fc");
    this.#itemAdded(callItem(id, "in_progress", { called, callId, text: "" }));
    this.#open = { ...call, kind: "call", id };
    const at = `,"item_id":"${id}","output_index":${this.#position()}`;
    this.#setDelta("response.function_call_arguments.delta", at);
    if (text !== "" && !called.custom) this.#emitDelta(text, "");
  }

  #writeArguments(at: number, text: string): void {
    const open = this.#open;
    if (open?.kind === "call" && open.at === at) {
      open.text += text;
      // A custom tool's input arrives wrapped in JSON, and is written unwrapped once complete.
      if (!open.called.custom) this.#emitDelta(text, "");
      return;
    }
    // The call has ended, with an empty object as its arguments.
    if (text === "{}" && this.#bare.has(at)) return;
    const waiting = this.#waiting.find((call) => call.at === at);
    if (waiting === undefined) throw new Error("arguments came for a call that had ended");
    waiting.text += text;
  }

  #closeCall(open: OpenCall, status: ItemStatus): void {
    const { id, called, callId } = open;
    if (open.text === "") this.#bare.add(open.at);
    const at = `,"item_id":"${id}","output_index":${this.#position()}`;
    const text =
      status === "completed" ? wholeArguments(called, open.text) : called.custom ? customInput(open.text) : open.text;
    const quoted = JSON.stringify(text);
    if (called.custom) {
      this.#emit("response.custom_tool_call_input.delta", `${at},"delta":${quoted}`);
      this.#emit("response.custom_tool_call_input.done", `${at},"input":${quoted}`);
    } else {
      if (open.text === "" && text !== "") this.#emitDelta(text, "");
      this.#emit(
        "response.function_call_arguments.done",
        `${at},"name":${JSON.stringify(called.name)},"arguments":${quoted}`,
      );
    }
    this.#itemDone(callItem(id, status, { called, callId, text }));
  }

  /** Closes the open item, then writes waiting calls and seals. `status` is the last item's. */
  #closeAll(status: ItemStatus = "completed"): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#close(waiting.length === 0 ? status : "completed");
    for (const [place, call] of waiting.entries()) {
      this.#openCall(call);
      this.#close(place === waiting.length - 1 ? status : "completed");
    }
    const seals = this.#seals;
    this.#seals = [];
    for (const sealed of seals) this.#writeItem(reasoningItem(this.#id("rs"), "completed", [], sealed));
  }

  #close(status: ItemStatus): void {
    const open = this.#open;
    if (open === null) return;
    if (open.kind === "thought") return this.#closeThought(open, status, null);
    if (open.kind === "call") return this.#closeCall(open, status);
    if (open.kind === "action") return this.#itemDone(actionItem(open.id, "incomplete", open.action, null));
    this.#closePart(open);
    this.#itemDone(messageItem(open.id, status, open.content));
  }

  #finish(reason: FinishReason): void {
    this.#begin();
    const { status, incomplete } = endOf(reason);
    this.#closeAll(status === "incomplete" ? "incomplete" : "completed");
    const completedS = status === "completed" ? this.#nowS() : null;
    const { output } = this.#progress;
    const state = { status, output, completedS, ...(incomplete === undefined ? {} : { incomplete }) };
    this.#response = responseObject(this.#head, this.#echo, state);
    if (!this.#isWhole) this.#emit(`response.${status}`, `,"response":${JSON.stringify(this.#response)}`);
  }
}
