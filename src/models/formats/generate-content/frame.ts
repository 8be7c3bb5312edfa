// How answers in the generate-content wire begin, break and end, with what was charged in their usage.
import type { Frame, Reply } from "../../../core/endpoint.ts";
import type { GatewayError } from "../../../core/errors.ts";
import type { Json } from "../../../core/json.ts";
import { usdNumber } from "../../../core/money.ts";
import type { Charge, Cost } from "../../../core/plan.ts";
import { jsonText } from "../../../core/raw-json.ts";
import type { Candidate, FinalPart, Leg, TokenUsage } from "../../../core/route.ts";
import { streamHeaders, traceJson, writeHead } from "../answer-head.ts";
import { errorJson } from "./errors.ts";
import { isEvents, type StreamForm } from "./stream-form.ts";

export interface GenerateFrameOptions {
  /** Null: the answer is whole. */
  readonly form: StreamForm | null;
  readonly choices: number;
  readonly trace: boolean;
  readonly id: string;
}

/** The wire's counts, and `cost` in USD, which its clients pass over. */
function usageJson(usage: TokenUsage, charge: Charge, { actions }: Cost): Json {
  const { inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens, reasoningTokens } = usage;
  const prompt = inputTokens + cacheReadTokens + cacheWriteTokens;
  return {
    promptTokenCount: prompt,
    cachedContentTokenCount: cacheReadTokens,
    candidatesTokenCount: outputTokens - reasoningTokens,
    thoughtsTokenCount: reasoningTokens,
    totalTokenCount: prompt + outputTokens,
    cost: usdNumber(charge.chargedNano),
    ...(actions === undefined ? {} : { actions }),
  };
}

class GenerateFrame implements Frame {
  readonly keepAlive: Frame["keepAlive"];
  readonly #options: GenerateFrameOptions;

  constructor(options: GenerateFrameOptions) {
    this.#options = options;
    this.keepAlive = isEvents(options.form) ? { text: ": keep-alive\n\n", headers: streamHeaders } : null;
  }

  head(reply: Reply, served: Candidate, attempts: readonly Leg[], charge: Charge | null): void {
    writeHead(reply, { served, attempts, charge, stream: isEvents(this.#options.form) });
  }

  last(final: FinalPart, cost: Cost, charge: Charge, legs: readonly Leg[]): Uint8Array | string {
    const { form, choices, trace, id } = this.#options;
    const told: Json = {};
    if (cost.usage !== null) told.usageMetadata = usageJson(cost.usage, charge, cost);
    if (trace) told.tollgate = traceJson(legs, charge);
    if (final.kind === "body" || form === null) {
      return jsonText(final.kind === "body" ? Object.assign(final.body, told) : told);
    }
    const inner = jsonText(told).slice(1);
    // The end of an only candidate is open; after several there is a piece of its own.
    const head = { modelVersion: legs.at(-1)?.model ?? "", responseId: id };
    const text =
      choices > 1
        ? `${form.next}${jsonText(Object.assign(head, told))}${form.after}`
        : `${inner === "}" ? "" : ","}${inner}${form.after}`;
    return Buffer.concat([final.tail, Buffer.from(`${text}${form.end}`)]);
  }

  broken(error: GatewayError): string | null {
    const { form } = this.#options;
    return form === null ? null : `${form.next}${JSON.stringify(errorJson(error))}${form.after}${form.end}`;
  }
}

export function createGenerateFrame(options: GenerateFrameOptions): Frame {
  return new GenerateFrame(options);
}
