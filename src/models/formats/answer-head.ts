// What every answer of a model says of its call, whatever the wire: headers, and a trace where one was asked for.
import type { Reply } from "../../core/endpoint.ts";
import { usdText } from "../../core/money.ts";
import type { Charge } from "../../core/plan.ts";
import type { Candidate, Leg } from "../../core/route.ts";

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

/** The head of a stream of events (WHATWG HTML, 9.2). */
export function streamHeaders(reply: Reply): void {
  reply.header("content-type", "text/event-stream");
  reply.header("cache-control", "no-cache");
  reply.header("x-accel-buffering", "no");
}

export interface HeadParts {
  readonly served: Candidate;
  readonly attempts: readonly Leg[];
  /** Known where the answer is sent whole. */
  readonly charge: Charge | null;
  readonly stream: boolean;
}

/** Headers of a good answer. */
export function writeHead(reply: Reply, { served, attempts, charge, stream }: HeadParts): void {
  const failed = attempts.filter(({ failure }) => failure !== null).length;
  reply.header("x-tollgate-model", served.model);
  reply.header("x-tollgate-attempts", String(failed + 1));
  if (stream) return streamHeaders(reply);
  reply.header("content-type", "application/json");
  if (charge !== null) reply.header("x-tollgate-cost-usd", usdText(charge.chargedNano));
}
