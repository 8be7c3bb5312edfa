// The error envelope of the contract, part 2.2.

import type { ErrorCodec } from "../../../core/endpoint.ts";
import { centsDown } from "../../../core/money.ts";

export const envelopeErrors: ErrorCodec = {
  wire: "envelope",
  body(error) {
    const { data, param } = error.options;
    const fields = param === undefined ? data : { field: param, ...data };
    return {
      ...error.options.body,
      ok: false,
      error: error.code,
      message: error.message,
      hint: error.hint,
      ...(fields === undefined ? {} : { data: fields }),
    };
  },
};

/** Errors of actions; like answers, they contain the charge, which is zero, and the balance. */
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
