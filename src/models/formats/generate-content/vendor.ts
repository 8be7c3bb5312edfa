// The wire of the generateContent API: contents made of parts, and streams where every event is a part of the whole answer.

import type { Dialect } from "../../../upstream/dialects/dialect.ts";
import { generateContentError } from "../../../upstream/dialects/error-body.ts";
import { generateContentAnswer, usageOf } from "./vendor-answer.ts";
import { generateContentRequest, generateContentUnsupported } from "./vendor-request.ts";
import { generateContentReader } from "./vendor-stream.ts";

export const generateContent: Dialect = {
  wire: "generate-content",
  passing: null,
  end: null,
  grows: "contents",
  fetches: "https-typed",
  request: generateContentRequest,
  reader: generateContentReader,
  answer: generateContentAnswer,
  usage: ({ usageMetadata }) => usageOf(usageMetadata),
  error: generateContentError,
  unsupported: generateContentUnsupported,
};
