// The vendor side of chat completions. Adapter fields describe how vendors that copied the format differ.

import type { Dialect } from "../../../upstream/dialects/dialect.ts";
import { readError } from "../../../upstream/dialects/error-body.ts";
import { chatCompletionsAnswer, readUsage } from "./vendor-answer.ts";
import { chatCompletionsEvents } from "./vendor-events.ts";
import { chatCompletionsPassing } from "./vendor-passing.ts";
import { chatCompletionsRequest, chatCompletionsUnsupported } from "./vendor-request.ts";

export const chatCompletions: Dialect = {
  wire: "chat-completions",
  passing: chatCompletionsPassing,
  end: "[DONE]",
  grows: "messages",
  request: chatCompletionsRequest,
  reader: chatCompletionsEvents,
  answer: chatCompletionsAnswer,
  usage: (json, context) => readUsage(json, context).usage,
  error: readError,
  unsupported: chatCompletionsUnsupported,
};
