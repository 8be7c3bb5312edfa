// Encodes neutral answers in the generate-content format: whole, or as events that each contain a part of the answer.

import { isRecord, type Json } from "../../../core/json.ts";
import type {
  ActionBlock,
  AnswerCodec,
  AnswerText,
  EventEncoder,
  FinishReason,
  NeutralEvent,
  ReasoningBlock,
} from "../../../core/neutral.ts";
import { jsonText, rawObject } from "../../../core/raw-json.ts";
import { type ActionEvent, AT_WORK, actionJson } from "../action-events.ts";
import { eventsOf } from "../answer-events.ts";
import type { AnswerHead } from "../wire.ts";
import { groundingOf, type RanTool } from "./grounding.ts";
import { isEvents, type StreamForm } from "./stream-form.ts";
import { signatureOf } from "./turns.ts";

const NOTHING = Buffer.alloc(0);
const NO_WORDS = { parts: [{ text: "" }], role: "model" };
const DATA_URL = /^data:([^;,]{1,100});base64,/;

const FINISH: Readonly<Record<FinishReason, string>> = {
  stop: "STOP",
  length: "MAX_TOKENS",
  tool_calls: "STOP",
  content_filter: "SAFETY",
};
/** For a JSON list, which allows no comments. */
const LIST_AT_WORK = Buffer.from("\n");

/** Native finish reasons of this format that are more exact than ours. */
const EXACT: ReadonlySet<string> = new Set([
  "RECITATION",
  "LANGUAGE",
  "BLOCKLIST",
  "PROHIBITED_CONTENT",
  "SPII",
  "IMAGE_SAFETY",
]);

function finishOf({ reason, native }: { readonly reason: FinishReason; readonly native: string }): string {
  return EXACT.has(native) ? native : FINISH[reason];
}

/** Truncated arguments become an empty object. */
function ranOf({ hosted, ok, arguments: text }: ActionBlock): RanTool {
  return { hosted, ok, args: rawObject(text) ?? {} };
}

function imagePart(url: string): Json | null {
  const type = DATA_URL.exec(url.slice(0, 200));
  if (type === null) return null;
  return { inlineData: { mimeType: type[1], data: url.slice(type[0].length) } };
}

/** Truncated arguments become an empty object. */
function callPart({ id, name, arguments: text }: OpenCall): Json {
  return { functionCall: { id, name, args: rawObject(text) ?? {} } };
}

/** The signature of a thought without a call, as a separate part. */
function signaturePart({ sealed }: ReasoningBlock): Json | null {
  return sealed === null ? null : { text: "", thoughtSignature: signatureOf(sealed) };
}

export interface AnswerOptions {
  readonly showsThoughts: boolean;
  readonly choices: number;
  /** Null for a whole answer. */
  readonly form: StreamForm | null;
  /** The model may call actions; their sources are added at the end. */
  readonly acts?: boolean;
}

interface OpenCall {
  readonly id: string;
  readonly name: string;
  arguments: string;
}

/** The open calls of one candidate: each call is sent in one piece, once complete. */
class OpenCandidate {
  readonly calls = new Map<number, OpenCall>();
  /** By the id of the call, which may come before its signature or after it. */
  readonly signatures = new Map<string, string>();
  /** Of a whole answer, with adjacent texts joined. */
  readonly parts: Json[] = [];

  add(part: Json): void {
    const last = this.parts.at(-1);
    const isText = ({ text, thoughtSignature }: Json) => typeof text === "string" && thoughtSignature === undefined;
    if (last !== undefined && isText(part) && isText(last) && part.thought === last.thought)
      last.text = `${last.text}${part.text}`;
    else this.parts.push({ ...part });
  }

  signed(part: Json): Json {
    const call = part.functionCall;
    const thoughtSignature = isRecord(call) ? this.signatures.get(String(call.id)) : undefined;
    return thoughtSignature === undefined ? part : { ...part, thoughtSignature };
  }

  takeCalls(): Json[] {
    const parts = [...this.calls.values()].map(callPart);
    this.calls.clear();
    return parts;
  }
}

class GenerateEncoder implements EventEncoder {
  readonly #head: AnswerHead;
  readonly #options: AnswerOptions;
  readonly #open = new Map<number, OpenCandidate>();
  readonly #ran: ActionBlock[] = [];
  readonly #cited: Json[] = [];
  /** The text so far; kept only for models with actions. */
  #text = "";
  #begun = false;
  readonly #ended: Json[] = [];

  constructor(head: AnswerHead, options: AnswerOptions) {
    this.#head = head;
    this.#options = options;
  }

  /** The candidates of a whole answer. */
  whole(events: readonly NeutralEvent[]): readonly Json[] {
    for (const event of events) this.encode(event);
    return this.#ended;
  }

  encode(event: NeutralEvent): Buffer {
    const { choice } = event;
    switch (event.kind) {
      case "text":
      case "refusal":
        if (this.#options.acts) this.#text += event.text;
        return this.#writeParts(choice, [{ text: event.text }]);
      case "reasoning":
        return this.#options.showsThoughts ? this.#writeParts(choice, [{ text: event.text, thought: true }]) : NOTHING;
      case "thought":
        return this.#thought(choice, event.thought);
      case "tool-call":
        return this.#startCall(choice, event);
      case "tool-arguments":
        return this.#addArguments(choice, event.at, event.text);
      case "image": {
        const part = imagePart(event.url);
        return part === null ? NOTHING : this.#writeParts(choice, [part]);
      }
      case "finish":
        return this.#finish(choice, finishOf(event));
      case "action-done":
        this.#ran.push(event.action);
        return this.#writeAction(choice, event);
      case "action-begun":
        return this.#writeAction(choice, event);
      case "citation":
        this.#cited.push(event.json);
        return NOTHING;
      case "begin":
      case "native":
        return NOTHING;
    }
  }

  #writeAction(index: number, event: ActionEvent): Buffer {
    return this.#writeEvent({ content: NO_WORDS, index }, true, { tollgate: { action: actionJson(event) } });
  }

  #candidate(index: number): OpenCandidate {
    const known = this.#open.get(index) ?? new OpenCandidate();
    this.#open.set(index, known);
    return known;
  }

  #thought(index: number, thought: ReasoningBlock): Buffer {
    if (thought.sealed !== null && thought.callId !== null) {
      this.#candidate(index).signatures.set(thought.callId, signatureOf(thought.sealed));
      return NOTHING;
    }
    const part = signaturePart(thought);
    return part === null ? NOTHING : this.#writeParts(index, [part]);
  }

  /** Arguments of several calls may interleave. An empty text part shows the client that the answer has started. */
  #startCall(index: number, { at, id, name, arguments: text }: Extract<NeutralEvent, { kind: "tool-call" }>): Buffer {
    const call = { id, name, arguments: text };
    if (this.#options.form === null) return this.#writeParts(index, [callPart(call)]);
    this.#candidate(index).calls.set(at, call);
    return this.#writeParts(index, [{ text: "" }]);
  }

  #addArguments(index: number, at: number, text: string): Buffer {
    const call = this.#candidate(index).calls.get(at);
    if (call !== undefined) call.arguments += text;
    return NOTHING;
  }

  #writeParts(index: number, parts: readonly Json[]): Buffer {
    if (this.#options.form === null) for (const part of parts) this.#candidate(index).add(part);
    return this.#writeEvent({ content: { parts, role: "model" }, index }, true);
  }

  /** Leaves the end of a single candidate open, for the usage. */
  #finish(index: number, finishReason: string): Buffer {
    const isWhole = this.#options.form === null;
    const candidate = this.#candidate(index);
    const parts = (isWhole ? candidate.parts : candidate.takeCalls()).map((part) => candidate.signed(part));
    const content = { parts: parts.length > 0 || isWhole ? parts : [{ text: "" }], role: "model" };
    const grounding = groundingOf(this.#ran.map(ranOf), this.#cited, this.#text);
    const ended = { content, finishReason, index, ...grounding };
    if (isWhole) this.#ended.push(ended);
    return this.#writeEvent(ended, this.#options.choices > 1);
  }

  #writeEvent(candidate: Json, isWhole: boolean, more: Json = {}): Buffer {
    const { form } = this.#options;
    if (form === null) return NOTHING;
    const { model, id } = this.#head;
    const json = jsonText({ candidates: [candidate], modelVersion: model, responseId: id, ...more });
    const before = this.#begun ? form.next : form.first;
    this.#begun = true;
    return Buffer.from(isWhole ? `${before}${json}${form.after}` : `${before}${json.slice(0, -1)}`);
  }
}

/** The text of each complete candidate with exactly one, apart from its thoughts. */
function textsOf({ candidates }: Json): readonly AnswerText[] {
  return (Array.isArray(candidates) ? candidates : []).flatMap((candidate: unknown) => {
    if (!isRecord(candidate) || candidate.finishReason !== "STOP" || !isRecord(candidate.content)) return [];
    const all: readonly unknown[] = Array.isArray(candidate.content.parts) ? candidate.content.parts : [];
    const [part, ...more] = all.filter((one) => isRecord(one) && one.thought !== true && one.text !== "");
    if (more.length > 0 || !isRecord(part) || typeof part.text !== "string") return [];
    return [{ text: part.text, put: (text: string) => void Object.assign(part, { text }) }];
  });
}

export function generateAnswers(head: AnswerHead, options: AnswerOptions): AnswerCodec {
  return {
    encoder: () => new GenerateEncoder(head, options),
    atWork: isEvents(options.form) ? AT_WORK : LIST_AT_WORK,
    texts: textsOf,
    whole: (answer) => ({
      candidates: new GenerateEncoder(head, { ...options, form: null, acts: true }).whole(eventsOf(answer)),
      modelVersion: head.model,
      responseId: head.id,
    }),
  };
}
