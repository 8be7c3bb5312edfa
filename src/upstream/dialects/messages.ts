// The wire of the messages API: content blocks, thinking, and events that open, fill and close each block.
import { isRecord } from "../../core/json.ts";
import type { Dialect } from "./dialect.ts";
import { messagesAnswer } from "./messages-answer.ts";
import { messagesPassing } from "./messages-passing.ts";
import { messagesRequest, messagesUnsupported } from "./messages-request.ts";
import { messagesReader } from "./messages-stream.ts";
import { messagesError, usageOf } from "./messages-wire.ts";

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
