// Plays an answer onto a line: at its pace, and broken where its conduct says so. All faults after the first byte are here.
import type { Clock } from "../clock.ts";
import type { Account } from "./books.ts";
import type { Conduct } from "./faults.ts";
import type { Line } from "./line.ts";
import type { Refusal } from "./refusals.ts";
import type { Wire, WireEvent } from "./wire.ts";

export interface Stage {
  readonly line: Line;
  readonly conduct: Conduct;
  readonly wire: Wire;
  readonly account: Account;
  readonly clock: Clock;
}

/** Bytes gathered before they are written, where nothing has to be waited for. */
const GATHER_CHARS = 64 * 1024;
const FAILED: Refusal = { kind: "server_error", message: "The model failed while answering." };
const PAGE = "<!doctype html><html><head><title>Welcome</title></head><body><h1>It works</h1></body></html>\n";

/** An event as bytes: its lines, and what the conduct does to them. */
function framed(event: WireEvent, conduct: Conduct, wireLineEnd: string): string {
  const lineEnd = conduct.crlf ? "\r\n" : wireLineEnd;
  const spread = conduct.multiline && event.data.startsWith("{");
  const lines = spread ? JSON.stringify(JSON.parse(event.data), null, 1).split("\n") : [event.data];
  const comment = conduct.comments ? `: PROCESSING${lineEnd}${lineEnd}` : "";
  const name = event.name === null ? "" : `event: ${event.name}${lineEnd}`;
  return `${comment}${name}${lines.map((line) => `data: ${line}${lineEnd}`).join("")}${lineEnd}`;
}

/** Cuts the closing half off an event's JSON. */
function broken(event: WireEvent): WireEvent {
  return { ...event, data: event.data.slice(0, Math.ceil(event.data.length / 2)) };
}

/** Ends an answer before its time. Returns when the connection is gone or the body ended. */
async function stopEarly({ line, account, wire, conduct }: Stage, stop: NonNullable<Conduct["stop"]>): Promise<void> {
  if (stop.how === "stall") await line.sleep(stop.stallMs);
  if (stop.how === "error") await line.write(framed(wire.errorEvent(FAILED), conduct, wire.lineEnd));
  account.end("cut");
  if (stop.how === "destroy" || stop.how === "stall") line.destroy();
  else line.end();
}

/** Gathers events and keeps count of the tokens whose bytes have been written. */
function createSpool(stage: Stage) {
  let text = "";
  let tokens = 0;
  const flush = async () => {
    if (text === "") return;
    const [bytes, borne] = [text, tokens];
    text = "";
    tokens = 0;
    await stage.line.write(bytes);
    if (!stage.line.closed) stage.account.written(borne);
  };
  const put = async (event: WireEvent) => {
    text += framed(event, stage.conduct, stage.wire.lineEnd);
    tokens += event.tokens;
    if (text.length >= GATHER_CHARS) await flush();
  };
  return { put, flush };
}

/** Plays the events of a stream. */
export async function playStream(stage: Stage, events: Iterable<WireEvent>): Promise<void> {
  const { line, conduct, clock } = stage;
  const { stop, tokensPerSecond } = conduct;
  const spool = createSpool(stage);
  line.head(200, { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" });
  if (conduct.content === "error") return stopEarly(stage, { afterTokens: 0, how: "error", stallMs: 0 });
  let count = 0;
  let tokens = 0;
  let firstMs: number | null = null;
  for (const event of events) {
    if (line.closed) return;
    if (stop && tokens >= stop.afterTokens && event.kind !== "preamble") {
      await spool.flush();
      return stopEarly(stage, stop);
    }
    if (event.tokens > 0 && firstMs === null) {
      if (conduct.firstTokenAfterMs > 0) await spool.flush();
      await line.sleep(conduct.firstTokenAfterMs);
      firstMs = clock.elapsedMs();
    } else if (event.tokens > 0 && tokensPerSecond !== null && firstMs !== null) {
      const waitMs = firstMs + (tokens * 1_000) / tokensPerSecond - clock.elapsedMs();
      if (waitMs > 0) {
        await spool.flush();
        await line.sleep(waitMs);
      }
    }
    count += 1;
    tokens += event.tokens;
    if (event.kind === "done" && conduct.done !== "sent") break;
    await spool.put(count === conduct.brokenEvent ? broken(event) : event);
  }
  await spool.flush();
  if (typeof conduct.done === "object") await line.sleep(conduct.done.openMs);
  line.end();
}

/** Plays a unary answer of `tokens` output tokens: it takes as long as its stream would. */
export async function playWhole(stage: Stage, body: Record<string, unknown>, tokens: number): Promise<void> {
  const { line, conduct, account, wire } = stage;
  const headers = { "content-type": "application/json" };
  const stop = conduct.stop !== null && tokens >= conduct.stop.afterTokens ? conduct.stop : null;
  const generated = stop ? stop.afterTokens : tokens;
  await line.sleep(
    conduct.firstTokenAfterMs + (generated * 1_000) / (conduct.tokensPerSecond ?? Number.POSITIVE_INFINITY),
  );
  if (line.closed) return;
  if (conduct.content === "error" || stop?.how === "error") {
    account.end("cut");
    return line.send(200, headers, JSON.stringify(wire.error(FAILED)));
  }
  const text = JSON.stringify(body);
  const half = text.slice(0, Math.ceil(text.length / 2));
  if (stop) {
    line.head(200, headers);
    await line.write(half);
    return stopEarly(stage, stop);
  }
  account.written(tokens);
  await line.send(200, headers, conduct.brokenEvent > 0 ? half : text);
}

/** A page where an answer should be. */
export async function playPage({ line }: Stage): Promise<void> {
  await line.send(200, { "content-type": "text/html; charset=utf-8" }, PAGE);
}
