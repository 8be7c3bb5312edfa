// Writes an answer to a connection, at the pace of its conduct and with every fault that comes after the first byte.
import type { Clock } from "../core/clock.ts";
import type { LoggedCall } from "./call-log.ts";
import type { Connection } from "./connection.ts";
import type { Dialect, DialectEvent } from "./dialect.ts";
import type { Conduct } from "./faults.ts";
import type { Refusal } from "./refusals.ts";

export interface AnswerContext {
  readonly connection: Connection;
  readonly conduct: Conduct;
  readonly dialect: Dialect;
  readonly loggedCall: LoggedCall;
  readonly clock: Clock;
  /** Encodes an event as bytes, for binary streams. */
  readonly frame?: (event: DialectEvent) => Buffer;
}

/** The most characters to gather before a write, while nothing needs waiting for. */
const GATHER_CHARS = 64 * 1024;
const FAILED: Refusal = { kind: "server_error", message: "The model failed while answering." };
const PAGE = "<!doctype html><html><head><title>Welcome</title></head><body><h1>It works</h1></body></html>\n";

/** An event in the form to write; for binary streams, one character per byte. */
function framed(event: DialectEvent, { frame, conduct, dialect }: AnswerContext): string {
  return frame === undefined ? linesOf(event, conduct, dialect.lineEnd) : frame(event).toString("latin1");
}

function bytesOf(text: string, { frame }: AnswerContext): string | Buffer {
  return frame === undefined ? text : Buffer.from(text, "latin1");
}

function linesOf(event: DialectEvent, conduct: Conduct, dialectLineEnd: string): string {
  const lineEnd = conduct.crlf ? "\r\n" : dialectLineEnd;
  const spread = conduct.multiline && event.data.startsWith("{");
  const lines = spread ? JSON.stringify(JSON.parse(event.data), null, 1).split("\n") : [event.data];
  const comment = conduct.comments ? `: PROCESSING${lineEnd}${lineEnd}` : "";
  const name = event.name === null ? "" : `event: ${event.name}${lineEnd}`;
  return `${comment}${name}${lines.map((line) => `data: ${line}${lineEnd}`).join("")}${lineEnd}`;
}

function broken(event: DialectEvent): DialectEvent {
  return { ...event, data: event.data.slice(0, Math.ceil(event.data.length / 2)) };
}

/** Ends an answer early. Returns when the connection is gone, or the body has ended. */
async function stopEarly(context: AnswerContext, stop: NonNullable<Conduct["stop"]>): Promise<void> {
  const { connection, loggedCall, dialect } = context;
  if (stop.how === "stall") await connection.sleep(stop.stallMs);
  if (stop.how === "error") await connection.write(bytesOf(framed(dialect.errorEvent(FAILED), context), context));
  loggedCall.end("cut");
  if (stop.how === "destroy" || stop.how === "stall") connection.destroy();
  else connection.end();
}

/** Gathers events, and counts the tokens that have been written. */
function createSpool(context: AnswerContext) {
  let text = "";
  let tokens = 0;
  const flush = async () => {
    if (text === "") return;
    const [bytes, borne] = [text, tokens];
    text = "";
    tokens = 0;
    await context.connection.write(bytesOf(bytes, context));
    if (!context.connection.closed) context.loggedCall.written(borne);
  };
  const put = async (event: DialectEvent) => {
    text += framed(event, context);
    tokens += event.tokens;
    if (text.length >= GATHER_CHARS) await flush();
  };
  return { put, flush };
}

export async function writeStream(context: AnswerContext, events: Iterable<DialectEvent>): Promise<void> {
  const { connection, conduct, clock } = context;
  const { stop, tokensPerSecond } = conduct;
  const spool = createSpool(context);
  const type = context.frame === undefined ? "text/event-stream; charset=utf-8" : "application/vnd.amazon.eventstream";
  connection.head(200, { "content-type": type, "cache-control": "no-cache" });
  if (conduct.content === "error") return stopEarly(context, { afterTokens: 0, how: "error", stallMs: 0 });
  let count = 0;
  let tokens = 0;
  let firstMs: number | null = null;
  for (const event of events) {
    if (connection.closed) return;
    if (stop && tokens >= stop.afterTokens && event.kind !== "preamble") {
      await spool.flush();
      return stopEarly(context, stop);
    }
    if (event.tokens > 0 && firstMs === null) {
      if (conduct.firstTokenAfterMs > 0) await spool.flush();
      await connection.sleep(conduct.firstTokenAfterMs);
      firstMs = clock.elapsedMs();
    } else if (event.tokens > 0 && tokensPerSecond !== null && firstMs !== null) {
      const waitMs = firstMs + (tokens * 1_000) / tokensPerSecond - clock.elapsedMs();
      if (waitMs > 0) {
        await spool.flush();
        await connection.sleep(waitMs);
      }
    }
    count += 1;
    tokens += event.tokens;
    if (event.kind === "done" && conduct.done !== "sent") break;
    await spool.put(count === conduct.brokenEvent ? broken(event) : event);
  }
  await spool.flush();
  if (typeof conduct.done === "object") await connection.sleep(conduct.done.openMs);
  connection.end();
}

/** Writes a unary answer of `tokens` output tokens; takes as long as its stream would. */
export async function writeWhole(context: AnswerContext, body: Record<string, unknown>, tokens: number): Promise<void> {
  const { connection, conduct, loggedCall, dialect } = context;
  const headers = { "content-type": "application/json" };
  const stop = conduct.stop !== null && tokens >= conduct.stop.afterTokens ? conduct.stop : null;
  const generated = stop ? stop.afterTokens : tokens;
  await connection.sleep(
    conduct.firstTokenAfterMs + (generated * 1_000) / (conduct.tokensPerSecond ?? Number.POSITIVE_INFINITY),
  );
  if (connection.closed) return;
  if (conduct.content === "error" || stop?.how === "error") {
    loggedCall.end("cut");
    return connection.send(200, headers, JSON.stringify(dialect.error(FAILED)));
  }
  const text = JSON.stringify(body);
  const half = text.slice(0, Math.ceil(text.length / 2));
  if (stop) {
    connection.head(200, headers);
    await connection.write(half);
    return stopEarly(context, stop);
  }
  loggedCall.written(tokens);
  await connection.send(200, headers, conduct.brokenEvent > 0 ? half : text);
}

export async function writePage({ connection }: AnswerContext): Promise<void> {
  await connection.send(200, { "content-type": "text/html; charset=utf-8" }, PAGE);
}

/** Writes a binary answer piece by piece; a stop counts each piece as a token. */
export async function writeBytes(
  context: AnswerContext,
  { contentType, pieces }: { readonly contentType: string; readonly pieces: readonly Buffer[] },
): Promise<void> {
  const { connection, conduct } = context;
  connection.head(200, { "content-type": contentType });
  for (const [at, piece] of pieces.entries()) {
    if (connection.closed) return;
    if (conduct.stop !== null && at >= conduct.stop.afterTokens) return stopEarly(context, conduct.stop);
    await connection.write(piece);
  }
  connection.end();
}
