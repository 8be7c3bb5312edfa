// Starts, breaks off and ends answers in the messages format, with the charge in their usage.
import type { GatewayError } from "../../../core/errors.ts";
import { isRecord, type Json } from "../../../core/json.ts";
import type { Charge, Cost } from "../../../core/plan.ts";
import { jsonText } from "../../../core/raw-json.ts";
import type { FinalPart, Leg, TokenUsage } from "../../../core/route.ts";
import { AnswerFrame, costJson, type FrameOptions } from "../answer-head.ts";
import { errorJson } from "./errors.ts";

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
