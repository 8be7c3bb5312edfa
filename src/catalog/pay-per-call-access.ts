// A vendor that sells by key, and at another address by the call to those who have none: the same actions at the same prices, in words of its own.
import { z } from "zod";
import { type ActionSpec, actions } from "./action.ts";
import { paidBy, type Rail } from "./auth.ts";
import type { Said } from "./said.ts";

const origin = z.url({ protocol: /^https$/ });

/** Where it is asked without a key, for each way in which it is paid there. */
export const keylessDoor = z
  .strictObject({
    mpp: origin.optional(),
    x402: origin.optional(),
    /**
     * Where it is another wire there: all of its actions as they are asked for there. What they have to do with the adapter's `prepaid`
     * time is left out: what is bought there ends by itself.
     */
    actions: actions.optional(),
  })
  .refine((door) => (door.mpp ?? door.x402) !== undefined, "must have an address");
export type KeylessDoor = Omit<Said<z.infer<typeof keylessDoor>>, "actions"> & {
  /** All of its actions as they are asked for there. Default: as anywhere. */
  readonly actions?: Readonly<Record<string, ActionSpec>>;
};

/** By the first of the ways that there is a wallet for; null: there is none. */
export function doorFor(door: KeylessDoor, rails: readonly Rail[]) {
  for (const rail of ["mpp", "x402"] as const) {
    const origin = door[rail];
    if (origin !== undefined && rails.includes(rail)) return { origin, auth: paidBy(rail) };
  }
  return null;
}
