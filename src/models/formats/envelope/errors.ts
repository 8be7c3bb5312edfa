// The error envelope of the contract, part 2.2.

import type { ErrorCodec } from "../../../core/endpoint.ts";
import { centsDown } from "../../../core/money.ts";

export const envelopeErrors: ErrorCodec = {
  wire: "envelope",
  body(error) {
    const { data, param } = error.options;
    const told = param === undefined ? data : { field: param, ...data };
    return {
      ...error.options.body,
      ok: false,
      error: error.code,
      message: error.message,
      hint: error.hint,
      ...(told === undefined ? {} : { data: told }),
    };
  },
};

/** Errors of calls of actions, which say as their answers do what was charged, which is nothing, and what is left. */
export const callErrors: ErrorCodec = {
  wire: envelopeErrors.wire,
  tellsBalance: true,
  body(error, balance = null) {
    const body = envelopeErrors.body(error);
    body.charged_cents = 0;
    if (balance !== null) body.balance_remaining_cents = centsDown(balance);
    return body;
  },
};
