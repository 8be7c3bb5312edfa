// Attributes of spans for calls and attempts, named by OpenTelemetry's semantic conventions where those apply.
import type { Attributes } from "@opentelemetry/api";
import type { Nano } from "../../core/money.ts";
import type { Leg, TokenUsage } from "../../core/route.ts";
import { GEN_AI_OPERATIONS } from "./count.ts";
import type { EndedJob } from "./observer.ts";
import type { RequestRecord } from "./record.ts";

/** An adapter's name in OpenTelemetry's conventions. */
export type OtelName = (provider: string) => string;

/** Token usage in the generative-AI conventions, where input includes the cached part. */
function usageOf(usage: TokenUsage): Attributes {
  return {
    "gen_ai.usage.input_tokens": usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens,
    "gen_ai.usage.output_tokens": usage.outputTokens,
    "gen_ai.usage.cache_read.input_tokens": usage.cacheReadTokens,
    "gen_ai.usage.cache_creation.input_tokens": usage.cacheWriteTokens,
  };
}

function moneyOf(chargedNano: Nano, upstreamNano: Nano): Attributes {
  return { "tollgate.charged_nano_usd": chargedNano, "tollgate.upstream_nano_usd": upstreamNano };
}

export function requestAttributes(record: RequestRecord, otelName: OtelName): Attributes {
  const { operation, asked, served, provider, usage, tags, runId } = record;
  const isModels = operation !== null && GEN_AI_OPERATIONS.has(operation);
  return {
    "http.request.method": record.method,
    "http.route": record.endpoint,
    ...(record.status === 0 ? {} : { "http.response.status_code": record.status }),
    ...(record.code === null ? {} : { "error.type": record.code }),
    "tollgate.request_id": record.requestId,
    "tollgate.sandbox": record.sandbox,
    ...(record.accountId === null ? {} : { "tollgate.account_id": record.accountId }),
    ...(record.keyId === null ? {} : { "tollgate.key_id": record.keyId }),
    ...(tags.length === 0 ? {} : { "tollgate.tags": [...tags] }),
    ...(runId === null ? {} : { "gen_ai.conversation.id": runId }),
    ...(record.outcome === null ? {} : { "tollgate.outcome": record.outcome }),
    ...(record.transactionId === null ? {} : { "tollgate.transaction_id": record.transactionId }),
    ...(operation === null ? {} : moneyOf(record.chargedNano, record.upstreamNano)),
    ...(asked === null ? {} : { [isModels ? "gen_ai.request.model" : "tollgate.action"]: asked }),
    ...(isModels
      ? {
          "gen_ai.operation.name": operation,
          ...(provider === null ? {} : { "gen_ai.provider.name": otelName(provider) }),
          ...(served === null ? {} : { "gen_ai.response.model": served }),
        }
      : {}),
    ...(usage === null ? {} : usageOf(usage)),
  };
}

export function legAttributes(leg: Leg, otelName: OtelName): Attributes {
  return {
    "gen_ai.provider.name": otelName(leg.provider),
    "gen_ai.request.model": leg.model,
    ...(leg.status === 0 ? {} : { "http.response.status_code": leg.status }),
    ...(leg.failure === null ? {} : { "error.type": leg.failure }),
    "tollgate.upstream_nano_usd": leg.upstreamNano,
  };
}

export function jobAttributes(job: EndedJob): Attributes {
  return {
    "tollgate.action": job.action,
    "tollgate.job_id": job.id,
    "tollgate.request_id": job.launch.requestId,
    "tollgate.account_id": job.accountId,
    "tollgate.sandbox": job.sandbox,
    "tollgate.charged_cents": job.chargedCents,
  };
}
