// Starts, breaks off and ends answers in the chat completions format, with the charge in their usage.
import type { GatewayError } from "../../../core/errors.ts";
import type { Charge, Cost } from "../../../core/plan.ts";
import type { FinalPart, Leg, TokenUsage } from "../../../core/route.ts";
import { AnswerFrame, costJson, type FrameOptions } from "../answer-head.ts";
import { errorObject } from "../error-object.ts";

export interface ChatFrameOptions extends FrameOptions {
  readonly completionId: string;
  readonly createdS: number;
  readonly includeUsage: boolean;
}

const DONE = Buffer.from("data: [DONE]\n\n");

/** OpenAI's usage object, with `cost` as OpenRouter has it. */
function usageJson(usage: TokenUsage, charge: Charge, cost: Cost): Record<string, unknown> {
  const { inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens, reasoningTokens } = usage;
  const prompt = inputTokens + cacheReadTokens + cacheWriteTokens;
  return {
    prompt_tokens: prompt,
    completion_tokens: outputTokens,
    total_tokens: prompt + outputTokens,
    prompt_tokens_details: { cached_tokens: cacheReadTokens, cache_write_tokens: cacheWriteTokens },
    completion_tokens_details: { reasoning_tokens: reasoningTokens },
    ...costJson(charge, cost),
  };
}

export class ChatFrame extends AnswerFrame<ChatFrameOptions> {
  last(final: FinalPart, cost: Cost, charge: Charge, attempts: readonly Leg[]): Uint8Array | string {
    const { includeUsage, trace } = this.options;
    if (final.kind === "body") {
      const { body } = final;
      if (cost.usage !== null) body.usage = usageJson(cost.usage, charge, cost);
      return JSON.stringify(Object.assign(body, this.trace(attempts, charge)));
    }
    const usage = includeUsage && cost.usage !== null ? { usage: usageJson(cost.usage, charge, cost) } : null;
    if (usage === null && !trace) return Buffer.concat([final.tail, DONE]);
    const chunk = { ...this.#chunk(attempts), choices: [], ...usage, ...this.trace(attempts, charge) };
    return Buffer.concat([final.tail, Buffer.from(`data: ${JSON.stringify(chunk)}\n\n`), DONE]);
  }

  broken(error: GatewayError, attempts: readonly Leg[]): string {
    const choices = [{ index: 0, delta: { content: "" }, finish_reason: "error" }];
    const chunk = { ...this.#chunk(attempts), choices, error: errorObject(error) };
    return `data: ${JSON.stringify(chunk)}\n\n`;
  }

  /** A chunk under the last tried route's name; there may be no route yet. */
  #chunk(attempts: readonly Leg[]): Record<string, unknown> {
    const { completionId: id, createdS: created } = this.options;
    return { id, object: "chat.completion.chunk", created, model: attempts.at(-1)?.model ?? "" };
  }
}
