// Encodes neutral answers in the messages format: events block by block, a whole answer as a message.
import { isRecord, type Json } from "../../../core/json.ts";
import type { AnswerBlock, AnswerCodec, AnswerText, EventEncoder, NeutralAnswer } from "../../../core/neutral.ts";
import { actionResult, actionUse, blockOf, stopOf, type ThoughtsShown } from "./blocks.ts";
import { type EncoderOptions, MessagesEncoder } from "./encoder.ts";

function blocksOf(block: AnswerBlock, shown: ThoughtsShown): readonly Json[] {
  if (block.kind === "action") return [actionUse(block), actionResult(block)];
  const one = blockOf(block, shown);
  return one === null ? [] : [one];
}

function textsOf({ stop_reason, content }: Json): readonly AnswerText[] {
  const block: unknown = Array.isArray(content) ? content.at(-1) : undefined;
  if (stop_reason !== "end_turn" || !isRecord(block) || typeof block.text !== "string") return [];
  return [{ text: block.text, put: (text) => void Object.assign(block, { text }) }];
}

/** The encoder for answers to one request, by one model. */
export function messagesAnswers(options: EncoderOptions): AnswerCodec {
  return {
    encoder: (): EventEncoder => new MessagesEncoder(options),
    texts: textsOf,
    whole({ choices }: NeutralAnswer): Json {
      const { id, model } = options.head;
      const [choice] = choices;
      const blocks = choice?.blocks ?? [];
      const calls = blocks.some(({ kind }) => kind === "tool-call");
      const refused = blocks.some(({ kind }) => kind === "refusal");
      const stops = { calls, refused, stops: options.stops };
      const end = choice === undefined ? { stop_reason: null, stop_sequence: null } : stopOf(choice, stops);
      return {
        id,
        type: "message",
        role: "assistant",
        model,
        content: blocks.flatMap((block) => blocksOf(block, options.shown)),
        ...end,
      };
    },
  };
}
