// The wire in which one vendor serves models of many makers; its streams are binary frames.
import { converseAnswer } from "./converse-answer.ts";
import { converseRequest, converseUnsupported } from "./converse-request.ts";
import { converseReader } from "./converse-stream.ts";
import { converseError, usageOf } from "./converse-wire.ts";
import type { Dialect } from "./dialect.ts";

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
