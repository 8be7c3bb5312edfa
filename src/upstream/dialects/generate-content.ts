// The wire of the generateContent API: contents of parts, and streams whose every event is a piece of the whole answer.
import type { Dialect } from "./dialect.ts";
import { generateContentError } from "./error-body.ts";
import { generateContentAnswer } from "./generate-content-answer.ts";
import { generateContentRequest, generateContentUnsupported } from "./generate-content-request.ts";
import { generateContentReader } from "./generate-content-stream.ts";
import { usageOf } from "./generate-content-wire.ts";

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
