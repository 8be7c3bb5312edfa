// The state of an item while it is written: a message, a thought, a call or an action.
import type { Json } from "../../../core/json.ts";
import type { ActionCall } from "../../../core/neutral.ts";
import type { CalledTool } from "./tools.ts";

export interface OpenMessage {
  readonly kind: "message";
  readonly id: string;
  readonly content: Json[];
  part: "text" | "refusal";
  text: string;
  annotations: Json[];
}

export interface OpenAction {
  readonly kind: "action";
  readonly id: string;
  readonly action: ActionCall;
}

export interface OpenThought {
  readonly kind: "thought";
  readonly id: string;
  text: string;
}

export interface OpenCall {
  readonly kind: "call";
  readonly id: string;
  readonly at: number;
  readonly callId: string;
  readonly called: CalledTool;
  text: string;
}

/** A call that started while another was open, to be written after it. */
export type WaitingCall = Omit<OpenCall, "kind" | "id">;
