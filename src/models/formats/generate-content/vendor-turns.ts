// Conversations in the generate-content wire: a system instruction, then user and model turns.
import { defined, type Json, stringOf } from "../../../core/json.ts";
import type {
  MediaSource,
  NeutralBlock,
  NeutralTurn,
  ReasoningBlock,
  ToolCallBlock,
  ToolResultBlock,
} from "../../../core/neutral.ts";
import { rawObject } from "../../../core/raw-json.ts";
import { argumentsOf } from "../../../upstream/format-kit/tool-results.ts";

export interface Turn {
  readonly role: "user" | "model";
  readonly parts: Json[];
}

export interface Conversation {
  readonly system: readonly Json[];
  readonly turns: readonly Turn[];
  /** The first element that this wire cannot express. */
  readonly reason: string | null;
}

export interface ConversationRules {
  /** The `format` of this vendor's own signed thoughts. */
  readonly format: string;
  /** The model rejects a tool call in the history without its signature. */
  readonly signaturesNeeded: boolean;
  /** Calls and results have ids; otherwise they are matched only by function name. */
  readonly hasIds: boolean;
}

/** Replaces the signature of a call that another vendor's model made or whose signature the client lost. */
const NO_SIGNATURE = "skip_thought_signature_validator";

/** Guesses a URL's media type, which this format requires. */
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

/** A tool result as the object that the wire requires. */
function responseOf(text: string, isError: boolean): Json {
  const object = isError ? { error: text } : rawObject(text);
  if (object !== null) return object;
  try {
    const parsed: unknown = JSON.parse(text);
    return { output: parsed };
  } catch {
    return { output: text };
  }
}

class ConversationBuilder {
  readonly system: Json[] = [];
  readonly turns: Turn[] = [];
  readonly #rules: ConversationRules;
  /** Function names by call id: the wire matches results by name, callers by id. */
  readonly #nameOfCall = new Map<string | null, string>();
  reason: string | null = null;

  constructor(rules: ConversationRules) {
    this.#rules = rules;
  }

  add({ role, blocks }: NeutralTurn): void {
    if (role === "user") return this.#turn("user", this.#parts(blocks));
    const texts = this.#texts(role, blocks);
    if (role === "assistant") this.#turn("model", this.#modelParts(texts, blocks));
    else this.system.push(...texts);
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

  #parts(blocks: readonly NeutralBlock[]): Json[] {
    return blocks.flatMap((block) => {
      const parts = this.#partsOf(block);
      if (typeof parts !== "string") return parts;
      this.#refuse(parts);
      return [];
    });
  }

  /** Converts a block, or says what the wire cannot express. `#modelParts` handles the model's calls and thoughts. */
  #partsOf(block: NeutralBlock): Json[] | string {
    switch (block.kind) {
      case "text":
        return block.text === "" ? [] : [{ text: block.text }];
      case "image":
      case "file":
      case "audio": {
        const part = mediaPart(block.source);
        return typeof part === "string" ? part : [part];
      }
      case "tool-result":
        return this.#result(block);
      case "tool-call":
      case "reasoning":
        return [];
      case "native":
        return block.format === this.#rules.format ? [{ ...block.json }] : `parts in the format ${block.format}`;
      case "foreign":
        return block.what;
    }
  }

  /** The parts of a turn that may contain only text. */
  #texts(role: NeutralTurn["role"], blocks: readonly NeutralBlock[]): Json[] {
    const parts = this.#parts(blocks);
    const texts = parts.filter((part) => part.inlineData === undefined && part.fileData === undefined);
    if (texts.length < parts.length) this.#refuse(`media in messages of role ${role}`);
    return texts;
  }

  #modelParts(texts: Json[], blocks: readonly NeutralBlock[]): Json[] {
    const thoughts = blocks.filter(
      (block): block is ReasoningBlock => block.kind === "reasoning" && block.format === this.#rules.format,
    );
    const ofText = thoughts.filter((thought) => thought.callId === null).at(-1)?.sealed;
    const lastText = texts.at(-1);
    if (ofText && lastText !== undefined) lastText.thoughtSignature = ofText;
    const calls = blocks.filter((block) => block.kind === "tool-call").map((call) => this.#call(call));
    for (const thought of thoughts) {
      const call = calls.find(({ id }) => id !== null && id === thought.callId);
      if (call !== undefined && thought.sealed !== null) call.part.thoughtSignature = thought.sealed;
    }
    const first = calls[0]?.part;
    if (first !== undefined && this.#rules.signaturesNeeded && !calls.some(({ part }) => part.thoughtSignature))
      first.thoughtSignature = NO_SIGNATURE;
    return [...texts, ...calls.map(({ part }) => part)];
  }

  #idOf(id: string | null): string | undefined {
    return this.#rules.hasIds ? (id ?? undefined) : undefined;
  }

  #call({ id, name, arguments: text }: ToolCallBlock): { readonly id: string | null; readonly part: Json } {
    this.#nameOfCall.set(id, name);
    return { id, part: { functionCall: defined({ id: this.#idOf(id), name, args: argumentsOf(text) }) } };
  }

  #result({ callId, name: told, content, isError }: ToolResultBlock): Json[] {
    const name = this.#nameOfCall.get(callId) ?? told ?? "unknown";
    const parts = typeof content === "string" ? [{ text: content }] : this.#parts(content);
    const text = parts.map((part) => stringOf(part.text) ?? "").join("");
    const media = parts.filter((part) => part.text === undefined);
    const response = responseOf(text, isError);
    return [{ functionResponse: defined({ id: this.#idOf(callId), name, response }) }, ...media];
  }
}

/**
 * Converts a conversation. All system messages move into the single system instruction; a conversation of only system messages is sent as
 * the user's. If it starts with a model turn, a full stop is put before it.
 */
export function conversationOf(asked: readonly NeutralTurn[], rules: ConversationRules): Conversation {
  const builder = new ConversationBuilder(rules);
  for (const turn of asked) builder.add(turn);
  const { system, turns, reason } = builder;
  if (turns.length === 0 && system.length > 0) return { system: [], turns: [{ role: "user", parts: system }], reason };
  if (turns[0]?.role === "model") turns.unshift({ role: "user", parts: [{ text: "." }] });
  return { system, turns, reason };
}
