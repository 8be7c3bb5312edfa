// The wire of the messages API: content blocks, thinking, and events that open, fill and close each block.

import { isRecord } from "../../../core/json.ts";
import type { Dialect } from "../../../upstream/dialects/dialect.ts";
import { messagesAnswer, messagesError, usageOf } from "./vendor-answer.ts";
import { messagesPassing } from "./vendor-passing.ts";
import { messagesRequest, messagesUnsupported } from "./vendor-request.ts";
import { messagesReader } from "./vendor-stream.ts";

export const messages: Dialect = {
  wire: "messages",
  passing: messagesPassing,
  end: "message_stop",
  grows: "messages",
  fetches: "https",
  request: messagesRequest,
  reader: messagesReader,
  answer: messagesAnswer,
  usage: ({ usage }) => (isRecord(usage) ? usageOf(usage) : null),
  error: messagesError,
  unsupported: messagesUnsupported,
};
