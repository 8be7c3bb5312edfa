// Calls within a call, as their caller sees them. Types alone: running actions is not the kernel's matter.
import type { InnerCalls, InnerModels } from "../catalog/local-action.ts";
import type { AnswerReader, Ended, Payer, Plan } from "../core/plan.ts";
import type { Leg, ToldCost } from "../core/route.ts";
import type { Spending } from "./parent-funds.ts";

/** The call that they are made for. */
export interface OuterCall {
  readonly id: string;
  readonly requestId: string;
  readonly payer: Payer;
  readonly signal: AbortSignal;
  /** On `clock.elapsedMs()`. */
  readonly deadlineMs: number;
  readonly spend: Spending;
  /** The fault that a sandbox account asks its stand-ins for. */
  readonly sandboxFault: string | null;
  /** What it has done already, where it goes on with what another process began. */
  readonly legs: readonly Leg[];
}

/** A call whose plan its caller has made, and reads as it comes. */
export interface PlannedCall {
  /** Its name among the legs until one of them has answered. */
  readonly name: string;
  readonly plan: Plan;
  readonly reader: AnswerReader;
}

/** Inner calls, and the legs that they leave. */
export interface CountedCalls extends InnerCalls, InnerModels {
  /** So far: of a call that runs, only that it was begun. */
  legs(): readonly Leg[];
  /** All of them, once the calls that run now have ended. To be asked when the outer call's signal has stopped them. */
  ended(): Promise<readonly Leg[]>;
  /** Calls whose legs are among these, spent elsewhere. */
  paidBy(spend: Spending): InnerCalls & InnerModels;
}

/** The same for who makes plans of its own. */
export interface PlannedCalls extends CountedCalls {
  /** Such as a round of a model. It never rejects. */
  planned(call: PlannedCall): Promise<Ended>;
  /** Notes on the leg of a call, by its id, what it cost the caller. */
  tell(id: string, told: ToldCost): void;
}
