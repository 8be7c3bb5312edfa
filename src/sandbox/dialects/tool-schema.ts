// Tool schemas as strict vendors accept them.
import { z } from "zod";

/** An object at the top level, without alternatives. */
export const plainSchema = z
  .looseObject({ type: z.literal("object") })
  .refine(
    (schema) => ["anyOf", "oneOf", "allOf"].every((word) => schema[word] === undefined),
    "input_schema does not support oneOf, allOf, or anyOf at the top level",
  );

/** The same, with `properties` required, even if empty. */
export const schemaWithProperties = plainSchema.refine(
  ({ properties }) => typeof properties === "object" && properties !== null,
  "object schema missing properties",
);
