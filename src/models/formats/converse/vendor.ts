// The wire in which one vendor serves models of many makers; streams are binary frames.

import type { Dialect } from "../../../upstream/dialects/dialect.ts";
import { converseAnswer, converseError, usageOf } from "./vendor-answer.ts";
import { converseRequest, converseUnsupported } from "./vendor-request.ts";
import { converseReader } from "./vendor-stream.ts";

export const converse: Dialect = {
  wire: "converse",
  passing: null,
  end: "metadata",
  grows: "messages",
  fetches: "none",
  request: converseRequest,
  reader: converseReader,
  answer: converseAnswer,
  usage: ({ usage }) => usageOf(usage),
  error: converseError,
  unsupported: converseUnsupported,
};
