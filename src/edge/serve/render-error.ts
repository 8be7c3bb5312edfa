// An error as a whole answer, in the wire of the endpoint that was asked.

import type { ErrorCodec, Reply } from "../../core/endpoint.ts";
import type { GatewayError } from "../../core/errors.ts";
import type { Nano } from "../../core/money.ts";
import type { ServeDeps } from "./deps.ts";

/** Says a request's id where the clients of its wire look for it; to be called once, before anything is answered. */
export function tellRequestId(reply: Reply, requestId: string, { requestIdHeader }: ErrorCodec): void {
  if (requestIdHeader !== undefined) reply.header(requestIdHeader, requestId);
}

/** Every 401 names a way to authenticate (RFC 9110, 15.5.2); one that knows a better way says so itself. */
const BEARER = 'Bearer realm="tollgate"';

/** Says how to come by a credential where that is what the request lacks, and nothing else is said of it. */
export function tellChallenge(reply: Reply, error: GatewayError, path: string, { challenge }: Challenging): void {
  if (error.options.headers !== undefined) return;
  if (error.status === 401 || error.code === "insufficient_scope")
    reply.header("www-authenticate", challenge?.(path, error) ?? BEARER);
}

type Challenging = Pick<ServeDeps, "challenge">;

/** Of the request that is refused. */
export interface Refused {
  readonly requestId: string;
  readonly errors: ErrorCodec;
  /** What the payer has left; null: not known. */
  readonly balance: Nano | null;
}

/** Sends an error and tells its length. SDKs read `x-should-retry` before any rule of their own. */
export function sendError(reply: Reply, error: GatewayError, { requestId, errors, balance }: Refused): number {
  const { retryAfterSeconds, headers = {} } = error.options;
  reply.header("content-type", "application/json");
  reply.header("x-should-retry", String(error.retry));
  for (const [name, value] of Object.entries(headers)) reply.header(name, value);
  if (retryAfterSeconds !== undefined) reply.header("retry-after", String(Math.max(1, Math.ceil(retryAfterSeconds))));
  const body = JSON.stringify(errors.body(error, balance, requestId));
  reply.send(error.status, body);
  return Buffer.byteLength(body);
}
