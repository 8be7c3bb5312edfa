// When a vendor ends a model, as an adapter says it.
import { z } from "zod";
import { day, type Said, slug } from "./said.ts";

export const modelEnd = z.strictObject({
  /** The first day (`YYYY-MM-DD`, UTC) on which it is not served. */
  on: day,
  /** The slug to ask for instead. */
  successor: slug.optional(),
});

/** The end of a model at a vendor. From a month before it is no longer listed; what it is asked for after it names the successor. */
export type ModelEnd = Said<z.infer<typeof modelEnd>>;
