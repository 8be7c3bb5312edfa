// A vendor with keys that also sells per call at another address: the same actions and prices, in another wire format.
import { z } from "zod";
import { type ActionSpec, actions } from "./action.ts";
import { paidBy, type Rail } from "./auth.ts";
import type { Said } from "./said.ts";

const origin = z.url({ protocol: /^https$/ });

/** The address without a key, per payment rail. */
export const keylessDoor = z
  .strictObject({
    mpp: origin.optional(),
    x402: origin.optional(),
    /** The actions in the format of this access, where it differs. No session is `prepaid`: sessions bought here end by themselves. */
    actions: actions.optional(),
  })
  .refine((door) => (door.mpp ?? door.x402) !== undefined, "must have an address");
export type KeylessDoor = Omit<Said<z.infer<typeof keylessDoor>>, "actions"> & {
  readonly actions?: Readonly<Record<string, ActionSpec>>;
};

/** The access for the first rail with a wallet; null if there is none. */
export function doorFor(door: KeylessDoor, rails: readonly Rail[]) {
  for (const rail of ["mpp", "x402"] as const) {
    const origin = door[rail];
    if (origin !== undefined && rails.includes(rail)) return { origin, auth: paidBy(rail) };
  }
  return null;
}
