// A vendor that sells by key, and at another address by the call to those who have none: the same actions at the same prices.
import { z } from "zod";
import { paidBy, type Rail } from "./auth.ts";

const origin = z.url({ protocol: /^https$/ });

/** Where it is asked without a key, for each way in which it is paid there. */
export const keylessDoor = z
  .strictObject({ mpp: origin.optional(), x402: origin.optional() })
  .refine((door) => (door.mpp ?? door.x402) !== undefined, "must have an address");
export type KeylessDoor = z.infer<typeof keylessDoor>;

/** By the first of the ways that there is a wallet for; null: there is none. */
export function doorFor(door: KeylessDoor, rails: readonly Rail[]) {
  for (const rail of ["mpp", "x402"] as const) {
    const origin = door[rail];
    if (origin !== undefined && rails.includes(rail)) return { origin, auth: paidBy(rail) };
  }
  return null;
}
