// The interface of a vendor's wire: writes requests, and reads answers as neutral events or as bytes in the caller's wire.

import type { ChatWire, DialectName } from "../../catalog/chat-wire.ts";
import type { ChatSpec } from "../../catalog/model-spec.ts";
import type { Json } from "../../core/json.ts";
import type { Nano } from "../../core/money.ts";
import type { NeutralEvent, NeutralRequest, PassedAnswer, ReasoningBlock, SentRequest } from "../../core/neutral.ts";
import type { AttemptFailure, Counts, TokenUsage } from "../../core/route.ts";
import type { FormBody } from "../../platform/uploads/form-body.ts";
import type { FetchedMedia, MediaLink } from "../media-links.ts";
import type { ToolFit } from "./tool-fit.ts";

/** Seals thoughts for the vendor and model family of a call, and opens those that come back. */
export interface OwnSeal {
  /** Null if the thought is too long to carry. */
  seal(thought: ReasoningBlock): string | null;
  /** Null if the seal belongs to another vendor or family, or to none. */
  open(text: string): ReasoningBlock | null;
}

export interface ChatContext {
  readonly upstreamModel: string;
  /** The value of the answer's `model`. */
  readonly servedSlug: string;
  /** The id of the answer in the caller's wire. */
  readonly completionId: string;
  readonly createdS: number;
  readonly stream: boolean;
  /** The caller's stop sequences can end an answer before its first word; otherwise an empty answer is a failure. */
  readonly mayBeEmpty?: boolean;
  /** The output limit, already clamped; the request must include it. */
  readonly outputTokensMax: number;
  /** The vendor's fields, overridden by the model's. */
  readonly spec: ChatSpec;
  readonly wire: ChatWire;
  /** Seals the thoughts that the caller carries; absent: they stay as the vendor gives them. */
  readonly seal?: OwnSeal | undefined;
  /** What the caller's wire requires of a passed-through answer; absent: nothing. */
  readonly passed?: (() => PassedAnswer) | undefined;
  /** Maps tool names and ids between caller and vendor; absent: no mapping. */
  readonly tools?: ToolFit | undefined;
  /** Reports a usage counter that has no price here. */
  readonly unpriced?: ((counter: string) => void) | undefined;
}

export interface UpstreamBody {
  /** Relative to the adapter's origin, such as `/chat/completions`. */
  readonly path: string;
  readonly body: Json;
  /** Sent instead of `body` as JSON. */
  readonly bytes?: Buffer;
  /** Override or extend the adapter's. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent instead of the body, as a multipart form. */
  readonly form?: FormBody;
  /** The name of one of the adapter's other origins. */
  readonly origin?: string;
}

/** The part of a stream reader's output that both kinds share. */
interface StreamOut {
  /** The newest cumulative counts; the last call wins, they are not added up. */
  usage(usage: TokenUsage): void;
  upstreamCost(nano: Nano): void;
  /** The answer finishes empty, and the caller did not cause it; null if it has content after all. */
  empty(message: string | null): void;
  /** The vendor reported a failure. Nothing after it is read. */
  fail(failure: AttemptFailure): void;
  /** The vendor marked the stream as complete. */
  end(): void;
}

export interface EventOut extends StreamOut {
  /** The event's kind decides whether it is content, which commits the answer. */
  event(event: NeutralEvent): void;
}

/** Receives an answer in the caller's wire. */
export interface BytesOut extends StreamOut {
  /** For each choice of a finished event, before `raw` gets that event: whether the choice ended normally. */
  choice(index: number, ended: boolean): void;
  /** A whole event as sent to the caller. A finish is sent last, and replaces an earlier one. */
  raw(event: Buffer, kind: "content" | "preamble" | "finish"): void;
  /** A finish of one choice: `bytes` is its approximate size; `write` runs when it is sent. */
  finish(index: number, bytes: number, write: () => Buffer): void;
  /** Text delivered through `raw`, as JSON-escaped UTF-8, for counting tokens if no usage arrives. */
  delivered(bytes: Buffer, start: number, end: number): void;
  /** The same as plain text. */
  deliveredText(text: string): void;
}

export interface StreamReader {
  /** Reads one event: `bytes[start, end)` is valid only during the call; `name` is its type. False for data that cannot be parsed. */
  event(bytes: Buffer, start: number, end: number, name: string | null): boolean;
}

/** Reads a vendor's answers as neutral events, streamed or whole. */
export interface AnswerReader extends StreamReader {
  /** Reports a whole answer as if it had been streamed, to its end or its failure. Its usage comes first, because the vendor charges for it. */
  whole(json: unknown): void;
}

/** A whole answer in the caller's wire, or a failure. */
export type UnaryAnswer =
  | {
      readonly body: Json;
      readonly usage: TokenUsage | null;
      readonly upstreamCostNano: Nano | null;
      /** The text to count tokens in if no usage came. */
      readonly text: string;
      /** The units used, for a model sold by units. */
      readonly counts?: Counts | null;
      /** Why the answer is empty; absent if it is not. */
      readonly empty?: string;
      /** Why the answer does not match the requested format; absent if it does, or was not checked. */
      readonly unfit?: string;
    }
  | AttemptFailure;

export interface VendorError {
  /** The machine-readable words: type, code, status name; in any order, lower case. */
  readonly words: readonly string[];
  readonly message: string;
  /** The wait that the body asks for, if any. */
  readonly retryAfterMs?: number | null;
}

/** Passes bytes through for callers that speak the vendor's wire; changes only the names that differ from ours. */
export interface Passing {
  request(body: Json, context: ChatContext, sent?: SentRequest): UpstreamBody;
  /** Why this vendor cannot take a body without loss of meaning; absent: it takes all. */
  unsupported?(body: Json, context: ChatContext): string | null;
  /** The links in a body that the vendor cannot open; absent: the wire has no known links. */
  links?(body: Json, context: ChatContext, sent?: SentRequest): readonly MediaLink[];
  /** Replaces the links in a body by their content. */
  withMedia?(body: Json, media: FetchedMedia): Json;
  reader(context: ChatContext, out: BytesOut): StreamReader;
  answer(json: unknown, context: ChatContext): UnaryAnswer;
  /** Answers carry the caller's tool names; absent: the vendor's. */
  readonly restoresNames?: true;
  error(body: unknown): VendorError;
}

export interface Dialect {
  /** The name of the wire; a caller's wire may have the same name. */
  readonly wire: DialectName;
  /** Null if no caller speaks this wire to us, so that everything is translated. */
  readonly passing: Passing | null;
  /** The event type, or whole data, that ends a stream; null: the body's end. After a finish reason more events may follow. */
  readonly end: string | null;
  /** The request field that grows from turn to turn. It is written last, because vendors' prompt caches match the beginning of a body. */
  readonly grows: string;
  /** The links that vendors open themselves, unless the adapter says otherwise; absent: all. */
  readonly fetches?: ChatWire["fetches"];
  request(request: NeutralRequest, context: ChatContext): UpstreamBody;
  reader(context: ChatContext, out: EventOut): AnswerReader;
  error(body: unknown): VendorError;
  /** Why this wire cannot express the request; null if it can. Then the candidate is skipped, or the request refused. */
  unsupported(request: NeutralRequest, context: ChatContext): string | null;
}

/** The dialects, by the names that adapters use; the gateway provides them. */
export type Dialects = Readonly<Partial<Record<DialectName, Dialect>>>;
