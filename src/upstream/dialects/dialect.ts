// What a vendor's wire must do: put a request into it, and read what comes back, as neutral events or as the caller's own bytes.

import type { ChatWire, DialectName } from "../../catalog/chat-wire.ts";
import type { ChatSpec } from "../../catalog/model-spec.ts";
import type { Json } from "../../core/json.ts";
import type { Nano } from "../../core/money.ts";
import type {
  NeutralAnswer,
  NeutralEvent,
  NeutralRequest,
  PassedAnswer,
  ReasoningBlock,
  SentRequest,
} from "../../core/neutral.ts";
import type { AttemptFailure, Counts, TokenUsage } from "../../core/route.ts";
import type { FormBody } from "../../platform/uploads/form-body.ts";
import type { FetchedMedia, MediaLink } from "../media-links.ts";
import type { ToolFit } from "./tool-fit.ts";

/** Seals the thoughts of the vendor and the family of models that a call goes to, and opens those that came back. */
export interface OwnSeal {
  /** Null: it is too long to be carried. */
  seal(thought: ReasoningBlock): string | null;
  /** Null: it has no owner, or another. */
  open(text: string): ReasoningBlock | null;
}

/** What a dialect needs to know beside the request. */
export interface ChatContext {
  /** The vendor's own name of the model. */
  readonly upstreamModel: string;
  /** What the answer's `model` says. */
  readonly servedSlug: string;
  /** The answer's id in the caller's wire. */
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
  /** The caller carries thoughts sealed; absent: as the vendor gives them. */
  readonly seal?: OwnSeal | undefined;
  /** What the caller's wire wants of an answer that passes; absent: nothing. */
  readonly passed?: (() => PassedAnswer) | undefined;
  /** Maps tool names and ids between caller and vendor; absent: nothing is mapped. */
  readonly tools?: ToolFit | undefined;
  /** Hears of a counter in an answer's usage that has no price here. */
  readonly unpriced?: ((counter: string) => void) | undefined;
}

export interface UpstreamBody {
  /** Below the adapter's origin, such as `/chat/completions`. */
  readonly path: string;
  readonly body: Json;
  /** What is sent in place of `body` written as JSON. */
  readonly bytes?: Buffer;
  /** In place of the adapter's, or beside them. */
  readonly headers?: Readonly<Record<string, string>>;
  /** What is sent instead of the body, as the parts of a form. */
  readonly form?: FormBody;
  /** One of the adapter's other origins. */
  readonly origin?: string;
}

/** Where a stream reader puts what it read, whichever way it reads. */
interface StreamOut {
  /** The newest cumulative counts; the last call counts, never a sum. */
  usage(usage: TokenUsage): void;
  upstreamCost(nano: Nano): void;
  /** The answer finishes without having said anything, for no reason of the caller's; null: it has said something after all. */
  empty(message: string | null): void;
  /** The vendor said that it failed. Nothing after it is read. */
  fail(failure: AttemptFailure): void;
  /** The vendor said that the stream is complete. */
  end(): void;
}

/** Takes an answer in the neutral format. */
export interface EventOut extends StreamOut {
  /** Whether an event bears content, and so commits the answer, is the event's own matter. */
  event(event: NeutralEvent): void;
}

/** Takes an answer in the caller's own wire. */
export interface BytesOut extends StreamOut {
  /** Says of each choice in a finished event, before `raw` takes the event, whether it ended normally with it. */
  choice(index: number, ended: boolean): void;
  /** A whole event as it goes out. A finish goes out last, and replaces the one before it. */
  raw(event: Buffer, kind: "content" | "preamble" | "finish"): void;
  /** The same for one choice: `bytes` is its approximate size; `write` runs when it goes out. */
  finish(index: number, bytes: number, write: () => Buffer): void;
  /** Text that `raw` delivered, as JSON-escaped UTF-8, for counting tokens where no usage comes. */
  delivered(bytes: Buffer, start: number, end: number): void;
  /** The same as a plain text. */
  deliveredText(text: string): void;
}

/** Reads the events of one stream. */
export interface StreamReader {
  /**
   * One server-sent event: the bytes of its data field in `bytes[start, end)`, valid only during the call, and its
   * event name where it had one. Data that cannot be parsed is skipped: returns false, so that it is counted.
   */
  event(bytes: Buffer, start: number, end: number, name: string | null): boolean;
}

/** A whole answer in the caller's wire, or why it is none. */
export type UnaryAnswer =
  | {
      readonly body: Json;
      readonly usage: TokenUsage | null;
      readonly upstreamCostNano: Nano | null;
      /** The text that a token count needs where no usage came. */
      readonly text: string;
      /** What a model that is sold by units has used. */
      readonly counts?: Counts | null;
      /** Why it says nothing; absent: it says something. */
      readonly empty?: string;
      /** Why it does not match the requested format; absent: it does, or this was not checked. */
      readonly unfit?: string;
    }
  | AttemptFailure;

/** A whole answer in the neutral format, or why it is none. */
export type ReadAnswer =
  | {
      readonly answer: NeutralAnswer;
      readonly upstreamCostNano: Nano | null;
      /** Why it says nothing; absent: it says something. */
      readonly empty?: string;
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

/** How bytes pass where the caller speaks the vendor's own wire: changed only where our names stand for the vendor's. */
export interface Passing {
  request(body: Json, context: ChatContext, sent?: SentRequest): UpstreamBody;
  /** Why a body cannot be sent to this vendor without losing its meaning; absent: all can. */
  unsupported?(body: Json, context: ChatContext): string | null;
  /** The links in a body that the vendor cannot open; absent: the wire has none that we know. */
  links?(body: Json, context: ChatContext, sent?: SentRequest): readonly MediaLink[];
  /** The body with what stands at those links in their place. */
  withMedia?(body: Json, media: FetchedMedia): Json;
  reader(context: ChatContext, out: BytesOut): StreamReader;
  answer(json: unknown, context: ChatContext): UnaryAnswer;
  /** Answers have the caller's names of tools; absent: the vendor's. */
  readonly restoresNames?: true;
  /** Reads an error body, parsed where it was JSON. */
  error(body: unknown): VendorError;
}

export interface Dialect {
  /** The name of the wire, which a caller's wire may have as well. */
  readonly wire: DialectName;
  /** Null: no caller speaks this wire to us, and everything is translated. */
  readonly passing: Passing | null;
  /**
   * What ends a stream, an event's type or its whole data; null: the end of its body alone. A reason to finish ends nothing: what comes
   * after it is part of the answer.
   */
  readonly end: string | null;
  /** The field of a request that grows from turn to turn. It goes last, as vendors' caches know a prompt by how its body begins. */
  readonly grows: string;
  /** Which links its vendors open themselves, where an adapter does not say otherwise; absent: all. */
  readonly fetches?: ChatWire["fetches"];
  request(request: NeutralRequest, context: ChatContext): UpstreamBody;
  reader(context: ChatContext, out: EventOut): StreamReader;
  answer(json: unknown, context: ChatContext): ReadAnswer;
  /** What a body says was used, whatever else is wrong with it: the vendor takes its price for that. */
  usage(json: Json, context: ChatContext): TokenUsage | null;
  /** Reads an error body, parsed where it was JSON. */
  error(body: unknown): VendorError;
  /**
   * Why this request cannot be put into this vendor's wire (a content part it has no place for, a field whose meaning
   * would be lost); null where it can. The candidate is then skipped, or the request refused where no other is left.
   */
  unsupported(request: NeutralRequest, context: ChatContext): string | null;
}

/** The dialects by the names that adapters give them; the gateway hands them in. */
export type Dialects = Readonly<Partial<Record<DialectName, Dialect>>>;
