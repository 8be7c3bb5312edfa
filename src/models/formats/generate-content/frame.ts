// Starts, breaks off and ends answers in the generate-content format, with the charge in their usage.
import type { GatewayError } from "../../../core/errors.ts";
import type { Json } from "../../../core/json.ts";
import type { Charge, Cost } from "../../../core/plan.ts";
import { jsonText } from "../../../core/raw-json.ts";
import type { FinalPart, Leg, TokenUsage } from "../../../core/route.ts";
import { AnswerFrame, costJson, KEEP_ALIVE } from "../answer-head.ts";
import { errorJson } from "./errors.ts";
import { isEvents, type StreamForm } from "./stream-form.ts";

export interface GenerateFrameOptions {
  /** Null for a whole answer. */
  readonly form: StreamForm | null;
  readonly choices: number;
  readonly trace: boolean;
  readonly id: string;
}

function usageJson(usage: TokenUsage): Json {
  const { inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens, reasoningTokens } = usage;
  const prompt = inputTokens + cacheReadTokens + cacheWriteTokens;
  return {
    promptTokenCount: prompt,
    cachedContentTokenCount: cacheReadTokens,
    candidatesTokenCount: outputTokens - reasoningTokens,
    thoughtsTokenCount: reasoningTokens,
    totalTokenCount: prompt + outputTokens,
  };
}

export class GenerateFrame extends AnswerFrame<GenerateFrameOptions & { readonly stream: boolean }> {
  /** A comment would break a JSON list, so only event streams have a keep-alive. */
  override readonly keepAlive: AnswerFrame<never>["keepAlive"];

  constructor(options: GenerateFrameOptions) {
    super({ ...options, stream: isEvents(options.form) });
    this.keepAlive = this.options.stream ? KEEP_ALIVE : null;
  }

  last(final: FinalPart, cost: Cost, charge: Charge, legs: readonly Leg[]): Uint8Array | string {
    const { form, choices, id } = this.options;
    const usageMetadata = cost.usage === null ? null : { ...usageJson(cost.usage), ...costJson(charge, cost) };
    const added = { ...(usageMetadata === null ? {} : { usageMetadata }), ...this.trace(legs, charge) };
    if (final.kind === "body") return jsonText(Object.assign(final.body, added));
    if (form === null) return jsonText(added);
    const inner = jsonText(added).slice(1);
    // A single candidate's end is open; several candidates get a final piece of their own.
    const head = { modelVersion: legs.at(-1)?.model ?? "", responseId: id };
    const text =
      choices > 1
        ? `${form.next}${jsonText(Object.assign(head, added))}${form.after}`
        : `${inner === "}" ? "" : ","}${inner}${form.after}`;
    return Buffer.concat([final.tail, Buffer.from(`${text}${form.end}`)]);
  }

  broken(error: GatewayError): string | null {
    const { form } = this.options;
    return form === null ? null : `${form.next}${JSON.stringify(errorJson(error))}${form.after}${form.end}`;
  }
}
