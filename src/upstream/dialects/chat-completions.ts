// OpenAI's own wire, as OpenAI and everyone who copies it speak it; their differences are fields of the adapter.
import { chatCompletionsAnswer } from "./chat-completions-answer.ts";
import { chatCompletionsEvents } from "./chat-completions-events.ts";
import { chatCompletionsPassing } from "./chat-completions-passing.ts";
import { chatCompletionsRequest, chatCompletionsUnsupported } from "./chat-completions-request.ts";
import { readUsage } from "./chat-completions-wire.ts";
import type { Dialect } from "./dialect.ts";
import { readError } from "./error-body.ts";

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
