// The caller's own bound on what a call may cost: a field of the body, or a header where a client cannot add fields.
import { z } from "zod";
import { GatewayError } from "../errors.ts";
import { type Nano, nanoFromCents } from "../money.ts";
import type { GatewayRequest } from "../plan.ts";

const CENTS_MAX = 900_000_000;
const HEADER = "x-tollgate-max-cost-cents";
const RULE = `must be a whole number of cents from 0 to ${CENTS_MAX}`;

/** The field of a body. It is never sent on. */
export const maxCostCents = z.number(RULE).int(RULE).min(0, RULE).max(CENTS_MAX, RULE).nullish();

/** The bound of a request, the smaller one where both are given; null: none. */
export function maxCostOf(request: GatewayRequest, inBody: number | null | undefined): Nano | null | GatewayError {
  const header = request.headers.get(HEADER);
  if (header !== undefined && (!/^\d{1,9}$/.test(header) || Number(header) > CENTS_MAX)) {
    return new GatewayError("bad_request", { param: HEADER, detail: { detail: `${HEADER}: ${RULE}` } });
  }
  const cents = Math.min(
    inBody ?? Number.POSITIVE_INFINITY,
    header === undefined ? Number.POSITIVE_INFINITY : Number(header),
  );
  return Number.isFinite(cents) ? nanoFromCents(cents) : null;
}
