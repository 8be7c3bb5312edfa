// Encodes neutral answers in the messages format (events block by block, a whole answer as a message), and frames them with the charge.

import type { GatewayError } from "../../../core/errors.ts";
import { isRecord, type Json } from "../../../core/json.ts";
import type { AnswerCodec, AnswerText } from "../../../core/neutral.ts";
import type { Charge, Cost } from "../../../core/plan.ts";
import { jsonText } from "../../../core/raw-json.ts";
import type { FinalPart, Leg, TokenUsage } from "../../../core/route.ts";
import { eventsOf } from "../answer-events.ts";
import { AnswerFrame, costJson, type FrameOptions } from "../answer-head.ts";
import { type EncoderOptions, MessagesEncoder } from "./encoder.ts";
import { errorJson } from "./errors.ts";

function textsOf({ stop_reason, content }: Json): readonly AnswerText[] {
  const block: unknown = Array.isArray(content) ? content.at(-1) : undefined;
  if (stop_reason !== "end_turn" || !isRecord(block) || typeof block.text !== "string") return [];
  return [{ text: block.text, put: (text) => void Object.assign(block, { text }) }];
}

export function messagesAnswers(options: EncoderOptions): AnswerCodec {
  return {
    encoder: () => new MessagesEncoder(options),
    texts: textsOf,
    whole: (answer) => new MessagesEncoder(options).whole(eventsOf(answer)),
  };
}

const STOP = 'event: message_stop\ndata: {"type":"message_stop"}\n\n';

/** The prompt tokens are in three disjoint buckets. */
function usageJson(usage: TokenUsage): Json {
  return {
    input_tokens: usage.inputTokens,
    cache_creation_input_tokens: usage.cacheWriteTokens,
    cache_read_input_tokens: usage.cacheReadTokens,
    output_tokens: usage.outputTokens,
    output_tokens_details: { thinking_tokens: usage.reasoningTokens },
  };
}

/** Uses a comment as keep-alive: clients expect no event before `message_start`. */
export class MessagesFrame extends AnswerFrame<FrameOptions & { readonly requestId: string }> {
  /** A stream's tail is open inside the usage of its last event; existing counts come before ours. */
  last(final: FinalPart, cost: Cost, charge: Charge, legs: readonly Leg[]): Uint8Array | string {
    const usage = cost.usage === null ? {} : { ...usageJson(cost.usage), ...costJson(charge, cost) };
    const trace = this.trace(legs, charge);
    if (final.kind === "body") {
      const { body } = final;
      body.usage = { ...(isRecord(body.usage) ? body.usage : {}), ...usage };
      return jsonText(Object.assign(body, trace));
    }
    const more = this.options.trace ? `,${JSON.stringify(trace).slice(1, -1)}` : "";
    return Buffer.concat([final.tail, Buffer.from(`${JSON.stringify(usage).slice(1)}${more}}\n\n${STOP}`)]);
  }

  broken(error: GatewayError): string {
    return `event: error\ndata: ${JSON.stringify(errorJson(error, this.options.requestId))}\n\n`;
  }
}
