// The answer to a CORS preflight.
import type { Reply } from "../../core/endpoint.ts";

/** Tells a browser that pages of any origin may send their requests (Fetch standard, CORS preflight). */
export function preflight(reply: Reply, requestedHeaders: string): void {
  reply.header("access-control-allow-methods", "GET, POST, PUT, PATCH, DELETE");
  // Clients send headers that we do not know, such as an SDK's version; refusing them would protect nothing.
  reply.header("access-control-allow-headers", requestedHeaders.slice(0, 2_000) || "authorization, content-type");
  reply.header("access-control-max-age", "86400");
  // With a small body: without one nothing shows whether the answer is read, and it would be kept for a client that never reads.
  reply.send(200, "{}");
}
