// The neutral format between wires and dialects: requests, events and answers.
import type { TokenUsage } from "./route.ts";

type JsonObject = Readonly<Record<string, unknown>>;

/** A request as received, for a vendor of the same wire that should get the same bytes. */
export interface SentRequest {
  /** Valid JSON without duplicate keys. */
  readonly bytes: Buffer;
  /** The headers to forward with them, by the wire's names. */
  readonly headers: Readonly<Record<string, string>>;
}

/** A caller's request, as read by its wire. */
export interface CallerRequest {
  /** The wire's name; a vendor with the same wire gets `body` as received. */
  readonly wire: string;
  readonly body: JsonObject;
  /** Absent: a vendor of the same wire gets `body` serialized again. */
  readonly sent?: SentRequest;
  /** The caller's stop sequences can end an answer before its first word; otherwise an empty answer is a failure. */
  readonly mayBeEmpty: boolean;
  /** The model may call tools. */
  readonly usesTools: boolean;
  /** The requested reasoning effort; null if the request leaves it open. */
  reasoning(): ReasoningAsk | null;
  /** The required format of the answer's text; null if any. */
  format(): ResponseFormat | null;
  /** The request in the neutral format, converted at first use. */
  neutral(): NeutralRequest;
}

export interface NeutralRequest {
  /** The whole conversation in order, system turns in their places. */
  readonly turns: readonly NeutralTurn[];
  /** The tools that the model may call; if the caller allows only some of those declared, only these. */
  readonly tools: readonly NeutralTool[];
  /** Whether the model must call a tool, and which; null if the request leaves it open. */
  readonly toolChoice: ToolChoice | null;
  /** False: one call at a time; null if the request leaves it open. */
  readonly parallelToolCalls: boolean | null;
  /** The required format of the answer's text; null if any. */
  readonly format: ResponseFormat | null;
  readonly sampling: Sampling;
  readonly reasoning: ReasoningAsk | null;
  readonly stops: readonly string[];
  /** The number of alternative answers. */
  readonly choices: number;
  /** The caller's end user, for the vendor's abuse monitoring. */
  readonly user: string | null;
  /** The whole prompt is worth caching. */
  readonly cacheMark: boolean;
  /** Fields without a place above that do not affect the price, by their names in OpenAI's chat wire or at the vendor that knows them. */
  readonly extra: JsonObject;
  /** Features that only the caller's own wire supports, with the field that requests each. */
  readonly foreign: readonly { readonly field: string; readonly reason: string }[];
}

/** Null: the request leaves it open. */
export interface Sampling {
  readonly temperature: number | null;
  readonly topP: number | null;
  readonly topK: number | null;
  readonly presencePenalty: number | null;
  readonly frequencyPenalty: number | null;
  readonly seed: number | null;
}

export type Effort = "minimal" | "low" | "medium" | "high" | "xhigh" | "max";

/** How much thinking the caller asks of the model. */
export interface ReasoningAsk {
  /** No thinking at all. */
  readonly off: boolean;
  /** Null: the caller asked for thinking without an effort. */
  readonly effort: Effort | null;
  readonly budgetTokens: number | null;
  /** Think, but hide the thoughts. */
  readonly exclude: boolean;
}

export type ToolChoice =
  | { readonly mode: "auto" | "none" | "required" }
  | { readonly mode: "named"; readonly name: string };

export type ResponseFormat =
  | { readonly kind: "json" }
  | {
      readonly kind: "schema";
      readonly schema: JsonObject;
      /** Null: the caller did not name it. */
      readonly name: string | null;
      /** Whether the answer must match the schema exactly; null if the request leaves it open. */
      readonly strict: boolean | null;
    };

export type NeutralTool =
  | {
      readonly kind: "function";
      readonly name: string;
      readonly description: string | null;
      readonly parameters: JsonObject | null;
      readonly strict: boolean;
      readonly cacheMark: boolean;
    }
  /** A tool that the vendor runs itself; only vendors of this format know it. */
  | { readonly kind: "server"; readonly format: string; readonly type: string; readonly json: JsonObject };

export interface NeutralTurn {
  readonly role: "system" | "developer" | "user" | "assistant";
  readonly blocks: readonly NeutralBlock[];
}

export type MediaSource =
  | { readonly at: "inline"; readonly mediaType: string; readonly base64: string }
  | { readonly at: "url"; readonly url: string };

export interface TextBlock {
  readonly kind: "text";
  readonly text: string;
  /** The prompt up to here is worth caching. */
  readonly cacheMark: boolean;
}

export interface MediaBlock {
  readonly kind: "image" | "file" | "audio";
  readonly source: MediaSource;
  readonly filename: string | null;
  readonly cacheMark: boolean;
}

export interface ToolCallBlock {
  readonly kind: "tool-call";
  /** Null: the caller gave none. */
  readonly id: string | null;
  readonly name: string;
  /** A JSON object as text; invalid if the model was cut off. */
  readonly arguments: string;
  readonly cacheMark: boolean;
}

export interface ToolResultBlock {
  readonly kind: "tool-result";
  readonly callId: string | null;
  /** The tool's name, if the caller repeats it. */
  readonly name: string | null;
  readonly content: string | readonly NeutralBlock[];
  readonly isError: boolean;
  readonly cacheMark: boolean;
}

/** A thought, or its seal, which its vendor takes back in a later turn. */
export interface ReasoningBlock {
  readonly kind: "reasoning";
  /** The part that may be shown; empty if none. */
  readonly text: string;
  /** Identifies who can read signature and seal; null if there are none, or only the gateway can read `sealed`. */
  readonly format: string | null;
  /** The signature of `text`. */
  readonly signature: string | null;
  /** The whole thought, readable only by its vendor. */
  readonly sealed: string | null;
  /** The tool call it belongs to, if any. */
  readonly callId: string | null;
}

/** By default nothing of a thought can be sent back. */
export function thought(of: Partial<ReasoningBlock>): ReasoningBlock {
  return { kind: "reasoning", text: "", format: null, signature: null, sealed: null, callId: null, ...of };
}

/** A part that only vendors of its format can read, such as a server tool's call or result. */
export interface NativeBlock {
  readonly kind: "native";
  readonly format: string;
  readonly json: JsonObject;
}

/** A part of the caller's that no other wire can carry, described in words. */
export interface ForeignBlock {
  readonly kind: "foreign";
  readonly what: string;
}

export type NeutralBlock =
  | TextBlock
  | MediaBlock
  | ToolCallBlock
  | ToolResultBlock
  | ReasoningBlock
  | NativeBlock
  | ForeignBlock;

export interface Source {
  readonly url: string;
  readonly title: string;
  /** Its content, or the beginning; empty if only the URL is known. */
  readonly text: string;
}

/** A tool that some vendors run themselves; the gateway runs it for models of other vendors. */
export type HostedTool = "web_search" | "web_fetch";

/** An action that the gateway runs for the model within its answer. */
export interface ActionCall {
  readonly id: string;
  /** `<service>/<action>`. */
  readonly action: string;
  /** The function through which the model called it. */
  readonly name: string;
  /** A JSON object as text. */
  readonly arguments: string;
  /** The hosted tool of the caller's wire that it implements; null if the caller named the action. */
  readonly hosted: HostedTool | null;
}

/** An action call that has ended. */
export interface ActionBlock extends ActionCall {
  readonly kind: "action";
  readonly ok: boolean;
  readonly cents: number;
  /** The output that the model gets. */
  readonly output: string;
  readonly sources: readonly Source[];
}

export type FinishReason = "stop" | "length" | "tool_calls" | "content_filter";

/** A piece of a streamed answer. `choice` is the index of its choice; `at` counts calls, thoughts and images within one choice. */
export type NeutralEvent =
  /** The first event of a choice. */
  | { readonly kind: "begin"; readonly choice: number }
  | { readonly kind: "text" | "reasoning" | "refusal"; readonly choice: number; readonly text: string }
  /** A complete thought, with what its vendor wants back. Earlier events may have streamed its text. */
  | { readonly kind: "thought"; readonly choice: number; readonly at: number; readonly thought: ReasoningBlock }
  /** A call begins, with the arguments known so far. */
  | {
      readonly kind: "tool-call";
      readonly choice: number;
      readonly at: number;
      readonly id: string;
      readonly name: string;
      readonly arguments: string;
    }
  | { readonly kind: "tool-arguments"; readonly choice: number; readonly at: number; readonly text: string }
  /** An image that the model made, as a `data:` URL. */
  | { readonly kind: "image"; readonly choice: number; readonly at: number; readonly url: string }
  /** The source of the preceding text, in the form of a `format` vendor. */
  | { readonly kind: "citation"; readonly choice: number; readonly format: string; readonly json: JsonObject }
  /** A complete part that only clients of `format` can read. */
  | { readonly kind: "native"; readonly choice: number; readonly format: string; readonly json: JsonObject }
  /** The gateway starts to run an action for the model, and has finished it. */
  | { readonly kind: "action-begun"; readonly choice: number; readonly action: ActionCall }
  | { readonly kind: "action-done"; readonly choice: number; readonly action: ActionBlock }
  /** The choice has ended; `native` is the vendor's own reason. */
  | { readonly kind: "finish"; readonly choice: number; readonly reason: FinishReason; readonly native: string };

export interface AnswerTextBlock {
  readonly kind: "text" | "refusal";
  readonly text: string;
  readonly citations: readonly { readonly format: string; readonly json: JsonObject }[];
}

export interface AnswerCallBlock {
  readonly kind: "tool-call";
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

export interface AnswerImageBlock {
  readonly kind: "image";
  readonly url: string;
}

export type AnswerBlock =
  | AnswerTextBlock
  | AnswerCallBlock
  | AnswerImageBlock
  | ReasoningBlock
  | NativeBlock
  | ActionBlock;

export interface NeutralChoice {
  readonly index: number;
  /** In the order they arrived. */
  readonly blocks: readonly AnswerBlock[];
  readonly reason: FinishReason;
  /** The vendor's own finish reason. */
  readonly native: string;
}

export interface NeutralAnswer {
  readonly choices: readonly NeutralChoice[];
  /** Null: the vendor reported none. */
  readonly usage: TokenUsage | null;
}

/** Encodes the events of one stream in a wire. May keep state between events. */
export interface EventEncoder {
  /** The bytes of an event; empty if the wire does not show it. */
  encode(event: NeutralEvent): Buffer;
}

/** The caller's wire's part in an answer that passes through untranslated. */
export interface PassedAnswer {
  /** The sequence number of the next event; code that passes events through increments it. */
  sequence: number;
  /** Adapts a vendor's object of the whole answer: puts in our names and what was really done. */
  adopt(object: Record<string, unknown>): Record<string, unknown>;
}

export interface AnswerText {
  readonly text: string;
  put(text: string): void;
}

/** The answer side of a caller's wire, for one call served by one model. */
export interface AnswerCodec {
  encoder(): EventEncoder;
  /** What a stream shows while the model calls an action; absent: a comment between events. */
  readonly atWork?: Buffer;
  /** A whole answer as the wire's JSON, without what the charge adds. */
  whole(answer: NeutralAnswer): Record<string, unknown>;
  /** The texts of a finished whole answer in this wire, for checking against a required format; absent: no check. */
  readonly texts?: (body: Record<string, unknown>) => readonly AnswerText[];
  /** Returns a new one for each attempt that passes through untranslated; absent: the wire needs none. */
  readonly passed?: () => PassedAnswer;
}

/** Seals one payer's thoughts while the caller carries them from turn to turn. */
export interface ThoughtSeal {
  /** Encrypts a thought to a text that only we can read; null if it is too long to carry. `maker` identifies who alone may get it back. */
  seal(thought: ReasoningBlock, maker: string): string | null;
  /** Decrypts a thought; null if it was not sealed here, for this payer and this `maker`. */
  open(text: string, maker: string): ReasoningBlock | null;
}
