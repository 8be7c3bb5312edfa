// What wires and dialects say to each other: requests, events and answers in the neutral format. Types and nothing else.
import type { TokenUsage } from "./route.ts";

type JsonObject = Readonly<Record<string, unknown>>;

/** A request as it came, for a vendor of the same wire that is to get the very bytes. */
export interface SentRequest {
  /** Valid JSON without a key that is there twice. */
  readonly bytes: Buffer;
  /** The headers that go with them, by the names that the wire has for them. */
  readonly headers: Readonly<Record<string, string>>;
}

/** A caller's request as its wire has read it. */
export interface CallerRequest {
  /** The wire's name: a vendor that speaks the same one is sent `body` as it came. */
  readonly wire: string;
  readonly body: JsonObject;
  /** Absent: a vendor of the same wire is sent `body`, written anew. */
  readonly sent?: SentRequest;
  /** The caller's own stop sequences can end an answer before its first word; otherwise an empty one has failed. */
  readonly mayBeEmpty: boolean;
  /** The model may call tools. */
  readonly usesTools: boolean;
  /** How hard the model is to think; null: the request leaves it open. */
  reasoning(): ReasoningAsk | null;
  /** What the answer's text must be; null: anything. */
  format(): ResponseFormat | null;
  /** The same in the neutral format, made when it is first asked for. */
  neutral(): NeutralRequest;
}

export interface NeutralRequest {
  /** The whole conversation in order, system turns where they stood. */
  readonly turns: readonly NeutralTurn[];
  /** What the model may call; where the caller allows only some of the declared ones, these. */
  readonly tools: readonly NeutralTool[];
  /** Whether and what the model must call; null: the request leaves it open. */
  readonly toolChoice: ToolChoice | null;
  /** False: one call at a time; null: the request leaves it open. */
  readonly parallelToolCalls: boolean | null;
  /** What the answer's text must be; null: anything. */
  readonly format: ResponseFormat | null;
  readonly sampling: Sampling;
  readonly reasoning: ReasoningAsk | null;
  readonly stops: readonly string[];
  /** How many answers are wanted side by side. */
  readonly choices: number;
  /** Who is at the caller's keyboard, for the vendor's watch over abuse. */
  readonly user: string | null;
  /** The whole prompt is worth caching. */
  readonly cacheMark: boolean;
  /** Fields without a place above that change no price, by the names of OpenAI's chat wire or of the vendor that knows them. */
  readonly extra: JsonObject;
  /** What only the caller's own wire can give, with the field that asks for it. */
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

/** How hard the caller wants the model to think. */
export interface ReasoningAsk {
  /** Not at all. */
  readonly off: boolean;
  /** Null: only thinking as such was asked for. */
  readonly effort: Effort | null;
  readonly budgetTokens: number | null;
  /** Think, but do not show it. */
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
      /** Null: the caller gave it none. */
      readonly name: string | null;
      /** Whether the answer must fit the schema exactly; null: the request leaves it open. */
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
  /** Run by the vendor itself; only one of this format knows it. */
  | { readonly kind: "server"; readonly format: string; readonly type: string; readonly json: JsonObject };

export interface NeutralTurn {
  readonly role: "system" | "developer" | "user" | "assistant";
  readonly blocks: readonly NeutralBlock[];
}

/** Where an image or a document is. */
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
  /** A JSON object as text; what a model that was cut off wrote is none. */
  readonly arguments: string;
  readonly cacheMark: boolean;
}

export interface ToolResultBlock {
  readonly kind: "tool-result";
  readonly callId: string | null;
  /** The tool's name where the caller repeats it. */
  readonly name: string | null;
  readonly content: string | readonly NeutralBlock[];
  readonly isError: boolean;
  readonly cacheMark: boolean;
}

/** A thought, or the seal under which its vendor takes it back in a later turn. */
export interface ReasoningBlock {
  readonly kind: "reasoning";
  /** What may be shown of it; empty: nothing. */
  readonly text: string;
  /** Who can read signature and seal; null: neither is there, or the gateway alone can read `sealed`. */
  readonly format: string | null;
  /** The signature of `text`. */
  readonly signature: string | null;
  /** The whole thought, for its vendor alone. */
  readonly sealed: string | null;
  /** The tool call it belongs to, where it belongs to one. */
  readonly callId: string | null;
}

/** A part that only a vendor of its format can read, such as a server tool's call or its result. */
export interface NativeBlock {
  readonly kind: "native";
  readonly format: string;
  readonly json: JsonObject;
}

/** A part of the caller's that no other wire has a place for, in words. */
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

/** Where something that was found stands. */
export interface Source {
  readonly url: string;
  readonly title: string;
  /** What stands there, or the beginning of it; empty where only its address is known. */
  readonly text: string;
}

/** A tool that vendors run themselves, and that the gateway serves to models whose vendor does not. */
export type HostedTool = "web_search" | "web_fetch";

/** An action that the gateway runs for the model, within its answer. */
export interface ActionCall {
  readonly id: string;
  /** `<service>/<action>`. */
  readonly action: string;
  /** The function that the model has called for it. */
  readonly name: string;
  /** A JSON object as text. */
  readonly arguments: string;
  /** The tool of the caller's wire that it stands for; null: the caller has named the action. */
  readonly hosted: HostedTool | null;
}

/** The same once it has ended. */
export interface ActionBlock extends ActionCall {
  readonly kind: "action";
  readonly ok: boolean;
  /** What it was charged. */
  readonly cents: number;
  /** What the model is told of it. */
  readonly output: string;
  readonly sources: readonly Source[];
}

/** Why a choice ended. */
export type FinishReason = "stop" | "length" | "tool_calls" | "content_filter";

/** A piece of a streamed answer. `choice` is its place among several; `at` counts the calls, thoughts and images of one choice. */
export type NeutralEvent =
  /** The choice begins; the first event of it. */
  | { readonly kind: "begin"; readonly choice: number }
  | { readonly kind: "text" | "reasoning" | "refusal"; readonly choice: number; readonly text: string }
  /** A thought is over: whole, with what its vendor wants back. Its text may have been told in pieces before. */
  | { readonly kind: "thought"; readonly choice: number; readonly at: number; readonly thought: ReasoningBlock }
  /** A call begins, with as much of its arguments as is there. */
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
  /** Where the text just told comes from, as a vendor of `format` says it. */
  | { readonly kind: "citation"; readonly choice: number; readonly format: string; readonly json: JsonObject }
  /** A part that only a client of `format` can read, whole. */
  | { readonly kind: "native"; readonly choice: number; readonly format: string; readonly json: JsonObject }
  /** The gateway begins to run an action for the model, and has done so. */
  | { readonly kind: "action-begun"; readonly choice: number; readonly action: ActionCall }
  | { readonly kind: "action-done"; readonly choice: number; readonly action: ActionBlock }
  /** The choice has ended; `native` is the vendor's own word for why. */
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
  /** In the order they were said. */
  readonly blocks: readonly AnswerBlock[];
  readonly reason: FinishReason;
  /** The vendor's own word for why it ended. */
  readonly native: string;
}

/** A whole answer. */
export interface NeutralAnswer {
  readonly choices: readonly NeutralChoice[];
  /** Null: the vendor told none. */
  readonly usage: TokenUsage | null;
}

/** Writes the events of one stream in a wire. It may remember what it has said. */
export interface EventEncoder {
  /** The bytes of an event; none where the wire says nothing of it. */
  encode(event: NeutralEvent): Buffer;
}

/** What a wire wants of an answer that passes untranslated. */
export interface PassedAnswer {
  /** The number of the next event. A part that passes events on counts them here. */
  sequence: number;
  /** A vendor's object of the whole answer as the caller's: under our names, and saying what was really done. */
  adopt(object: Record<string, unknown>): Record<string, unknown>;
}

/** A text of a whole answer, and what puts another in its place. */
export interface AnswerText {
  readonly text: string;
  put(text: string): void;
}

/** The answer side of a caller's wire, for one call served by one model. */
export interface AnswerCodec {
  /** A new one for each attempt. */
  encoder(): EventEncoder;
  /** What shows in a stream that the model calls an action; absent: a comment between events. */
  readonly atWork?: Buffer;
  /** A whole answer as the JSON of the wire, without what its charge adds. */
  whole(answer: NeutralAnswer): Record<string, unknown>;
  /** The texts of a whole answer of this wire that came to its end, for a format that they must have; absent: none are looked at. */
  readonly texts?: (body: Record<string, unknown>) => readonly AnswerText[];
  /** A new one for each attempt whose answer passes untranslated, where the wire has something to say to that. */
  readonly passed?: () => PassedAnswer;
}

/** Keeps the thoughts of one payer sealed while the caller carries them from turn to turn. */
export interface ThoughtSeal {
  /** The thought as text that only we can read; null where it is too long to be carried. `maker` names who alone may have it back. */
  seal(thought: ReasoningBlock, maker: string): string | null;
  /** The thought again; null where it was not sealed here, for this payer, as a thought of `maker`. */
  open(text: string, maker: string): ReasoningBlock | null;
}
