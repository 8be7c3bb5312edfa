// The error envelope of the contract, part 2.2.

import type { ErrorCodec } from "../../endpoint.ts";

export const envelopeErrors: ErrorCodec = {
  wire: "envelope",
  body(error) {
    const { data, param } = error.options;
    const told = param === undefined ? data : { field: param, ...data };
    return {
      ok: false,
      error: error.code,
      message: error.message,
      hint: error.hint,
      ...(told === undefined ? {} : { data: told }),
    };
  },
};
