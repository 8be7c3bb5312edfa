// The vendor stubs of the chat formats.
import type { Dialect, SocketStandIn } from "../../sandbox/dialect.ts";
import { chatCompletions } from "./chat-completions/stand-in.ts";
import { converse } from "./converse/stand-in.ts";
import { generateContent } from "./generate-content/stand-in.ts";
import { messages } from "./messages/stand-in.ts";
import { realtime } from "./realtime/stand-in.ts";
import { plainResponses, responses } from "./responses/stand-in.ts";

export const STAND_INS: readonly Dialect[] = [
  chatCompletions,
  messages,
  generateContent,
  responses,
  plainResponses,
  converse,
];

export const SOCKET_STAND_INS: readonly SocketStandIn[] = [realtime];
