// What a plan needs of a request to a model, in any format. Types only.
import type { Frame } from "../../core/endpoint.ts";
import type { AnswerCodec, CallerRequest, ThoughtSeal } from "../../core/neutral.ts";
import type { Payer, Plan } from "../../core/plan.ts";
import type { ActionsAsk } from "./action-tools.ts";
import type { NamedBy } from "./call-tags.ts";
import type { Preferences } from "./preferences.ts";
import type { PromptShape } from "./prompt-shape.ts";
import type { AnswerHead } from "./wire.ts";

/** How many tokens an answer may have. */
export interface OutputBound {
  /** The caller's bound; null: none. */
  readonly asked: number | null;
  /** The default; null: the model's own maximum. */
  readonly fallback: number | null;
  /** The most that is sold; null: the model's own maximum. */
  readonly cap: number | null;
  /** Lowered to what a share of the payer's money pays for: clients of the format ask for far more than they use. */
  readonly shared: boolean;
}

export interface FrameParts {
  readonly id: string;
  /** Seconds since the epoch. */
  readonly createdS: number;
  /** The caller wants a trace of the attempts. */
  readonly trace: boolean;
}

/** A request that its format has read and checked. */
export interface ModelRequest {
  /** The label in metrics. */
  readonly operation: string;
  /** The prefix of answer ids, such as `chatcmpl-`. */
  readonly idPrefix: string;
  /** For vendors: known fields only. */
  readonly asked: CallerRequest;
  /** For the operator's own servers, which may know more fields: everything except our own fields. */
  readonly unsifted: () => CallerRequest;
  /** Vendors of the same format get that too: they know fields that no other format has. */
  readonly passesUnsifted?: boolean;
  /** The original body, for the fingerprint of its Idempotency-Key. */
  readonly sent: unknown;
  /** The fields that name the call in reports. */
  readonly named: NamedBy;
  /** The field with the conversation, which errors name when a model cannot take a part of it. */
  readonly promptField: string;
  /** Dropped fields, such as `messages.foo`, safe for a header. */
  readonly dropped: readonly string[];
  readonly shape: PromptShape;
  /** The type of a content part that has no bound. */
  readonly unknownPart: string | null;
  readonly maxCostCents: unknown;
  /** The caller's provider preferences; null: none. */
  readonly preferences: Preferences | null;
  /** In order of preference, as the caller wrote them, with the field each came from. */
  readonly wanted: readonly { readonly name: string; readonly param: string }[];
  readonly stream: boolean;
  readonly choices: number;
  readonly output: OutputBound;
  /** Bytes of kept conversation that the request refers to. */
  readonly keptBytes?: number;
  /** Thoughts go to the caller sealed; absent: as vendors give them. */
  readonly seal?: ThoughtSeal;
  /** Actions that the gateway runs for the model; absent: none. */
  readonly actions?: ActionsAsk;
  /** The route's health key in an earlier round of the same answer; absent: this is the first. */
  readonly stay?: string;
  /** Work on an answer before its charge, once the payer is known; absent: none. */
  prepareFor?(payer: Payer): NonNullable<Plan["prepare"]>;
  /** All text sent, for a bound. */
  sentText(): string;
  /** The text that the model reads, for an estimate if no usage comes. */
  readText(): string;
  answers(head: AnswerHead): AnswerCodec;
  frame(parts: FrameParts): Frame;
}
