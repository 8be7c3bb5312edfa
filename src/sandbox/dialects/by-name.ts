// The stand-ins of the chat formats.
import type { Dialect } from "../dialect.ts";
import { chatCompletions } from "./chat-completions.ts";
import { converse } from "./converse.ts";
import { generateContent } from "./generate-content.ts";
import { messages } from "./messages.ts";
import { plainResponses } from "./plain-responses.ts";
import { responses } from "./responses.ts";

export const STAND_INS: readonly Dialect[] = [
  chatCompletions,
  messages,
  generateContent,
  responses,
  plainResponses,
  converse,
];
