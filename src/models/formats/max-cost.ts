// The caller's cost limit for a call: a body field, or a header for clients that cannot add fields.

import type { GatewayRequest } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import { type Nano, nanoFromCents } from "../../core/money.ts";

/** The highest limit a caller can set. */
export const MAX_COST_CENTS = 900_000_000;
export const MAX_COST_HEADER = "x-tollgate-max-cost-cents";
const RULE = `must be a whole number of cents from 0 to ${MAX_COST_CENTS}`;

const FIELD = "max_cost_cents";

function wrong(param: string): GatewayError {
  const fields = [{ path: param, message: RULE }];
  return new GatewayError("bad_request", { param, detail: `${param}: ${RULE}`, data: { fields } });
}

function isCents(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= MAX_COST_CENTS;
}

/** The lower of the limits in the header and the body; null: none. */
export function maxCostOf(request: GatewayRequest, inBody: unknown): Nano | null {
  const header = request.headers.get(MAX_COST_HEADER);
  const inHeader = header !== undefined && /^\d{1,9}$/.test(header) ? Number(header) : header;
  if (inHeader !== undefined && !isCents(inHeader)) throw wrong(MAX_COST_HEADER);
  if (inBody !== undefined && inBody !== null && !isCents(inBody)) throw wrong(FIELD);
  if (inHeader === undefined && (inBody === undefined || inBody === null)) return null;
  const given = [inHeader, inBody].filter(isCents);
  return given.length === 0 ? null : nanoFromCents(Math.min(...given));
}
