// A vendor's own batch API: its format, its limits, and its price as a percentage of the usual one.
import { z } from "zod";
import { count, day, type Said } from "./said.ts";

export const batchApi = z.strictObject({
  /** `files`: a batch of an uploaded file of lines. `messages`: a batch of the requests in one body. */
  format: z.enum(["files", "messages"]),
  /** What its lines may call, as paths below the origin. */
  paths: z.array(z.string().startsWith("/")).min(1),
  /** Percent of the usual prices, oldest first; the last one whose `since` is not after the batch's day applies. */
  prices: z.array(z.strictObject({ since: day, percent: z.int().min(1).max(100) })).min(1),
  linesMax: count,
  bytesMax: count,
  /** It deletes files and ended batches on request. Absent: it keeps them for as long as it likes. */
  deletes: z.boolean().optional(),
  /** All lines of one of its batches must name the same model. */
  oneModel: z.boolean().optional(),
});

export type BatchApi = Said<z.infer<typeof batchApi>>;
