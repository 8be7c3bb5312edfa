// Whose catalog a free answer shows: that of the key it is asked with, or without one the live one.
import type { Caller } from "../core/plan.ts";
import type { Audience } from "./catalog.ts";

/** What anybody may see. */
export const EVERYBODY: Audience = { sandbox: false };

/** Such an answer differs by its key, which every cache must know. */
export const BY_KEY = { vary: "authorization" } as const;

export function seenBy(caller: Caller | null): Audience {
  return caller ?? EVERYBODY;
}
