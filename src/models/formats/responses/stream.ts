// Writes neutral events as the events of the responses wire: items open, fill and close one after the other, never two at once.
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
  prefixOf,
  reasoningItem,
  textPart,
  wholeArguments,
} from "./items.ts";
import type { OpenAction, OpenCall, OpenMessage, OpenThought, WaitingCall } from "./open-items.ts";
import { type ResponseState, responseObject } from "./response-object.ts";

const NOTHING = Buffer.alloc(0);

/** How far an answer has come: what is told of one that breaks goes on from here. */
export interface Progress {
  /** The number of the next event. */
  sequence: number;
  /** Items that are finished. */
  readonly output: Json[];
}

/** An event as it goes out: both lines in one piece, because some clients lose what comes in two. */
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
  /** Actions that began while another ran, and those that have ended before their turn. */
  #actions: ActionCall[] = [];
  readonly #ended = new Map<string, ActionBlock>();
  /** What every delta of the open item ends its first half with. */
  #fillHead = "";
  #waiting: WaitingCall[] = [];
  /** Seals of thoughts that came while something else was being said. */
  #seals: string[] = [];
  #out = "";

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

  encode(event: NeutralEvent): Buffer {
    if (event.choice !== 0) return NOTHING;
    this.#read(event);
    if (this.#out === "") return NOTHING;
    const bytes = Buffer.from(this.#out);
    this.#out = "";
    return bytes;
  }

  #read(event: NeutralEvent): void {
    switch (event.kind) {
      case "begin":
        return this.#begin();
      case "text":
      case "refusal":
        return this.#say(event.kind, event.text);
      case "reasoning":
        if (this.#parts.shows) this.#think(event.text);
        return;
      case "thought":
        if (this.#parts.seals && event.thought.sealed !== null) this.#seal(event.thought.sealed);
        return;
      case "tool-call":
        return this.#call(event);
      case "tool-arguments":
        return this.#write(event.at, event.text);
      case "image":
        this.#settle();
        return this.#whole(imageItem(this.#id("ig"), event.url));
      case "finish":
        return this.#finish(event.reason);
      case "action-begun":
        return this.#act(event.action);
      case "action-done":
        return this.#acted(event.action);
      case "citation":
        if (event.format === CITED) this.#cite(annotationOf(event.json));
        return;
      case "native":
        return;
    }
  }

  /** `more` are fields, each after a comma. */
  #tell(type: string, more: string): void {
    this.#out += eventText(type, this.#progress, more);
  }

  #id(prefix: string): string {
    return `${prefix}_${this.#parts.idTail}_${this.#progress.output.length}`;
  }

  #at(): number {
    return this.#progress.output.length;
  }

  #response(type: string, state: ResponseState): void {
    this.#tell(type, `,"response":${JSON.stringify(responseObject(this.#head, this.#echo, state))}`);
  }

  #begin(): void {
    if (this.#begun) return;
    this.#begun = true;
    // Made once: instructions and tools can be long, and stand in both.
    const state = { status: "in_progress", output: [], completedS: null } as const;
    const response = `,"response":${JSON.stringify(responseObject(this.#head, this.#echo, state))}`;
    this.#tell("response.created", response);
    this.#tell("response.in_progress", response);
  }

  #added(item: Json): void {
    this.#tell("response.output_item.added", `,"output_index":${this.#at()},"item":${JSON.stringify(item)}`);
  }

  #done(item: Json): void {
    this.#tell("response.output_item.done", `,"output_index":${this.#at()},"item":${JSON.stringify(item)}`);
    this.#progress.output.push(item);
    this.#open = null;
  }

  /** An item that comes in one piece. */
  #whole(item: Json): void {
    this.#added({ ...item, status: "in_progress" });
    this.#done(item);
  }

  #say(part: "text" | "refusal", text: string): void {
    if (this.#open?.kind !== "message") {
      this.#settle();
      const id = this.#id("msg");
      this.#added(messageItem(id, "in_progress", []));
      this.#open = { kind: "message", id, content: [], part, text: "", annotations: [] };
      this.#openPart(this.#open);
    } else if (this.#open.part !== part) {
      this.#closePart(this.#open);
      this.#open.part = part;
      this.#openPart(this.#open);
    }
    this.#open.text += text;
    this.#fill(text, part === "text" ? ',"logprobs":[]' : "");
  }

  #openPart(message: OpenMessage): void {
    const at = `,"item_id":"${message.id}","output_index":${this.#at()},"content_index":${message.content.length}`;
    this.#tell("response.content_part.added", `${at},"part":${JSON.stringify(textPart(message.part, ""))}`);
    this.#fillWith(message.part === "text" ? "response.output_text.delta" : "response.refusal.delta", at);
  }

  #closePart(message: OpenMessage): void {
    const { id, part, text, content } = message;
    const at = `,"item_id":"${id}","output_index":${this.#at()},"content_index":${content.length}`;
    const said = JSON.stringify(text);
    if (part === "text") this.#tell("response.output_text.done", `${at},"text":${said},"logprobs":[]`);
    else this.#tell("response.refusal.done", `${at},"refusal":${said}`);
    const whole = textPart(part, text, message.annotations);
    this.#tell("response.content_part.done", `${at},"part":${JSON.stringify(whole)}`);
    content.push(whole);
    message.text = "";
    message.annotations = [];
  }

  /** Where the text that is open comes from. */
  #cite(annotation: Json): void {
    const open = this.#open;
    if (open?.kind !== "message" || open.part !== "text") return;
    const { id, content, annotations } = open;
    const at = `,"item_id":"${id}","output_index":${this.#at()},"content_index":${content.length}`;
    const told = `,"annotation_index":${annotations.length},"annotation":${JSON.stringify(annotation)}`;
    this.#tell("response.output_text.annotation.added", at + told);
    annotations.push(annotation);
  }

  /** One at a time is open: those that run beside it have their turn when it has ended. */
  #act(action: ActionCall): void {
    if (this.#open?.kind === "action") {
      this.#actions.push(action);
      return;
    }
    this.#settle();
    this.#openAction(action);
  }

  #openAction(action: ActionCall): void {
    const id = this.#id(prefixOf(action));
    this.#added(actionItem(id, "in_progress", action, null));
    this.#open = { kind: "action", id, action };
    const at = `,"item_id":"${id}","output_index":${this.#at()}`;
    const type = action.hosted === null ? "mcp_call" : "web_search_call";
    this.#tell(`response.${type}.in_progress`, at);
    if (action.hosted !== null) return this.#tell("response.web_search_call.searching", at);
    const text = JSON.stringify(action.arguments);
    this.#tell("response.mcp_call_arguments.delta", `${at},"delta":${text}`);
    this.#tell("response.mcp_call_arguments.done", `${at},"arguments":${text}`);
  }

  #acted(done: ActionBlock): void {
    this.#ended.set(done.id, done);
    for (;;) {
      const open = this.#open;
      if (open?.kind !== "action") return;
      const ended = this.#ended.get(open.action.id);
      if (ended === undefined) return;
      const type = ended.hosted === null ? "mcp_call" : "web_search_call";
      const word = ended.ok || ended.hosted !== null ? "completed" : "failed";
      this.#tell(`response.${type}.${word}`, `,"item_id":"${open.id}","output_index":${this.#at()}`);
      this.#done(actionItem(open.id, "completed", ended, ended));
      const next = this.#actions.shift();
      if (next !== undefined) this.#openAction(next);
    }
  }

  /** From here on deltas of this type are written. */
  #fillWith(type: string, at: string): void {
    this.#fillHead = `${at},"delta":`;
    this.#fillType = type;
  }
  #fillType = "";

  #fill(text: string, more: string): void {
    this.#tell(this.#fillType, `${this.#fillHead}${JSON.stringify(text)}${more}`);
  }

  #think(text: string): void {
    if (this.#open?.kind !== "thought") {
      this.#settle();
      const id = this.#id("rs");
      this.#added(reasoningItem(id, "in_progress", [], null));
      const at = `,"item_id":"${id}","output_index":${this.#at()},"summary_index":0`;
      this.#tell("response.reasoning_summary_part.added", `${at},"part":{"type":"summary_text","text":""}`);
      this.#fillWith("response.reasoning_summary_text.delta", at);
      this.#open = { kind: "thought", id, text: "" };
    }
    this.#open.text += text;
    this.#fill(text, "");
  }

  #closeThought({ id, text }: OpenThought, status: ItemStatus, sealed: string | null): void {
    const at = `,"item_id":"${id}","output_index":${this.#at()},"summary_index":0`;
    const part = { type: "summary_text", text };
    this.#tell("response.reasoning_summary_text.done", `${at},"text":${JSON.stringify(text)}`);
    this.#tell("response.reasoning_summary_part.done", `${at},"part":${JSON.stringify(part)}`);
    this.#done(reasoningItem(id, status, [part], sealed));
  }

  #seal(sealed: string): void {
    if (this.#open?.kind === "thought") this.#closeThought(this.#open, "completed", sealed);
    else if (this.#open === null) this.#whole(reasoningItem(this.#id("rs"), "completed", [], sealed));
    else this.#seals.push(sealed);
  }

  #call({ at, id, name, arguments: text }: Extract<NeutralEvent, { kind: "tool-call" }>): void {
    const called = this.#parts.tools.called(name);
    const call = { at, callId: id, called, text };
    if (this.#open?.kind === "call") {
      this.#waiting.push(call);
      return;
    }
    this.#settle();
    this.#openCall(call);
  }

  #openCall(call: WaitingCall): void {
    const { called, callId, text } = call;
    const id = this.#id(called.custom ? "ctc" : "fc");
    this.#added(callItem(id, "in_progress", { called, callId, text: "" }));
    this.#open = { ...call, kind: "call", id };
    const at = `,"item_id":"${id}","output_index":${this.#at()}`;
    this.#fillWith("response.function_call_arguments.delta", at);
    if (text !== "" && !called.custom) this.#fill(text, "");
  }

  #write(at: number, text: string): void {
    const open = this.#open;
    if (open?.kind === "call" && open.at === at) {
      open.text += text;
      // What a custom tool is called with comes wrapped in JSON, and goes out unwrapped when it is whole.
      if (!open.called.custom) this.#fill(text, "");
      return;
    }
    const waiting = this.#waiting.find((call) => call.at === at);
    if (waiting === undefined) throw new Error("arguments came for a call that had ended");
    waiting.text += text;
  }

  #closeCall(open: OpenCall, status: ItemStatus): void {
    const { id, called, callId } = open;
    const at = `,"item_id":"${id}","output_index":${this.#at()}`;
    const text =
      status === "completed" ? wholeArguments(called, open.text) : called.custom ? customInput(open.text) : open.text;
    const told = JSON.stringify(text);
    if (called.custom) {
      this.#tell("response.custom_tool_call_input.delta", `${at},"delta":${told}`);
      this.#tell("response.custom_tool_call_input.done", `${at},"input":${told}`);
    } else {
      if (open.text === "" && text !== "") this.#fill(text, "");
      this.#tell(
        "response.function_call_arguments.done",
        `${at},"name":${JSON.stringify(called.name)},"arguments":${told}`,
      );
    }
    this.#done(callItem(id, status, { called, callId, text }));
  }

  /** Closes what is open, and says what had to wait for that. `status` is that of the last item. */
  #settle(status: ItemStatus = "completed"): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#close(waiting.length === 0 ? status : "completed");
    for (const [place, call] of waiting.entries()) {
      this.#openCall(call);
      this.#close(place === waiting.length - 1 ? status : "completed");
    }
    const seals = this.#seals;
    this.#seals = [];
    for (const sealed of seals) this.#whole(reasoningItem(this.#id("rs"), "completed", [], sealed));
  }

  #close(status: ItemStatus): void {
    const open = this.#open;
    if (open === null) return;
    if (open.kind === "thought") return this.#closeThought(open, status, null);
    if (open.kind === "call") return this.#closeCall(open, status);
    if (open.kind === "action") return this.#done(actionItem(open.id, "incomplete", open.action, null));
    this.#closePart(open);
    this.#done(messageItem(open.id, status, open.content));
  }

  #finish(reason: FinishReason): void {
    this.#begin();
    const { status, incomplete } = endOf(reason);
    this.#settle(status === "incomplete" ? "incomplete" : "completed");
    const completedS = status === "completed" ? this.#nowS() : null;
    const { output } = this.#progress;
    this.#response(`response.${status}`, {
      status,
      output,
      completedS,
      ...(incomplete === undefined ? {} : { incomplete }),
    });
  }
}
