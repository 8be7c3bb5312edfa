// Reads the Idempotency-Key header; keys are scoped to their path, and stored with a fingerprint of the request.

import type { GatewayRequest } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import type { Plan } from "../../core/plan.ts";
import { fingerprint } from "./fingerprint.ts";

const PARAM = "Idempotency-Key";

/** A payment serves as the key of the call it pays for, so a repeated payment gets the same answer. */
const PAYMENTS = ["payment-signature", "x-payment"] as const;

/** The key, bare or quoted, with the fingerprint of the canonical body. `isStranger`: without an API key, the payment may be the key. */
export function idempotencyOf(
  request: Pick<GatewayRequest, "headers" | "path">,
  body: unknown,
  isAnonymous = false,
): Plan["idempotency"] {
  const isPaid = isAnonymous && PAYMENTS.some((name) => request.headers.has(name));
  if (isPaid) return { key: "payment", fingerprint: fingerprint(request.path, body) };
  const key = request.headers.get("idempotency-key");
  if (key === undefined) return null;
  const bare = key.replace(/^"(.*)"$/, "$1");
  if (!/^[\x21-\x7e]{1,255}$/.test(bare))
    throw new GatewayError("bad_request", { param: PARAM, detail: `${PARAM}: 1 to 255 visible ASCII characters` });
  return { key: `${request.path} ${bare}`, fingerprint: fingerprint(request.path, body) };
}
