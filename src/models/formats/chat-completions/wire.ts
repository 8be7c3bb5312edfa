// The chat completions format: whole answers or chunks, with their cost in the usage.

import type { ErrorCodec } from "../../../core/endpoint.ts";
import { errorObject } from "../error-object.ts";
import { at } from "../paths.ts";
import type { ModelWire } from "../wire.ts";
import { readChatBody } from "./read-body.ts";
import { WIRE } from "./request.ts";

export const chatErrors: ErrorCodec = { wire: WIRE, body: (error) => ({ error: errorObject(error) }) };

export const chatCompletionsWire: ModelWire = {
  name: WIRE,
  errors: chatErrors,
  calls: [
    {
      ...at("/chat/completions"),
      read: ({ request, audience }, host) => readChatBody(request.body, (tool) => host.hosts(tool, audience)),
    },
  ],
};
