// Traces for an OpenTelemetry collector: a span per request and job, with a child span per attempt. Loaded only where a collector is set.

import type { Agent } from "node:http";
import {
  type Context,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { AlwaysOnSampler, BatchSpanProcessor, type IdGenerator, TracerProvider } from "@opentelemetry/sdk-trace";
import type { Clock } from "../../core/clock.ts";
import type { Leg } from "../../core/route.ts";
import { VERSION } from "../../core/version.ts";
import type { EndedJob } from "./observer.ts";
import type { RequestRecord } from "./record.ts";
import { jobAttributes, legAttributes, type OtelName, requestAttributes } from "./span-attributes.ts";
import type { SpanContents } from "./span-content.ts";
import { idsOf, isKept, isSent } from "./trace-context.ts";

export interface TraceSettings {
  /** The collector's traces endpoint, OTLP over HTTP: the full URL, ending in `/v1/traces`. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly serviceName: string;
  /** The sampled part of traces that begin here, from 0 to 1. Traces that callers began follow the caller's flag. */
  readonly ratio: number;
  readonly agent: (isSecure: boolean) => Agent;
  /** How long spans wait to be batched. */
  readonly delayMs: number;
}

export type Traces = ReturnType<typeof openTraces>;

export interface TracesParts {
  readonly settings: TraceSettings;
  readonly clock: Clock;
  readonly otelName: OtelName;
  /** The contents of requests and answers for spans; null: none. */
  readonly contents: SpanContents | null;
}

/** The most queued spans; beyond it they are dropped, so that an unavailable collector costs no memory. */
const QUEUE_MAX = 4_096;
/** Spans with content are large: a shorter queue, and batches below the 20 MiB that a collector accepts per request. */
const LARGE = { maxQueueSize: 512, maxExportBatchSize: 32 };
const FIRST_TOKEN = "first token";
const CLOSE_MS_MAX = 3_000;

/** The SDK's own ids are random; ours derive from the request, so that its log line, its answer and its jobs refer to the same span. */
class PlannedIds implements IdGenerator {
  next = { traceId: "", spanId: "" };

  generateTraceId(): string {
    return this.next.traceId;
  }

  generateSpanId(): string {
    return this.next.spanId;
  }
}

/** Opens the exporter to a collector. Drops what it does not accept; calls never wait for it. */
export function openTraces({ settings, clock, otelName, contents }: TracesParts) {
  const ids = new PlannedIds();
  const httpAgentOptions = (protocol: string) => settings.agent(protocol === "https:");
  const exporter = new OTLPTraceExporter({ url: settings.url, headers: { ...settings.headers }, httpAgentOptions });
  const sizes = contents === null ? { maxQueueSize: QUEUE_MAX } : LARGE;
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ "service.name": settings.serviceName, "service.version": VERSION }),
    sampler: new AlwaysOnSampler(),
    idGenerator: ids,
    spanProcessors: [new BatchSpanProcessor({ exporter, scheduledDelayMillis: settings.delayMs, ...sizes })],
  });
  const spans = new Spans(provider.getTracer("tollgate", VERSION), ids, {
    clock,
    otelName,
    contents,
    ratio: settings.ratio,
  });
  return {
    request: (record: RequestRecord) => spans.request(record),
    job: (job: EndedJob) => spans.job(job),
    /** Sends queued spans, for at most some seconds. */
    async close() {
      const late = new Promise<void>((resolve) => setTimeout(resolve, CLOSE_MS_MAX).unref());
      await Promise.race([provider.shutdown(), late]);
    },
  };
}

interface SpanOf {
  readonly traceId: string;
  readonly spanId: string;
}

function under({ traceId, spanId }: SpanOf): Context {
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: TraceFlags.SAMPLED, isRemote: true });
}

interface SpansOptions extends Pick<TracesParts, "clock" | "otelName" | "contents"> {
  readonly ratio: number;
}

class Spans {
  readonly #tracer: Tracer;
  readonly #ids: PlannedIds;
  readonly #options: SpansOptions;

  constructor(tracer: Tracer, ids: PlannedIds, options: SpansOptions) {
    this.#tracer = tracer;
    this.#ids = ids;
    this.#options = options;
  }

  request(record: RequestRecord): void {
    const { clock, otelName, ratio, contents } = this.#options;
    if (!isSent(record, ratio)) return;
    const own = idsOf(record.requestId);
    const traceId = record.trace?.traceId ?? own.traceId;
    const startTime = clock.epochMs() - record.durationMs;
    const { operation, asked, endpoint, method, status, code, firstTokenMs } = record;
    this.#ids.next = { traceId, spanId: own.spanId };
    const span = this.#tracer.startSpan(
      operation === null || asked === null ? `${method} ${endpoint}` : `${operation} ${asked}`,
      {
        kind: SpanKind.SERVER,
        startTime,
        attributes: { ...requestAttributes(record, otelName), ...contents?.of(record) },
      },
      record.trace === null ? ROOT_CONTEXT : under({ traceId, spanId: record.trace.parentId }),
    );
    // By the semantic conventions for HTTP, a caller's mistake is not an error of the server span.
    if (status >= 500 || status === 0) span.setStatus({ code: SpanStatusCode.ERROR, message: code ?? "" });
    if (firstTokenMs !== null) span.addEvent(FIRST_TOKEN, startTime + firstTokenMs);
    span.end(startTime + record.durationMs);
    this.#legs(record.attempts, record.requestId, { traceId, spanId: own.spanId });
  }

  /** A job outlives the call that launched it, so it gets its own trace with a link to that call. */
  job(job: EndedJob): void {
    const { clock, ratio } = this.#options;
    const own = idsOf(job.id);
    const launched = idsOf(job.launch.requestId);
    const traceId = job.launch.callerTraceId ?? launched.traceId;
    if (!isKept(launched.traceId, ratio)) return;
    this.#ids.next = own;
    const links = [{ context: { traceId, spanId: launched.spanId, traceFlags: TraceFlags.SAMPLED } }];
    const span = this.#tracer.startSpan(
      `job ${job.action}`,
      { kind: SpanKind.INTERNAL, startTime: job.startedAtMs, links, attributes: jobAttributes(job) },
      ROOT_CONTEXT,
    );
    if (!job.succeeded) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end(clock.epochMs());
    this.#legs(job.legs, job.id, own);
  }

  /** The spans of a call's attempts. Legs stored by earlier releases have no start time. */
  #legs(legs: readonly Leg[], id: string, { traceId, spanId }: SpanOf): void {
    const parent = under({ traceId, spanId });
    for (const [at, leg] of legs.entries()) {
      const { startedAtMs: startTime, ms, failure, firstTokenMs } = leg;
      if (startTime === undefined) continue;
      this.#ids.next = { traceId, spanId: idsOf(`${id}.${at + 1}`).spanId };
      const kind = leg.own === true ? SpanKind.INTERNAL : SpanKind.CLIENT;
      const attributes = legAttributes(leg, this.#options.otelName);
      const span = this.#tracer.startSpan(`${leg.provider} ${leg.model}`, { kind, startTime, attributes }, parent);
      if (failure !== null) span.setStatus({ code: SpanStatusCode.ERROR, message: failure });
      if (firstTokenMs !== null) span.addEvent(FIRST_TOKEN, startTime + firstTokenMs);
      span.end(startTime + ms);
    }
  }
}
