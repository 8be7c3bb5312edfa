// The dialects by the names that adapters give them.
import type { DialectName } from "../../catalog/chat-wire.ts";
import { chatCompletions } from "./chat-completions.ts";
import { converse } from "./converse.ts";
import type { Dialect } from "./dialect.ts";
import { generateContent } from "./generate-content.ts";
import { messages } from "./messages.ts";
import { responses } from "./responses.ts";

export const DIALECTS: Readonly<Record<DialectName, Dialect>> = {
  "chat-completions": chatCompletions,
  responses,
  messages,
  "generate-content": generateContent,
  converse,
};
