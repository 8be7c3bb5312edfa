// The dialects, by the names that adapters use.
import type { DialectName } from "../../catalog/chat-wire.ts";
import type { Dialect } from "../../upstream/format-kit/dialect.ts";
import { chatCompletions } from "./chat-completions/vendor.ts";
import { converse } from "./converse/vendor.ts";
import { generateContent } from "./generate-content/vendor.ts";
import { messages } from "./messages/vendor.ts";
import { responses } from "./responses/vendor.ts";

export const DIALECTS: Readonly<Record<DialectName, Dialect>> = {
  "chat-completions": chatCompletions,
  responses,
  messages,
  "generate-content": generateContent,
  converse,
};
