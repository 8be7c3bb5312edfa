// An error as a whole answer, in the wire of the endpoint that was asked.

import type { ErrorCodec, Reply } from "../endpoint.ts";
import type { GatewayError } from "../errors.ts";
import type { Nano } from "../money.ts";

/** Sends an error and tells its length. `balance` is what the payer has left. SDKs read `x-should-retry` before any rule of their own. */
export function sendError(reply: Reply, error: GatewayError, errors: ErrorCodec, balance: Nano | null = null): number {
  const { retryAfterSeconds } = error.options;
  reply.header("content-type", "application/json");
  reply.header("x-should-retry", String(error.retry));
  // Every 401 names the way to authenticate (RFC 9110, 15.5.2).
  if (error.status === 401) reply.header("www-authenticate", 'Bearer realm="tollgate"');
  if (retryAfterSeconds !== undefined) reply.header("retry-after", String(Math.max(1, Math.ceil(retryAfterSeconds))));
  const body = JSON.stringify(errors.body(error, balance));
  reply.send(error.status, body);
  return Buffer.byteLength(body);
}
