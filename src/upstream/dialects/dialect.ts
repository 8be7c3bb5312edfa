// What a wire format must do: turn an OpenAI chat request into the vendor's, and the vendor's answer into OpenAI's.
import type { ChatSpec, ChatWire } from "../../catalog/adapter.ts";
import type { Nano } from "../../money.ts";
import type { AttemptFailure, TokenUsage } from "../../plan.ts";

/** A chat request in OpenAI's wire, checked; unknown fields ride along. */
export type ChatBody = Record<string, unknown> & { readonly messages: readonly ChatMessage[] };

export interface ChatMessage extends Record<string, unknown> {
  readonly role: string;
  readonly content?: string | readonly ChatPart[] | null;
}

export interface ChatPart extends Record<string, unknown> {
  readonly type: string;
}

/** What a dialect needs to know beside the body. */
export interface ChatContext {
  /** The vendor's own name of the model. */
  readonly upstreamModel: string;
  /** What the answer's `model` says. */
  readonly servedSlug: string;
  /** `chatcmpl-...`, for vendors whose answers have no such id. */
  readonly completionId: string;
  /** Seconds since the epoch. */
  readonly createdS: number;
  readonly stream: boolean;
  /** The caller's own stop sequences can end an answer before its first word; otherwise an empty one has failed. */
  readonly mayBeEmpty?: boolean;
  /** The bound on output, already clamped; the request must carry it. */
  readonly outputTokensMax: number;
  /** The vendor's fields, with the model's own laid over them. */
  readonly spec: ChatSpec;
  readonly wire: ChatWire;
}

export interface UpstreamBody {
  /** Below the adapter's origin, such as `/chat/completions`. */
  readonly path: string;
  readonly body: Record<string, unknown>;
}

export type FinishReason = "stop" | "length" | "tool_calls" | "content_filter";

/** Where a stream reader puts what it read. Everything comes out in OpenAI's wire. */
export interface ChatStreamOut {
  /**
   * A delta for one choice, such as `{content: "Hi"}`, `{role: "assistant", content: ""}`, `{reasoning: "..."}` or
   * `{tool_calls: [...]}`. It commits the answer if it bears content.
   */
  delta(index: number, delta: Readonly<Record<string, unknown>>): void;
  /** The choice ended normally. `native` is the vendor's own word for why. */
  finish(index: number, reason: FinishReason, native: string): void;
  /** The newest cumulative counts; the last call counts, never a sum. */
  usage(usage: TokenUsage): void;
  upstreamCost(nano: Nano): void;
  /** The vendor said that it failed. Nothing after it is read. */
  fail(failure: AttemptFailure): void;
  /** The vendor said that the stream is complete. */
  end(): void;
  /** Says of each choice in a finished event, before `raw` takes the event, whether it ended normally with it. */
  choice(index: number, ended: boolean): void;
  /** Finished events in OpenAI's wire, sent as they are: `event` is a whole `data: ...\n\n`. */
  raw(event: Buffer, kind: "content" | "preamble" | "finish"): void;
  /** Text that `raw` delivered, as JSON-escaped UTF-8, for counting tokens where no usage comes. */
  delivered(bytes: Buffer, start: number, end: number): void;
}

/** Reads the events of one stream. */
export interface ChatStreamReader {
  /**
   * One server-sent event: the bytes of its data field in `bytes[start, end)`, valid only during the call, and its
   * event name where it had one. Data that cannot be parsed is skipped: returns false, so that it is counted.
   */
  event(bytes: Buffer, start: number, end: number, name: string | null): boolean;
}

/** A whole answer in OpenAI's wire, or why it is none. */
export type UnaryAnswer =
  | {
      readonly body: Record<string, unknown>;
      readonly usage: TokenUsage | null;
      readonly upstreamCostNano: Nano | null;
      /** The text that a token count needs where no usage came. */
      readonly text: string;
    }
  | AttemptFailure;

/** What a vendor's error body says, before it is classified. */
export interface VendorError {
  /** The vendor's machine-readable words: type, code, status name, in any order, lower case. */
  readonly words: readonly string[];
  readonly message: string;
  /** How long to wait, where the vendor says so in the body. */
  readonly retryAfterMs?: number | null;
}

export interface Dialect {
  request(body: ChatBody, context: ChatContext): UpstreamBody;
  reader(context: ChatContext, out: ChatStreamOut): ChatStreamReader;
  answer(json: unknown, context: ChatContext): UnaryAnswer;
  /** Reads an error body, parsed where it was JSON. */
  error(body: unknown): VendorError;
  /**
   * Why this request cannot be put into this vendor's wire (a content part it has no place for, a field whose meaning
   * would be lost); null where it can. The route is then skipped, or the request refused where no other is left.
   */
  unsupported(body: ChatBody, context: ChatContext): string | null;
}
