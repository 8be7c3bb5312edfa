// Time of a vendor's machine that is paid before it passes: we keep how much of it is left, and end the machine when it is over.
import type { ScriptContext } from "./action.ts";

/** The vendor lets the machine run for longer than was paid, because what is paid can be extended and its own time cannot. */
export interface PrepaidSpec {
  /** The kind of id that the action which begins it `issues`. */
  readonly kind: string;
  /** The most that one machine can be paid for, from its beginning; the vendor ends it by itself no later. */
  readonly minutesMax: number;
  /** Ends one. What the vendor does not know any more is ended. */
  close(context: Pick<ScriptContext, "ask" | "end">, id: string): Promise<unknown>;
  /** Ends whatever a call has begun under this label whose answer never came. Nothing is there: it is ended. */
  closeLabelled(context: Pick<ScriptContext, "ask" | "end">, label: string): Promise<unknown>;
  /** What the vendor has taken of us for one beside its minutes so far, in cents: asked each minute while it runs, and once it has ended. */
  takenCents?(context: Pick<ScriptContext, "ask" | "end">, id: string): Promise<number>;
}

/** What an action has to do with it. Its answer gets `paidMinutes`, what is left, and `expiresAt`. */
export type PrepaidUse =
  /** `minutes` is the param that says how many. What is made goes to the vendor under the `label` of its script. */
  | {
      readonly does: "begins";
      readonly minutes: string;
      /** The param with which the vendor takes more than the minutes, which bound nothing of it: it is our cost, `takenCents` tells it. */
      readonly takesMoreWith?: string;
    }
  /** `id` is the param that says of which. */
  | { readonly does: "extends"; readonly id: string; readonly minutes: string }
  | { readonly does: "tells"; readonly id: string }
  | { readonly does: "ends"; readonly id: string };
