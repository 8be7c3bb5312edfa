// Time of a vendor's machine that is paid before it passes: we keep how much of it is left, and end the machine when it is over.
import { z } from "zod";
import { count, fn, jsonObject, type Said, words } from "./said.ts";
import type { ScriptContext } from "./script.ts";

type Asking = Pick<ScriptContext, "ask" | "end">;

/** The vendor lets the machine run for longer than was paid, because what is paid can be extended and its own time cannot. */
export const prepaid = z.strictObject({
  /** The kind of id that the action which begins it `issues`. */
  kind: words,
  /** The most that one machine can be paid for, from its beginning; the vendor ends it by itself no later. */
  minutesMax: count,
  /** Ends one. What the vendor does not know any more is ended. */
  close: fn<(context: Asking, id: string) => Promise<unknown>>(),
  /** Ends whatever a call has begun under this label whose answer never came. Nothing is there: it is ended. */
  closeLabelled: fn<(context: Asking, label: string) => Promise<unknown>>(),
  /** What the vendor has taken of us for one beside its minutes so far, in cents: asked each minute while it runs, and once it has ended. */
  takenCents: fn<(context: Asking, id: string) => Promise<number>>().optional(),
});
export type PrepaidSpec = Said<z.infer<typeof prepaid>>;

/** What an action has to do with it. Its answer gets `paidMinutes`, what is left, and `expiresAt`. */
export const prepaidUse = z.discriminatedUnion("does", [
  z.strictObject({
    /** What is made goes to the vendor under the `label` of its script. */
    does: z.literal("begins"),
    /** The param that says how many. */
    minutes: words,
    /** The param with which the vendor takes more than the minutes, which bound nothing of it: it is our cost, `takenCents` tells it. */
    takesMoreWith: words.optional(),
  }),
  /** `id` is the param that says of which. */
  z.strictObject({ does: z.literal("extends"), id: words, minutes: words }),
  /** `over`: what its answer says once we have ended it, whatever the vendor still says. */
  z.strictObject({ does: z.literal("tells"), id: words, over: jsonObject.optional() }),
  z.strictObject({ does: z.literal("ends"), id: words }),
]);
export type PrepaidUse = Said<z.infer<typeof prepaidUse>>;
