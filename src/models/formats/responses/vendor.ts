// OpenAI's responses wire: items in, items out. The only wire where its reasoning models accept tools together with reasoning.

import type { Dialect } from "../../../upstream/format-kit/dialect.ts";
import { readError } from "../../../upstream/format-kit/error-body.ts";
import { ResponsesReader } from "./vendor-answer.ts";
import { responsesPassing } from "./vendor-passing.ts";
import { responsesRequest, responsesUnsupported } from "./vendor-request.ts";

export const responses: Dialect = {
  wire: "responses",
  passing: responsesPassing,
  end: "response.completed",
  grows: "input",
  request: responsesRequest,
  reader: (context, out) => new ResponsesReader(context, out),
  error: readError,
  unsupported: responsesUnsupported,
};
