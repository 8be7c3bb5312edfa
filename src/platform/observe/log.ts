// One line per request, and the gateway's own notices. Prompts, answers, params and keys never come this way.
import { isatty } from "node:tty";
import { type DestinationStream, type Logger, pino } from "pino";
import type { Clock } from "../../core/clock.ts";
import type { Leg } from "../../core/route.ts";
import { LineBuffer } from "./line-buffer.ts";
import { logText } from "./log-text.ts";
import type { RequestRecord } from "./record.ts";

/** Callers name models, at any length. */
const NAME_LENGTH_MAX = 200;

/** `text` is for people; `auto` is text where standard output is a terminal. */
export type LogFormat = "auto" | "json" | "text";
export type LogLevel = "trace" | "debug" | "info" | "warn" | "error" | "fatal" | "silent";

export interface Log {
  /** For everything that is not a request. */
  readonly logger: Logger;
  request(record: RequestRecord): void;
  /** Writes what waits, before the process ends. */
  flush(): void;
}

export interface LogOptions {
  readonly level: LogLevel;
  readonly clock: Clock;
  /** Without it the lines go to standard output, in batches and off the event loop. */
  readonly stream?: DestinationStream;
  /** Default `json`. */
  readonly format?: LogFormat;
}

/**
 * Makes the log. A request's line has the form of the library's lines and is written beside it: the library needs 5
 * microseconds for so many fields, `JSON.stringify` one.
 */
export function createLog({ level, clock, stream, format = "json" }: LogOptions): Log {
  const isText = format === "auto" ? stream === undefined && isatty(1) : format === "text";
  const json = stream ?? new LineBuffer();
  const out = isText ? { write: (line: string) => json.write(logText(line, pino.levels.labels)) } : json;
  const isoTime = isoTimes();
  const logger = pino({ level, base: null, timestamp: () => `,"time":"${isoTime(clock.epochMs())}"` }, out);
  const writesWatched = logger.isLevelEnabled("debug");
  const writesGood = logger.isLevelEnabled("info");
  const writesBad = logger.isLevelEnabled("warn");
  return {
    logger,
    request(record) {
      const bad = record.status >= 500 || record.outcome === "broken" || record.outcome === "failed";
      // A probe asks every few seconds: that all is as it was is not worth a line.
      const writes = record.watched ? writesWatched : writesGood;
      if (!(bad ? writesBad : writes)) return;
      const values = logger.levels.values;
      const value = values[bad ? "warn" : record.watched ? "debug" : "info"];
      out.write(`${JSON.stringify(line(record, value, isoTime(clock.epochMs())))}\n`);
    },
    flush() {
      if ("flushSync" in json && typeof json.flushSync === "function") json.flushSync();
    },
  };
}

/** Times as `Date` writes them, at a fifth of what that takes for each line: all but the milliseconds stays for a second. */
function isoTimes(): (epochMs: number) => string {
  let second = Number.NaN;
  let start = "";
  return (epochMs) => {
    const now = Math.floor(epochMs / 1_000);
    if (now !== second) {
      second = now;
      start = new Date(now * 1_000).toISOString().slice(0, 20);
    }
    const rest = Math.floor(epochMs - now * 1_000);
    return `${start}${rest < 10 ? "00" : rest < 100 ? "0" : ""}${rest}Z`;
  };
}

/** What a request does not have is undefined and so left out: a free endpoint's line has no money in it. */
function line(record: RequestRecord, level: number | undefined, time: string): Record<string, unknown> {
  const paid = record.operation !== null;
  const tried = record.attempts.length > 0;
  return {
    level,
    time,
    request_id: record.requestId,
    trace_id: record.trace?.traceId,
    span_id: record.trace?.spanId,
    parent_span_id: record.trace?.parentId,
    method: record.method,
    endpoint: record.endpoint,
    status: record.status,
    code: record.code ?? undefined,
    ms: tenths(record.durationMs),
    bytes_in: record.bytesIn,
    bytes_out: record.bytesOut,
    account_id: record.accountId ?? undefined,
    key_id: record.keyId ?? undefined,
    sandbox: record.sandbox || undefined,
    operation: record.operation ?? undefined,
    outcome: record.outcome ?? undefined,
    asked: record.asked?.slice(0, NAME_LENGTH_MAX),
    streamed: paid ? record.streamed : undefined,
    served: record.served ?? undefined,
    provider: record.provider ?? undefined,
    attempts: tried ? record.attempts.map(attemptText) : undefined,
    first_token_ms: record.firstTokenMs === null ? undefined : tenths(record.firstTokenMs),
    skipped_events: record.skippedEvents || undefined,
    transaction_id: record.transactionId ?? undefined,
    held_nano_usd: paid ? record.heldNano : undefined,
    charged_nano_usd: paid ? record.chargedNano : undefined,
    upstream_nano_usd: paid ? record.upstreamNano : undefined,
    absorbed_nano_usd: record.absorbedNano || undefined,
    absorb_reason: record.absorbReason ?? undefined,
    usage: record.usage ?? undefined,
    estimated: record.estimated || undefined,
    msg: "request",
  };
}

/** `provider model status outcome ms`, short enough to read several in a line. */
function attemptText({ provider, model, status, failure, ms }: Leg): string {
  return `${provider} ${model} ${status} ${failure ?? "ok"} ${tenths(ms)}`;
}

function tenths(ms: number): number {
  return Math.round(ms * 10) / 10;
}
