// Vendor machines paid for in advance: we track the remaining time and end the machine when it runs out.
import { z } from "zod";
import { count, fn, jsonObject, type Said, words } from "./said.ts";
import type { ScriptContext } from "./script.ts";

type Asking = Pick<ScriptContext, "ask" | "end">;

/** The vendor's own limit exceeds the time paid for, because we can extend the paid time but not the vendor's limit. */
export const prepaid = z.strictObject({
  /** The kind of id that the action which starts it `issues`. */
  kind: words,
  /** The maximum paid time of one machine, from its start; the vendor ends it by itself no later than this. */
  minutesMax: count,
  /** Ends a machine; one that the vendor no longer knows counts as ended. */
  close: fn<(context: Asking, id: string) => Promise<unknown>>(),
  /** Ends the machine of a call whose answer was lost, by its label; if there is none, it counts as ended. */
  closeLabelled: fn<(context: Asking, label: string) => Promise<unknown>>(),
  /** The vendor's charges so far beyond the minutes, in cents: queried every minute while the machine runs, and once after it ends. */
  takenCents: fn<(context: Asking, id: string) => Promise<number>>().optional(),
});
export type PrepaidSpec = Said<z.infer<typeof prepaid>>;

/** How an action uses it. Its answer gets `paidMinutes` (the remaining time) and `expiresAt`. */
export const prepaidUse = z.discriminatedUnion("does", [
  z.strictObject({
    /** The script creates the machine at the vendor under its `label`. */
    does: z.literal("begins"),
    /** The param with the number of minutes. */
    minutes: words,
    /** The param that makes the vendor charge more than the minutes, without a limit: it is our cost, reported by `takenCents`. */
    takesMoreWith: words.optional(),
  }),
  /** `id` is the param with the machine's id. */
  z.strictObject({ does: z.literal("extends"), id: words, minutes: words }),
  /** `over`: what the answer says once we ended the machine, whatever the vendor reports. */
  z.strictObject({ does: z.literal("tells"), id: words, over: jsonObject.optional() }),
  z.strictObject({ does: z.literal("ends"), id: words }),
]);
export type PrepaidUse = Said<z.infer<typeof prepaidUse>>;
