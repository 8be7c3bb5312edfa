// An error as a whole answer, in the wire of the endpoint that was asked.

import type { ErrorCodec, Reply } from "../endpoint.ts";
import type { GatewayError } from "../errors.ts";
import type { Nano } from "../money.ts";

/** Of the request that is refused. */
export interface Refused {
  readonly requestId: string;
  readonly errors: ErrorCodec;
  /** What the payer has left; null: not known. */
  readonly balance: Nano | null;
}

/** Sends an error and tells its length. SDKs read `x-should-retry` before any rule of their own. */
export function sendError(reply: Reply, error: GatewayError, { requestId, errors, balance }: Refused): number {
  const { retryAfterSeconds } = error.options;
  reply.header("content-type", "application/json");
  reply.header("x-should-retry", String(error.retry));
  // Every 401 names the way to authenticate (RFC 9110, 15.5.2).
  if (error.status === 401) reply.header("www-authenticate", 'Bearer realm="tollgate"');
  if (retryAfterSeconds !== undefined) reply.header("retry-after", String(Math.max(1, Math.ceil(retryAfterSeconds))));
  if (errors.requestIdHeader !== undefined) reply.header(errors.requestIdHeader, requestId);
  const body = JSON.stringify(errors.body(error, balance, requestId));
  reply.send(error.status, body);
  return Buffer.byteLength(body);
}
