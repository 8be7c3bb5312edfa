// Traces for a collector of OpenTelemetry's: a span for each request and each job, a span below it for each attempt. Loaded only where a collector is set.

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
  /** Where the collector takes traces, OTLP over HTTP: the address of the signal itself, which ends in `/v1/traces`. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly serviceName: string;
  /** The part of the traces that begin here which is kept, from 0 to 1. A trace that a caller began is kept where the caller keeps it. */
  readonly ratio: number;
  /** Makes the agent that speaks to it. */
  readonly agent: (isSecure: boolean) => Agent;
  /** How long spans wait to be sent together. */
  readonly delayMs: number;
}

export interface Traces {
  request(record: RequestRecord): void;
  job(job: EndedJob): void;
  /** Sends what waits, for at most some seconds. */
  close(): Promise<void>;
}

export interface TracesParts {
  readonly settings: TraceSettings;
  readonly clock: Clock;
  readonly otelName: OtelName;
  /** What spans say of what was asked and answered; null: nothing. */
  readonly contents: SpanContents | null;
}

/** What waits for the collector: beyond it spans are dropped, so that one which is away takes no memory. */
const QUEUE_MAX = 4_096;
/** Spans with content are large: fewer of them wait, and a batch stays below the 20 MiB that a collector takes of one request. */
const LARGE = { maxQueueSize: 512, maxExportBatchSize: 32 };
const FIRST_TOKEN = "first token";
const CLOSE_MS_MAX = 3_000;

/** The kit's own ids are random; ours follow from the request, so that its log line, its answer and its jobs name the same span. */
class PlannedIds implements IdGenerator {
  next = { traceId: "", spanId: "" };

  generateTraceId(): string {
    return this.next.traceId;
  }

  generateSpanId(): string {
    return this.next.spanId;
  }
}

/** Opens the way to a collector. What it does not take is dropped; no call waits for it. */
export function openTraces({ settings, clock, otelName, contents }: TracesParts): Traces {
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
    request: (record) => spans.request(record),
    job: (job) => spans.job(job),
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

/** The context of what is below a span. */
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
    // A mistake of the caller's is an error of its own span, and of no server's (semantic conventions of HTTP).
    if (status >= 500 || status === 0) span.setStatus({ code: SpanStatusCode.ERROR, message: code ?? "" });
    if (firstTokenMs !== null) span.addEvent(FIRST_TOKEN, startTime + firstTokenMs);
    span.end(startTime + record.durationMs);
    this.#legs(record.attempts, record.requestId, { traceId, spanId: own.spanId });
  }

  /** A job outlives the call that launched it, so it is a trace of its own with a link to that call. */
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

  /** The attempts of a call. Those that earlier releases kept do not say when they began. */
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
