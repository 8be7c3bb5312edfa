// The table beside an adapter's file: many endpoints of the vendor behind one action, by the names that callers give.
import { z } from "zod";
import { cents, json, type Said, words } from "./said.ts";

const param = z.strictObject({
  type: z.enum(["string", "integer", "number", "boolean", "array", "object"]),
  required: z.boolean().optional(),
  default: json.optional(),
  enum: z.array(json).optional(),
  /** A text, or each of an array, is a URL: an http one, or a `data:` one. */
  format: z.literal("uri").optional(),
  description: z.string().optional(),
});
const endpoint = z.strictObject({
  method: z.enum(["GET", "POST"]),
  /** One of the adapter's `origins`, where the rows are of several hosts. Default: the request's. */
  origin: words.optional(),
  path: z.string().startsWith("/"),
  summary: z.string(),
  params: z.record(z.string(), param),
  /** Sent with every call of this row, by the vendor's names; nothing in the call changes it. */
  fixed: z.record(z.string(), json).optional(),
  /** The vendor has ended it: it is listed no more, and a caller who asks for it is told since when and what to ask for instead. */
  ended: z.strictObject({ on: z.iso.date(), successor: words.optional() }).optional(),
  /** The param whose value is the whole JSON body. */
  body: words.optional(),
  /** Default: the action's `price.cents`. */
  cents: cents.optional(),
  /** What the vendor takes from us, counted as `cents` is. Default: the action's `upstreamCents`. */
  upstreamCents: cents.optional(),
  /** `cents` counts for each of these: the number in `param`, a text's thousands of characters, an image's megapixels. */
  per: z
    .strictObject({
      unit: z.enum(["image", "second", "megapixel", "1000 characters"]),
      param: words,
      default: z.number().positive(),
      max: z.number().positive(),
    })
    .optional(),
});
export const tableSchema = z.record(z.string(), endpoint);

export type TableParam = Said<z.infer<typeof param>>;
/** A price or a vendor's facts that go with one name in the table. */
export type TableEndpoint = Said<z.infer<typeof endpoint>>;
export type EndpointTable = Said<z.infer<typeof tableSchema>>;
