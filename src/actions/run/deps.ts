// What running actions needs, and the words its files share.
import type { ToldEvent, WantedChat, WantedSpeech } from "../../catalog/local-action.ts";
import type { FramedPlan, PlanCall } from "../../core/endpoint.ts";
import type { GatewayError } from "../../core/errors.ts";
import type { Nano } from "../../core/money.ts";
import type { Allowed, Audience, Plan } from "../../core/plan.ts";
import type { KernelDeps } from "../../kernel/deps.ts";
import type { OuterCall, PlannedCalls } from "../../kernel/inner-call.ts";
import type { Records } from "../../platform/records/records.ts";
import type { Upstream } from "../../upstream/upstream.ts";
import type { ActionCatalog, ModelAction } from "./action-catalog.ts";
import type { KeepBytes } from "./binary-answer.ts";
import type { LinkFile } from "./linked-files.ts";
import type { PrepaidSessions } from "./prepaid-sessions.ts";

export interface RunDeps {
  readonly actionCatalog: ActionCatalog;
  readonly upstream: Upstream;
  readonly records: Records;
  readonly prepaidSessions: PrepaidSessions;
  /** For the calls that functions of ours make. */
  readonly kernel: KernelDeps;
  /** No answer that is paid for is passed on before all of it is there. */
  readonly readsWhole?: boolean;
  /** Null: large binary answers go into the envelope. */
  readonly keepBytes: KeepBytes | null;
  readonly linkFile: LinkFile;
  /** The plan of a call whose action is a vendor's model, in the frame of its wire. */
  modelPlan(action: ModelAction, call: PlanCall): FramedPlan | GatewayError | Promise<FramedPlan | GatewayError>;
  /** The plan of a question that a function of ours asks a model; or why no model can be asked. */
  chatPlan(wanted: WantedChat, order: ChatOrder): Plan | GatewayError;
  /** The same of a text that is to be spoken. */
  speechPlan(wanted: WantedSpeech, order: ChatOrder): Plan | GatewayError;
  /** Calls of actions for a function of ours; what they cost is part of its own call. */
  innerCalls(outer: OuterCall): PlannedCalls;
}

/** Who asks a model, and under which id. */
export interface ChatOrder {
  readonly requestId: string;
  readonly audience: Audience;
}

/** What a plan needs to know of the call that wants it. */
export interface ActionOrder {
  /** The call's transaction. */
  readonly id: string;
  readonly requestId: string;
  /** The fault that a sandbox account asks its stand-in for. */
  readonly sandboxFault: string | null;
  /** The trace that the caller began; absent: none. */
  readonly callerTraceId?: string;
  /** What goes out before an answer that is passed on as it comes; null: answers are always read whole. */
  readonly preamble: Buffer | null;
  /** How events are written to a caller who asks for them; absent: it asks for none. */
  readonly eventBytes?: (told: ToldEvent | null) => Uint8Array;
  readonly maxCostNano: Nano | null;
  readonly idempotency: Plan["idempotency"];
  /** What the key of the call may call. */
  readonly allows: Allowed;
  /** What the caller has called it; absent: nothing. */
  readonly tags?: readonly string[];
}
