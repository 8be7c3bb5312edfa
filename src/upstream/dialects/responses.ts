// OpenAI's responses wire: items in, items out. Its reasoning models take tools with reasoning nowhere else.

import type { Dialect } from "./dialect.ts";
import { readError } from "./error-body.ts";
import { responsesAnswer } from "./responses-answer.ts";
import { responsesPassing } from "./responses-passing.ts";
import { responsesRequest, responsesUnsupported } from "./responses-request.ts";
import { responsesReader } from "./responses-stream.ts";
import { usageOf } from "./responses-wire.ts";

export const responses: Dialect = {
  wire: "responses",
  passing: responsesPassing,
  end: "response.completed",
  grows: "input",
  request: responsesRequest,
  reader: responsesReader,
  answer: responsesAnswer,
  usage: ({ usage }) => usageOf(usage),
  error: readError,
  unsupported: responsesUnsupported,
};
