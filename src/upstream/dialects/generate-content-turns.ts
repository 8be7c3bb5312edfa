// The conversation of a request in the generate-content wire: a system instruction, then turns of user and model.
import { isRecord } from "../json-pointer.ts";
import { type MediaSource, partsOf, type ReadPart } from "./chat-parts.ts";
import { signedThoughtsOf } from "./chat-reasoning.ts";
import { argumentsOf, defined, type Json, stringOf, wordOf } from "./chat-request.ts";
import type { ChatMessage } from "./dialect.ts";

export interface Turn {
  readonly role: "user" | "model";
  readonly parts: Json[];
}

export interface Conversation {
  readonly system: readonly Json[];
  readonly turns: readonly Turn[];
  /** The first thing that has no place in this wire. */
  readonly reason: string | null;
}

export interface ConversationRules {
  /** The `format` of signed thoughts that are this vendor's own. */
  readonly format: string;
  /** The model refuses a tool call in the history that does not carry its signature. */
  readonly signaturesNeeded: boolean;
}

/** Stands for the signature of a call that another vendor's model made, or whose signature the client lost. */
const NO_SIGNATURE = "skip_thought_signature_validator";

/** An address says nothing of what is there, and the wire wants to be told. */
const TYPE_BY_ENDING: ReadonlyMap<string, string> = new Map([
  ["png", "image/png"],
  ["jpg", "image/jpeg"],
  ["jpeg", "image/jpeg"],
  ["webp", "image/webp"],
  ["gif", "image/gif"],
  ["heic", "image/heic"],
  ["heif", "image/heif"],
  ["pdf", "application/pdf"],
  ["txt", "text/plain"],
]);

const TAKEN = /^(?:image|audio|text)\/|^application\/(?:pdf|json)$/;

function typeAt(url: string): string | undefined {
  const path = url.split(/[?#]/, 1)[0] ?? "";
  return TYPE_BY_ENDING.get(path.slice(path.lastIndexOf(".") + 1).toLowerCase());
}

function mediaPart(source: MediaSource): Json | string {
  if (source.at === "inline") {
    if (!TAKEN.test(source.mediaType)) return `media of type ${source.mediaType}`;
    return { inlineData: { mimeType: source.mediaType, data: source.base64 } };
  }
  const mimeType = typeAt(source.url);
  if (mimeType === undefined) return "an address whose ending does not tell its media type (send a data: URL)";
  return { fileData: { mimeType, fileUri: source.url } };
}

/** A part, null for an empty text, or why it has no place. */
function partOf(part: ReadPart): Json | string | null {
  if (part.kind === "foreign") return part.reason;
  if (part.kind === "text") return part.text === "" ? null : { text: part.text };
  return mediaPart(part.source);
}

/** A tool's answer as the object that the wire wants. */
function responseOf(text: string): Json {
  try {
    const parsed: unknown = JSON.parse(text);
    return isRecord(parsed) ? parsed : { output: parsed };
  } catch {
    return { output: text };
  }
}

class ConversationBuilder {
  readonly system: Json[] = [];
  readonly turns: Turn[] = [];
  readonly #rules: ConversationRules;
  /** The wire answers a call by its function's name, OpenAI's by the call's id. */
  readonly #nameOfCall = new Map<unknown, string>();
  reason: string | null = null;

  constructor(rules: ConversationRules) {
    this.#rules = rules;
  }

  add(message: ChatMessage): void {
    switch (message.role) {
      case "system":
      case "developer":
        this.system.push(...this.#texts(message));
        return;
      case "user":
        this.#turn("user", this.#parts(message));
        return;
      case "assistant":
        this.#turn("model", this.#modelParts(message));
        return;
      case "tool":
        this.#turn("user", this.#result(message));
        return;
      default:
        this.#refuse(`messages of role ${wordOf(message.role).slice(0, 50)}`);
    }
  }

  #refuse(what: string): void {
    this.reason ??= `${what} cannot be put into its wire`;
  }

  #turn(role: Turn["role"], parts: Json[]): void {
    if (parts.length === 0) return;
    const last = this.turns.at(-1);
    if (last?.role === role) last.parts.push(...parts);
    else this.turns.push({ role, parts });
  }

  #parts(message: ChatMessage): Json[] {
    const parts: Json[] = [];
    for (const read of partsOf(message)) {
      const part = partOf(read);
      if (typeof part === "string") this.#refuse(part);
      else if (part !== null) parts.push(part);
    }
    return parts;
  }

  #texts(message: ChatMessage): Json[] {
    const parts = this.#parts(message);
    const texts = parts.filter((part) => typeof part.text === "string");
    if (texts.length < parts.length) this.#refuse(`media in messages of role ${message.role}`);
    return texts;
  }

  #modelParts(message: ChatMessage): Json[] {
    const thoughts = signedThoughtsOf(message, this.#rules.format);
    const texts = this.#texts(message);
    const ofText = thoughts.filter((thought) => thought.callId === null).at(-1)?.sealed;
    const lastText = texts.at(-1);
    if (ofText && lastText !== undefined) lastText.thoughtSignature = ofText;
    const calls = this.#calls(message);
    for (const thought of thoughts) {
      const call = calls.find(({ id }) => id !== undefined && id === thought.callId);
      if (call !== undefined && thought.sealed !== null) call.part.thoughtSignature = thought.sealed;
    }
    const first = calls[0]?.part;
    if (first !== undefined && this.#rules.signaturesNeeded && !calls.some(({ part }) => part.thoughtSignature)) {
      first.thoughtSignature = NO_SIGNATURE;
    }
    return [...texts, ...calls.map(({ part }) => part)];
  }

  #calls(message: ChatMessage): { id: string | undefined; part: Json }[] {
    if (isRecord(message.function_call)) this.#refuse("function_call (use tool_calls)");
    const calls: { id: string | undefined; part: Json }[] = [];
    for (const call of Array.isArray(message.tool_calls) ? message.tool_calls : []) {
      const told = isRecord(call) && isRecord(call.function) ? call.function : null;
      if (told === null) {
        this.#refuse("tool calls that are no function calls");
        continue;
      }
      const name = wordOf(told.name);
      const id = stringOf(call.id);
      this.#nameOfCall.set(id, name);
      calls.push({ id, part: { functionCall: defined({ id, name, args: argumentsOf(told.arguments) }) } });
    }
    return calls;
  }

  #result(message: ChatMessage): Json[] {
    const id = stringOf(message.tool_call_id);
    const name = this.#nameOfCall.get(id) ?? stringOf(message.name) ?? "unknown";
    const parts = this.#parts(message);
    const text = parts.map((part) => stringOf(part.text) ?? "").join("");
    const media = parts.filter((part) => part.text === undefined);
    return [{ functionResponse: defined({ id, name, response: responseOf(text) }) }, ...media];
  }
}

/**
 * Puts a conversation into the wire. System messages become the one system instruction wherever they stood; a
 * conversation of nothing else is asked as the user's. One that begins with the model's turn gets a full stop before it.
 */
export function conversationOf(messages: readonly ChatMessage[], rules: ConversationRules): Conversation {
  const builder = new ConversationBuilder(rules);
  for (const message of messages) builder.add(message);
  const { system, turns, reason } = builder;
  if (turns.length === 0 && system.length > 0) return { system: [], turns: [{ role: "user", parts: system }], reason };
  if (turns[0]?.role === "model") turns.unshift({ role: "user", parts: [{ text: "." }] });
  return { system, turns, reason };
}
