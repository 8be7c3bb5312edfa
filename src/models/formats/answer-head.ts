// Common to answers in all formats: headers, the trace on request, and the frame.
import type { Frame, Reply } from "../../core/endpoint.ts";
import type { GatewayError } from "../../core/errors.ts";
import { usdNumber, usdText } from "../../core/money.ts";
import type { Charge, Cost } from "../../core/plan.ts";
import type { Candidate, FinalPart, Leg } from "../../core/route.ts";

/** The attempts as callers may see them: routes, classes and times, never a vendor's text. */
function traceJson(attempts: readonly Leg[], charge: Charge): Record<string, unknown> {
  return {
    attempts: attempts.map(({ provider, model, status, failure, ms, firstTokenMs }) => ({
      provider,
      model,
      ok: failure === null,
      status,
      class: failure,
      ms: Math.round(ms),
      first_token_ms: firstTokenMs === null ? null : Math.round(firstTokenMs),
    })),
    transaction_id: charge.transactionId,
    charged_nano_usd: String(charge.chargedNano),
  };
}

/** The headers of a stream of events (WHATWG HTML, 9.2). */
export function streamHeaders(reply: Reply): void {
  reply.header("content-type", "text/event-stream");
  reply.header("cache-control", "no-cache");
  reply.header("x-accel-buffering", "no");
}

/** What a call was charged, in USD, with its actions; clients of the formats ignore these fields. */
export function costJson(charge: Charge, { actions }: Pick<Cost, "actions"> = {}): Record<string, unknown> {
  const cost = usdNumber(charge.chargedNano);
  return actions === undefined ? { cost } : { cost, actions };
}

export const KEEP_ALIVE = { text: ": keep-alive\n\n", headers: streamHeaders };

export interface FrameOptions {
  readonly stream: boolean;
  /** The caller wants a trace of the attempts. */
  readonly trace: boolean;
}

export abstract class AnswerFrame<Options extends FrameOptions> implements Frame {
  readonly keepAlive: Frame["keepAlive"] = KEEP_ALIVE;
  protected readonly options: Options;

  constructor(options: Options) {
    this.options = options;
  }

  head(reply: Reply, served: Candidate, attempts: readonly Leg[], charge: Charge | null): void {
    const failed = attempts.filter(({ failure }) => failure !== null).length;
    reply.header("x-tollgate-model", served.model);
    reply.header("x-tollgate-attempts", String(failed + 1));
    if (this.options.stream) return streamHeaders(reply);
    reply.header("content-type", "application/json");
    if (charge !== null) reply.header("x-tollgate-cost-usd", usdText(charge.chargedNano));
  }

  abstract last(final: FinalPart, cost: Cost, charge: Charge, attempts: readonly Leg[]): Uint8Array | string;
  abstract broken(error: GatewayError, attempts: readonly Leg[]): Uint8Array | string | null;

  /** Empty unless the caller wants a trace. */
  protected trace(attempts: readonly Leg[], charge: Charge): Record<string, unknown> {
    return this.options.trace ? { tollgate: traceJson(attempts, charge) } : {};
  }
}
