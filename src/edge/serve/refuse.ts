// Renders the error that ends a call, in the format of its endpoint.
import type { Reply } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import { balanceLeft } from "./balance-left.ts";
import { addHeaders, type Call } from "./call.ts";
import type { ServeDeps } from "./deps.ts";
import { requestedName } from "./requested-name.ts";

/** Every 401 names a way to authenticate (RFC 9110, 15.5.2), unless the error has its own. */
const BEARER = 'Bearer realm="tollgate"';

function tellChallenge(reply: Reply, error: GatewayError, path: string, { challenge }: ServeDeps): void {
  if (error.options.headers !== undefined) return;
  if (error.status === 401 || error.code === "insufficient_scope")
    reply.header("www-authenticate", challenge?.(path, error) ?? BEARER);
}

/** Sends an error and returns its length. SDKs follow `x-should-retry` before their own retry rules. */
function sendError(reply: Reply, error: GatewayError, text: string): number {
  const { retryAfterSeconds, headers } = error.options;
  reply.header("content-type", "application/json");
  reply.header("x-should-retry", String(error.retry));
  addHeaders(reply, headers);
  if (retryAfterSeconds !== undefined) reply.header("retry-after", String(Math.max(1, Math.ceil(retryAfterSeconds))));
  reply.send(error.status, text);
  return Buffer.byteLength(text);
}

/** Whether the gateway or its store has failed: an unavailable store rejects with the 503 that callers get. */
function isFault(error: unknown, { refusal }: Call): boolean {
  return error !== refusal && !(error instanceof GatewayError && error.status < 500);
}

/** Renders the error that ended the call, where no head was written yet. */
export async function refuse(call: Call, error: unknown, deps: ServeDeps): Promise<void> {
  const { request, endpoint, record, rateLimit } = call;
  if (isFault(error, call)) deps.onBroken(error, request.id);
  const told = error instanceof GatewayError ? error : new GatewayError("internal_error", { cause: error });
  record.status = told.status;
  record.code = told.code;
  record.told = told.message;
  if (record.keyId !== null && "plan" in endpoint) record.asked ??= requestedName(request);
  const { reply } = call;
  if (reply.closed) return;
  const { window } = told.options;
  if (window !== undefined) rateLimit.learn({ allowed: false, remaining: 0, ...window });
  rateLimit.tell();
  const balance = await balanceLeft(told, record.accountId, endpoint.errors, deps);
  if (reply.closed) return;
  call.tellRun();
  tellChallenge(reply, told, endpoint.path, deps);
  record.bytesOut = sendError(reply, told, JSON.stringify(endpoint.errors.body(told, balance, request.id)));
}
