// What a plan needs of a request to a model, whatever the wire it came in. Types and nothing else.
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
  /** What the caller asked for; null: nothing. */
  readonly asked: number | null;
  /** Where nothing was asked for; null: the model's own maximum. */
  readonly fallback: number | null;
  /** The most that is sold; null: the model's own maximum. */
  readonly cap: number | null;
  /** It is lowered to what a part of the payer's money pays for: for wires whose clients ask for far more than they use. */
  readonly shared: boolean;
}

/** What the frame of an answer is made from. */
export interface FrameParts {
  readonly id: string;
  /** Seconds since the epoch. */
  readonly createdS: number;
  /** The caller wants to know what each attempt came to. */
  readonly trace: boolean;
}

/** A request that its wire has checked and read. */
export interface ModelRequest {
  /** The metric label of what was asked. */
  readonly operation: string;
  /** What the id of its answer begins with, such as `chatcmpl-`. */
  readonly idPrefix: string;
  /** What goes to vendors: nothing but what the wire's allow-list knows. */
  readonly asked: CallerRequest;
  /** What goes to servers of the operator's own, which may know more: all that was sent, but for our own fields. */
  readonly unsifted: () => CallerRequest;
  /** Vendors of the same wire are sent it too: they take fields that no other wire has a word for. */
  readonly passesUnsifted?: boolean;
  /** The body as it was sent, for the fingerprint of its Idempotency-Key. */
  readonly sent: unknown;
  /** The fields that name the call in reports. */
  readonly named: NamedBy;
  /** The field that the conversation is in; what a model cannot take is mostly in there. */
  readonly promptField: string;
  /** The fields that vendors are not sent, such as `messages.foo`; fit for a header, and at most 20. */
  readonly dropped: readonly string[];
  readonly shape: PromptShape;
  /** The type of a content part that could not be bounded. */
  readonly unknownPart: string | null;
  readonly maxCostCents: unknown;
  /** Who may serve, and in which order; null: all that can, in our order. */
  readonly preferences: Preferences | null;
  /** In order of preference, as the caller wrote them, with the field each came from. */
  readonly wanted: readonly { readonly name: string; readonly param: string }[];
  readonly stream: boolean;
  readonly choices: number;
  readonly output: OutputBound;
  /** Bytes of conversation that the request only names, beside its own. */
  readonly keptBytes?: number;
  /** Its caller carries thoughts sealed; absent: as their vendors give them. */
  readonly seal?: ThoughtSeal;
  /** What the gateway runs for the model within the answer; absent: nothing. */
  readonly actions?: ActionsAsk;
  /** The health key of the route that an earlier round of the same answer has taken; absent: it is the first. */
  readonly stay?: string;
  /** What must be done with an answer before its charge, once it is known who pays; absent: nothing. */
  prepareFor?(payer: Payer): NonNullable<Plan["prepare"]>;
  /** All the text that is sent, for a bound. */
  sentText(): string;
  /** What the model reads, for an estimate where no usage came. */
  readText(): string;
  answers(head: AnswerHead): AnswerCodec;
  frame(parts: FrameParts): Frame;
}
