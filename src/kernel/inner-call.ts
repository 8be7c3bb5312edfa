// The interface for calls within a call. Types only: the kernel does not run actions.
import type { InnerCalls, InnerModels } from "../catalog/local-action.ts";
import type { AnswerReader, Ended, Payer, Plan } from "../core/plan.ts";
import type { Leg, ToldCost } from "../core/route.ts";
import type { Spending } from "./parent-funds.ts";

export interface OuterCall {
  readonly id: string;
  readonly requestId: string;
  readonly payer: Payer;
  readonly signal: AbortSignal;
  /** On `clock.elapsedMs()`. */
  readonly deadlineMs: number;
  readonly spend: Spending;
  /** The fault that a sandbox account requests from its stubs. */
  readonly sandboxFault: string | null;
  /** Earlier legs, where the call resumes work of another process. */
  readonly legs: readonly Leg[];
}

/** A call whose plan the caller made and whose answer the caller reads as a stream. */
export interface PlannedCall {
  /** Its name in the legs until a candidate has answered. */
  readonly name: string;
  readonly plan: Plan;
  readonly reader: AnswerReader;
}

export interface CountedCalls extends InnerCalls, InnerModels {
  /** The legs so far; a running call shows only that it began. */
  legs(): readonly Leg[];
  /** All legs, once the running calls have ended. Call it after the outer call's signal has stopped them. */
  ended(): Promise<readonly Leg[]>;
  /** The same calls, with legs among these but paid from another budget. */
  paidBy(spend: Spending): InnerCalls & InnerModels;
}

/** For callers that make their own plans. */
export interface PlannedCalls extends CountedCalls {
  /** Runs a planned call, such as one round of a model. Never rejects. */
  planned(call: PlannedCall): Promise<Ended>;
  /** Notes on the leg with this id what the call cost the caller. */
  tell(id: string, told: ToldCost): void;
}
