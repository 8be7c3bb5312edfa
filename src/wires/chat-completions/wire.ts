// OpenAI's chat wire: chat completions, whole or as chunks, with what they cost in their usage.
import type { ModelWire } from "../wire.ts";
import { chatAnswers } from "./answers.ts";
import type { ChatBody } from "./body.ts";
import { chatErrors } from "./errors.ts";
import { type ChatFrameOptions, createChatFrame } from "./frame.ts";
import { chatRequest, WIRE } from "./request.ts";

export const chatCompletionsWire: ModelWire<ChatBody, ChatFrameOptions> = {
  name: WIRE,
  errors: chatErrors,
  request: chatRequest,
  answers: chatAnswers,
  frame: createChatFrame,
};
