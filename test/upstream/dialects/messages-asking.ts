// What the tests of requests in the messages wire ask for, and what becomes of it.

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

/** The body that goes upstream for a chat of `HI`, and of what `body` adds. */
export function sent(body: Record<string, unknown>, changes: Partial<ChatContext> = {}) {
  return messages.request(asked({ messages: [HI], ...body }), chatContext(changes)).body;
}

/** Why such a chat cannot be said in this wire; null where it can. */
export function refused(body: Record<string, unknown>, changes: Partial<ChatContext> = {}) {
  return messages.unsupported(asked({ messages: [HI], ...body }), chatContext(changes));
}
