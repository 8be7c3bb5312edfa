// The answer to a CORS preflight.
import type { Reply } from "../../core/endpoint.ts";

/** Tells a browser that pages of any origin may send what they mean to send (Fetch standard, CORS preflight). */
export function preflight(reply: Reply, requestedHeaders: string): void {
  reply.header("access-control-allow-methods", "GET, POST, PUT, PATCH, DELETE");
  // Clients send headers of their own that we do not know, such as an SDK's version; nothing rests on refusing them.
  reply.header("access-control-allow-headers", requestedHeaders.slice(0, 2_000) || "authorization, content-type");
  reply.header("access-control-max-age", "86400");
  // With a body, however small: of an answer without one nothing would tell whether it is read, and it would be kept for a client that never does.
  reply.send(200, "{}");
}
