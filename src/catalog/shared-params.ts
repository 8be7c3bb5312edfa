// Params that several adapters have alike, each written so that what is published of it is what is taken.
import { z } from "zod";

/** The name of a host on the internet, as of a company: without a scheme, a port or a path. */
export const domainName = z
  .string()
  .max(253)
  .regex(/^([A-Za-z0-9-]+\.)+[A-Za-z]{2,}$/, "must be a domain such as example.com");
