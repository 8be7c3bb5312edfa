// Params that several adapters have alike, each written so that what is published of it is what is taken.
import { z } from "zod";

/** A param that may be left out, with what is said of it. */
export function optional<S extends z.ZodType>(schema: S, about: string) {
  return schema.optional().describe(about);
}

/** The name of a host on the internet, as of a company: without a scheme, a port or a path. */
export const domainName = z
  .string()
  .max(253)
  .regex(/^([A-Za-z0-9-]+\.)+[A-Za-z]{2,}$/, "must be a domain such as example.com");

/** The params of a table of endpoints: the row that is meant, and beside it whatever that row takes. */
export function endpointParams(words: string) {
  const endpoint = z.string().min(1).max(200).describe(`${words}; its own params go beside it`);
  return z.looseObject({ endpoint });
}
