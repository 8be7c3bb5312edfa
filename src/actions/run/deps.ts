// The dependencies of action calls, and the types their files share.
import type { ToldEvent, WantedChat, WantedSpeech } from "../../catalog/local-action.ts";
import type { FramedPlan, PlanCall } from "../../core/endpoint.ts";
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
  /** For calls that our own functions make. */
  readonly kernel: KernelDeps;
  /** Buffers a paid answer completely before any of it is sent. */
  readonly readsWhole?: boolean;
  /** Null: large binary answers stay in the envelope. */
  readonly keepBytes: KeepBytes | null;
  readonly linkFile: LinkFile;
  modelPlan(action: ModelAction, call: PlanCall): Promise<FramedPlan>;
  /** Plans a chat request of one of our functions. Throws where no model can serve it. */
  chatPlan(wanted: WantedChat, order: ChatOrder): Plan;
  speechPlan(wanted: WantedSpeech, order: ChatOrder): Plan;
  /** Calls that one of our functions makes; its own call pays for them. */
  innerCalls(outer: OuterCall): PlannedCalls;
}

/** Who asks a model, and under which request id. */
export interface ChatOrder {
  readonly requestId: string;
  readonly audience: Audience;
}

export interface ActionOrder {
  readonly id: string;
  readonly requestId: string;
  /** The fault that a sandbox account wants simulated. */
  readonly sandboxFault: string | null;
  /** The trace that the caller started; absent where it sent none. */
  readonly callerTraceId?: string;
  /** Sent before a streamed answer; null: answers are always read whole. */
  readonly preamble: Buffer | null;
  /** Encodes events for a caller that asked for them; absent where it did not. */
  readonly eventBytes?: (told: ToldEvent | null) => Uint8Array;
  readonly maxCostNano: Nano | null;
  readonly idempotency: Plan["idempotency"];
  readonly allows: Allowed;
  /** The caller's tags for the call; absent: none. */
  readonly tags?: readonly string[];
}
