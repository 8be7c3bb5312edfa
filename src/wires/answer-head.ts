// What answers of models say of how they were served, whatever the wire: headers before them, and a trace within for whoever asked.
import type { Reply } from "../endpoint.ts";
import { usdText } from "../money.ts";
import type { Charge } from "../plan.ts";
import type { Candidate, Leg } from "../route.ts";

export interface HeadOptions {
  readonly stream: boolean;
  /** What the most output tokens were lowered to for the one that served; null: they stand as asked. */
  readonly loweredTo: (served: Candidate) => number | null;
}

/** Headers of a stream of events, before anybody has served it. */
export function streamHeaders(reply: Reply): void {
  reply.header("content-type", "text/event-stream");
  reply.header("cache-control", "no-cache");
  reply.header("x-accel-buffering", "no");
}

/** Headers of a good answer: who served it after how many attempts, and what a whole one cost. */
export function answerHead(
  reply: Reply,
  { stream, loweredTo }: HeadOptions,
  { served, legs, charge }: { served: Candidate; legs: readonly Leg[]; charge: Charge | null },
): void {
  const failed = legs.filter(({ failure }) => failure !== null).length;
  reply.header("x-tollgate-model", served.model);
  reply.header("x-tollgate-attempts", String(failed + 1));
  const lowered = loweredTo(served);
  if (lowered !== null) reply.header("x-tollgate-max-tokens", String(lowered));
  if (stream) return streamHeaders(reply);
  reply.header("content-type", "application/json");
  if (charge !== null) reply.header("x-tollgate-cost-usd", usdText(charge.chargedNano));
}

/** The attempts as callers may see them: routes, classes and times, never a vendor's text. */
export function traceJson(attempts: readonly Leg[], charge: Charge): Record<string, unknown> {
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
