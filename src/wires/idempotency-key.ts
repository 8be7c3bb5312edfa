// What a request's Idempotency-Key header stands for: a key of its own on every path, and what is asked under it.

import type { GatewayRequest } from "../endpoint.ts";
import { GatewayError } from "../errors.ts";
import type { Plan } from "../plan.ts";
import { fingerprint } from "./fingerprint.ts";

const PARAM = "Idempotency-Key";

/** The key, bare or quoted (draft-ietf-httpapi-idempotency-key-header-07), with the fingerprint of the canonical body. */
export function idempotencyOf(request: GatewayRequest, body: unknown): Plan["idempotency"] | GatewayError {
  const key = request.headers.get("idempotency-key");
  if (key === undefined) return null;
  const bare = key.replace(/^"(.*)"$/, "$1");
  if (!/^[\x21-\x7e]{1,255}$/.test(bare)) {
    const detail = `${PARAM}: 1 to 255 visible ASCII characters`;
    return new GatewayError("bad_request", { param: PARAM, detail: { detail } });
  }
  return { key: `${request.path} ${bare}`, fingerprint: fingerprint(request.path, body) };
}
