// The formats for calling models, one folder each.
import { chatCompletionsWire } from "./chat-completions/wire.ts";
import { generateContentWire } from "./generate-content/wire.ts";
import { messagesWire } from "./messages/wire.ts";
import { responsesWire } from "./responses/wire.ts";
import type { ModelWire } from "./wire.ts";

export const MODEL_WIRES: readonly ModelWire[] = [
  chatCompletionsWire,
  messagesWire,
  responsesWire,
  generateContentWire,
];
