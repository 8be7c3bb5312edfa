// One line per request, and the gateway's own messages. Never contains prompts, answers, params or keys.
import { isatty } from "node:tty";
import { type DestinationStream, destination, pino } from "pino";
import type { Clock } from "../../core/clock.ts";
import type { Leg } from "../../core/route.ts";
import { logText } from "./log-text.ts";
import type { RequestRecord } from "./record.ts";

/** Callers may name models at any length. */
const NAME_LENGTH_MAX = 200;

/** `text` is for people; `auto` means text where standard output is a terminal. */
export type LogFormat = "auto" | "json" | "text";
export type LogLevel = "trace" | "debug" | "info" | "warn" | "error" | "fatal" | "silent";

/** A batch is written at this many characters, or after this long. */
const BUFFER_CHARS = 16_000;
const FLUSH_MS = 200;
/** If the reader of the output stalls, we lose lines instead of memory. */
const BACKLOG_BYTES_MAX = 16 * 1024 * 1024;

/** The library's own buffer recomputes its total length on every line, which costs more than writing the line. */
class LineBuffer implements DestinationStream {
  readonly #out = destination({ dest: 1, sync: false, maxLength: BACKLOG_BYTES_MAX });
  #lines: string[] = [];
  #chars = 0;
  #timer: NodeJS.Timeout | null = null;

  constructor() {
    process.once("exit", () => this.flushSync());
  }

  write(line: string): void {
    this.#lines.push(line);
    this.#chars += line.length;
    if (this.#chars >= BUFFER_CHARS) this.#pass();
    else this.#timer ??= setTimeout(() => this.#pass(), FLUSH_MS).unref();
  }

  /** Writes queued lines, before the process exits. */
  flushSync(): void {
    this.#pass();
    this.#out.flushSync();
  }

  #pass(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#lines.length === 0) return;
    const text = this.#lines.join("");
    this.#lines = [];
    this.#chars = 0;
    this.#out.write(text);
  }
}

export type Log = ReturnType<typeof createLog>;

export interface LogOptions {
  readonly level: LogLevel;
  readonly clock: Clock;
  /** Default: standard output, batched and off the event loop. */
  readonly stream?: DestinationStream;
  /** Default `json`. */
  readonly format?: LogFormat;
}

/** Request lines have the library's form but bypass it: for that many fields it needs 5 microseconds, `JSON.stringify` one. */
export function createLog({ level, clock, stream, format = "json" }: LogOptions) {
  const isText = format === "auto" ? stream === undefined && isatty(1) : format === "text";
  const json = stream ?? new LineBuffer();
  const out = isText ? { write: (line: string) => json.write(logText(line, pino.levels.labels)) } : json;
  const isoTime = isoTimes();
  const logger = pino({ level, base: null, timestamp: () => `,"time":"${isoTime(clock.epochMs())}"` }, out);
  const writesWatched = logger.isLevelEnabled("debug");
  const writesGood = logger.isLevelEnabled("info");
  const writesBad = logger.isLevelEnabled("warn");
  return {
    /** For everything except requests. */
    logger,
    request(record: RequestRecord) {
      const bad = record.status >= 500 || record.outcome === "broken" || record.outcome === "failed";
      // A probe runs every few seconds, and its success is not worth a line.
      const writes = record.watched ? writesWatched : writesGood;
      if (!(bad ? writesBad : writes)) return;
      const values = logger.levels.values;
      const value = values[bad ? "warn" : record.watched ? "debug" : "info"];
      out.write(`${JSON.stringify(line(record, value, isoTime(clock.epochMs())))}\n`);
    },
    /** Writes queued lines, before the process exits. */
    flush() {
      if ("flushSync" in json && typeof json.flushSync === "function") json.flushSync();
    },
  };
}

/** Formats like `toISOString` in a fifth of the time: caches everything but the milliseconds for a second. */
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

/** Fields that a request lacks are undefined and so left out: the line of a free endpoint has no amounts. */
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
    run_id: record.runId ?? undefined,
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

/** `provider model status outcome ms`, short enough for several in a line. */
function attemptText({ provider, model, status, failure, ms }: Leg): string {
  return `${provider} ${model} ${status} ${failure ?? "ok"} ${tenths(ms)}`;
}

function tenths(ms: number): number {
  return Math.round(ms * 10) / 10;
}
