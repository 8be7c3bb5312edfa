// An error as the caller's kind of body: OpenAI's on the language-model endpoints, the envelope elsewhere.
import { ERRORS, type GatewayError } from "../errors.ts";
import type { ErrorShape, Reply } from "../plan.ts";

/** OpenAI's error object; `code` is the contract's stable code. */
export function openAiError(error: GatewayError): Record<string, unknown> {
  const { type, hint } = ERRORS[error.code];
  const { param, data } = error.options;
  return {
    message: error.message,
    type,
    param: param ?? null,
    code: error.code,
    hint,
    ...(data === undefined ? {} : { metadata: data }),
  };
}

/** The error envelope of the contract, part 2.2. */
export function envelopeError(error: GatewayError): Record<string, unknown> {
  const { data, param } = error.options;
  const told = param === undefined ? data : { field: param, ...data };
  return {
    ok: false,
    error: error.code,
    message: error.message,
    hint: ERRORS[error.code].hint,
    ...(told === undefined ? {} : { data: told }),
  };
}

/** Sends an error as a whole answer and tells its length. SDKs read `x-should-retry` before any rule of their own. */
export function sendError(reply: Reply, error: GatewayError, shape: ErrorShape): number {
  const { retryAfterSeconds } = error.options;
  reply.header("content-type", "application/json");
  reply.header("x-should-retry", String(error.retry));
  if (retryAfterSeconds !== undefined) reply.header("retry-after", String(Math.max(1, Math.ceil(retryAfterSeconds))));
  const body = JSON.stringify(shape === "chat" ? { error: openAiError(error) } : envelopeError(error));
  reply.send(error.status, body);
  return Buffer.byteLength(body);
}
