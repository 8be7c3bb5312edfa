// The table beside an adapter's file: maps the names that callers give to a vendor's many endpoints behind one action.
import { z } from "zod";
import { cents, json, type Said, words } from "./said.ts";

const param = z.strictObject({
  type: z.enum(["string", "integer", "number", "boolean", "array", "object"]),
  required: z.boolean().optional(),
  default: json.optional(),
  enum: z.array(json).optional(),
  /** The value, or each item of an array, is an http or `data:` URL. */
  format: z.literal("uri").optional(),
  description: z.string().optional(),
});
const endpoint = z.strictObject({
  method: z.enum(["GET", "POST"]),
  /** One of the adapter's `origins`, if the rows use several hosts. Default: the request's. */
  origin: words.optional(),
  path: z.string().startsWith("/"),
  summary: z.string(),
  params: z.record(z.string(), param),
  /** Sent with every call of this row, under the vendor's names; the call cannot override it. */
  fixed: z.record(z.string(), json).optional(),
  /** The vendor has ended it: it is no longer listed, and callers who request it get the date and the successor. */
  ended: z.strictObject({ on: z.iso.date(), successor: words.optional() }).optional(),
  /** The param whose value is the entire JSON body. */
  body: words.optional(),
  /** Default: the action's `price.cents`. */
  cents: cents.optional(),
  /** The vendor's charge to us, in the same units as `cents`. Default: the action's `upstreamCents`. */
  upstreamCents: cents.optional(),
  /** What `cents` is multiplied by: the number in `param`, a text's length in thousands of characters, or an image's megapixels. */
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
export type TableEndpoint = Said<z.infer<typeof endpoint>>;
export type EndpointTable = Said<z.infer<typeof tableSchema>>;
