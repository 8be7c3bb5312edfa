// Requests in the messages wire for the tests, and their results.

import { messages } from "../../../src/models/formats/messages/vendor.ts";
import type { ChatContext } from "../../../src/upstream/dialects/dialect.ts";
import { asked, chatContext } from "../../support/dialect-replay.ts";

export const HI = { role: "user", content: "Hi" };

export const WEATHER = {
  type: "function",
  function: {
    name: "get_weather",
    description: "Tells the weather.",
    parameters: { type: "object", properties: { city: { type: "string" } } },
  },
};

/** The upstream body for a chat of `HI`, with the additions in `body`. */
export function sent(body: Record<string, unknown>, changes: Partial<ChatContext> = {}) {
  return messages.request(asked({ messages: [HI], ...body }), chatContext(changes)).body;
}

/** Why this wire cannot express such a chat; null where it can. */
export function refused(body: Record<string, unknown>, changes: Partial<ChatContext> = {}) {
  return messages.unsupported(asked({ messages: [HI], ...body }), chatContext(changes));
}
