// The parts of a model request that a plan needs, in any format. Types only.
import type { Frame } from "../../core/endpoint.ts";
import type { AnswerCodec, CallerRequest, ThoughtSeal } from "../../core/neutral.ts";
import type { Payer, Plan } from "../../core/plan.ts";
import type { ActionsAsk } from "./action-tools.ts";
import type { NamedBy } from "./call-tags.ts";
import type { Preferences } from "./preferences.ts";
import type { PromptShape } from "./prompt-text.ts";
import type { AnswerHead } from "./wire.ts";

export interface OutputBound {
  /** The caller's limit; null: none. */
  readonly asked: number | null;
  /** The default; null: the model's own maximum. */
  readonly fallback: number | null;
  /** The most that we sell; null: the model's own maximum. */
  readonly cap: number | null;
  /** Lowered to what a share of the payer's money pays for, because clients of the format request far more than they use. */
  readonly shared: boolean;
}

export interface FrameParts {
  readonly id: string;
  readonly createdS: number;
  readonly trace: boolean;
}

export interface ModelRequest {
  /** The label in metrics. */
  readonly operation: string;
  /** The prefix of answer ids, such as `chatcmpl-`. */
  readonly idPrefix: string;
  /** For vendors: only known fields. */
  readonly asked: CallerRequest;
  /** For the operator's own servers, which may support more fields: everything except our own fields. */
  readonly unsifted: () => CallerRequest;
  /** Vendors of the same format get the unfiltered body too: they support fields that no other format has. */
  readonly passesUnsifted?: boolean;
  /** The original body, for the fingerprint of its Idempotency-Key. */
  readonly sent: unknown;
  readonly named: NamedBy;
  /** The field with the conversation, named in errors when a model does not accept a part of it. */
  readonly promptField: string;
  /** Dropped fields, such as `messages.foo`, safe for a header. */
  readonly dropped: readonly string[];
  readonly shape: PromptShape;
  /** The type of a content part without a bound. */
  readonly unknownPart: string | null;
  readonly maxCostCents: unknown;
  /** The caller's provider preferences; null: none. */
  readonly preferences: Preferences | null;
  /** The requested models in order of preference, with the field of each. */
  readonly wanted: readonly { readonly name: string; readonly param: string }[];
  readonly stream: boolean;
  readonly choices: number;
  readonly output: OutputBound;
  /** Bytes of the stored conversation that the request refers to. */
  readonly keptBytes?: number;
  /** Seals thoughts for the caller; absent: they are sent as the vendor gave them. */
  readonly seal?: ThoughtSeal;
  /** Actions that the gateway runs for the model; absent: none. */
  readonly actions?: ActionsAsk;
  /** The health key of the route that served an earlier round of this answer; absent: this is the first round. */
  readonly stay?: string;
  /** Work on an answer before its charge, once the payer is known; absent: none. */
  prepareFor?(payer: Payer): NonNullable<Plan["prepare"]>;
  sentText(): string;
  /** The text that the model reads, for an estimate where no usage is reported. A function, which keeps only the text's fields. */
  readonly readText: () => string;
  answers(head: AnswerHead): AnswerCodec;
  frame(parts: FrameParts): Frame;
}
